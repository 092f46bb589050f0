/* SPDX-License-Identifier: MIT */
/*
 * The promise on select.h; `state` is whether it is kept. Who comes later and finds it kept takes no lock; but who keeps it
 * may still hold that, and so it waits until the lock is seen open: that is the last that is done to the promise.
 *
 * Pairs:  K0 kept -> who looks at the lock then;  of the lock (innerlock.h), here by who only looks.
 */
#include "select.h"

#include "tenter_group.h"

#include <errno.h>

_Static_assert(sizeof(tn_promise) == 24, "its size is stated");

static _Atomic(uint32_t) *kept_of(tn_promise *p)
{
    return (_Atomic(uint32_t) *)(void *)&tn_waitlist_of(&p->waits)->state;
}

/* True: it is kept, and who keeps it does no more to it. */
static inline bool kept(tn_promise *p)
{
    if (atomic_load_explicit(kept_of(p), memory_order_acquire) == 0) /* K0 */
        return false;
    unsigned spins = 0;
    while (tn_innerlock_held(&tn_waitlist_of(&p->waits)->lock))
        tn_spin_wait(&spins);
    return true;
}

TN_API void tn_promise_init(tn_promise *p)
{
    *p = (tn_promise)TN_PROMISE_INIT;
}

TN_API int tn_promise_destroy(tn_promise *p)
{
    return tn_waitlist_idle(&p->waits);
}

TN_API __attribute__((noinline)) int tn_promise_set(tn_promise *p, void *value)
{
    struct tn_claims claims = {NULL, NULL};
    struct tn_waitlist *l = tn_waitlist_lock(&p->waits);
    bool first = atomic_load_explicit(kept_of(p), memory_order_relaxed) == 0; /* relaxed: under the lock */
    if (first) {
        p->value = value;
        atomic_store_explicit(kept_of(p), 1, memory_order_release); /* K0 */
        tn_waitlist_grant_all(l, &claims);
    }
    tn_waitlist_let_go(l, claims);
    return first ? 0 : EALREADY;
}

static bool take_kept(struct tn_arm *arm, struct tn_claims *claims)
{
    (void)claims;
    arm->rc = 0;
    return atomic_load_explicit(kept_of(arm->object), memory_order_relaxed) != 0; /* relaxed: under the lock */
}

static struct tn_node **ring_kept(struct tn_arm *arm)
{
    return &tn_waitlist_of(&((tn_promise *)arm->object)->waits)->ring;
}

TN_API const struct tn_arm_kind tn_arm_kept = {"promise", take_kept, ring_kept};

TN_API int tn_promise_tryget(tn_promise *p, void **value)
{
    if (!kept(p))
        return EBUSY;
    if (value != NULL)
        *value = p->value;
    return 0;
}

static __attribute__((noinline)) int wait_until_kept(tn_promise *p, tn_time deadline, tn_token *token)
{
    int rc = 0;
    struct tn_waitlist *l = tn_waitlist_lock(&p->waits);
    if (atomic_load_explicit(kept_of(p), memory_order_relaxed) == 0) { /* relaxed: under the lock */
        struct tn_node node;
        tn_waitlist_enter(l, &node);
        tn_waitlist_unlock(l);
        rc = tn_waitlist_wait(l, &node, "promise", deadline, token);
        if (rc == 0)
            return 0;
    }
    tn_waitlist_unlock(l);
    return rc;
}

TN_API __attribute__((noinline)) int tn_promise_get_until(tn_promise *p, void **value, tn_time deadline,
                                                          tn_token *token)
{
    int rc = kept(p) ? 0 : wait_until_kept(p, deadline, token);
    if (rc == 0 && value != NULL)
        *value = p->value;
    return rc;
}

TN_API void *tn_promise_get(tn_promise *p)
{
    if (!kept(p)) {
        bool masked = tn_cancel_mask(true);
        wait_until_kept(p, TN_FOREVER, NULL); /* nothing else ends it: it does not fail */
        tn_cancel_mask(masked);
    }
    return p->value;
}

TN_API int tn_promise_all(tn_promise *const p[], unsigned n, tn_time deadline, tn_token *token)
{
    int rc = 0;
    for (unsigned i = 0; i < n && rc == 0; i++)
        rc = tn_promise_get_until(p[i], NULL, deadline, token);
    return rc;
}
