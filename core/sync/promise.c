/* SPDX-License-Identifier: MIT */
/*
 * The promise on promiseword.h.
 */
#include "waiting.h"

#include "promiseword.h"

#include "tenter_sync.h"

#include <errno.h>

_Static_assert(sizeof(tn_promise) == 16 && sizeof(struct tn_promiseword) == sizeof(tn_promise),
               "a tn_promise is its word");

static struct tn_promiseword *word_of(tn_promise *p)
{
    return (struct tn_promiseword *)(void *)p;
}

TN_API void tn_promise_init(tn_promise *p)
{
    atomic_init(&word_of(p)->word, 0);
    p->value = NULL;
}

TN_API int tn_promise_destroy(tn_promise *p)
{
    /* relaxed: who may destroy it knows of all that was done with it */
    uint64_t w = atomic_load_explicit(&word_of(p)->word, memory_order_relaxed);
    return (w & ~TN_PROMISE_FLAGS) != 0 ? EBUSY : 0;
}

TN_API __attribute__((noinline)) int tn_promise_set(tn_promise *p, void *value)
{
    return tn_promiseword_keep(word_of(p), value, tn_resume) ? 0 : EALREADY;
}

TN_API int tn_promise_tryget(tn_promise *p, void **value)
{
    if (!tn_promiseword_kept(word_of(p)))
        return EBUSY;
    if (value != NULL)
        *value = p->value;
    return 0;
}

static __attribute__((noinline)) void wait_for(struct tn_promiseword *p)
{
    struct tn_node node = {.caller = 0};
    tn_node_open(&node);
    if (tn_promiseword_enter(p, &node))
        return;
    bool masked = tn_cancel_mask(true);
    tn_node_wait(&node, "promise", p, TN_FOREVER, NULL); /* nothing else ends it: it does not fail */
    tn_cancel_mask(masked);
}

TN_API __attribute__((noinline)) void *tn_promise_get(tn_promise *p)
{
    if (!tn_promiseword_kept(word_of(p)))
        wait_for(word_of(p));
    return p->value;
}
