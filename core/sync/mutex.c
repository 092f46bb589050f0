/* SPDX-License-Identifier: MIT */
/*
 * The mutex in all its designs and kinds on mutexword.h. Its word above the three bits of that:
 *
 *   design 3 | kind 2 | count 14 | owner 42
 *
 * `design` is 0 for the build's own and `kind` is 0 for the normal one, so a plain mutex that is free is all zeros. Count and
 * owner, a multiple of a line below 2^48, are only kept where the kind asks for them.
 */
#include "waiting.h"

#include "mutexword.h"

#include "tenter_group.h"

#include <errno.h>

enum { DESIGN = 3, KIND = 6, COUNT_AT = 8, OWNER = 22, LINE = 6 };
enum { STARVED_NS = 1000000, SPINS = 64, SPINS_AT_ONCE = 16 };
#define COUNTED   (UINT64_C(1) << COUNT_AT)
#define COUNT_ALL (((UINT64_C(1) << 14) - 1) << COUNT_AT)
#define OWNER_ALL (~UINT64_C(0) << OWNER)

_Static_assert(sizeof(tn_mutex) == 16 && sizeof(struct tn_mutexword) == sizeof(tn_mutex), "a tn_mutex is its word");
_Static_assert(TN_CACHE_LINE == 1 << LINE, "owners are told by their lines");

static struct tn_mutexword *word_of(tn_mutex *m)
{
    return (struct tn_mutexword *)(void *)m;
}

static unsigned design_of(uint64_t w)
{
    unsigned d = w >> DESIGN & 7;
    return d == TN_MUTEX_DEFAULT ? TN_MUTEX : d;
}

static unsigned kind_of(uint64_t w)
{
    return w >> KIND & 3;
}

static uint64_t caller(void)
{
    return (uint64_t)tn_caller() >> LINE << OWNER;
}

TN_API int tn_mutex_init(tn_mutex *m, const struct tn_mutex_attr *attr)
{
    int design = attr == NULL ? TN_MUTEX_DEFAULT : attr->design, kind = attr == NULL ? TN_MUTEX_NORMAL : attr->kind;
    if (design < TN_MUTEX_DEFAULT || design > TN_MUTEX_BATON || kind < TN_MUTEX_NORMAL || kind > TN_MUTEX_CHECKED)
        return EINVAL;
    atomic_init(&word_of(m)->word, (uint64_t)design << DESIGN | (uint64_t)kind << KIND);
    m->ring = NULL;
    return 0;
}

TN_API int tn_mutex_destroy(tn_mutex *m)
{
    /* relaxed: who may destroy it knows of all that was done with it */
    uint64_t w = atomic_load_explicit(&word_of(m)->word, memory_order_relaxed);
    return (w & (TN_MUTEX_HELD | TN_MUTEX_QUEUE | TN_MUTEX_WAITED)) != 0 ? EBUSY : 0;
}

/* The caller has it already: EBUSY stands for no. */
static int again(struct tn_mutexword *m, uint64_t w, uint64_t mine)
{
    if ((w & TN_MUTEX_HELD) == 0 || (w & OWNER_ALL) != mine)
        return EBUSY;
    if (kind_of(w) == TN_MUTEX_CHECKED)
        return EDEADLK;
    if ((w & COUNT_ALL) == COUNT_ALL)
        return EAGAIN;
    atomic_fetch_add_explicit(&m->word, COUNTED, memory_order_relaxed); /* relaxed: the holder's own */
    return 0;
}

static int spin(struct tn_mutexword *m, uint64_t mine, unsigned turns, tn_time deadline, tn_token *token)
{
    for (unsigned turn = 1, spins = 0; turn != turns; turn++) {
        if (tn_mutexword_try(m, mine))
            return 0;
        if (turn % SPINS_AT_ONCE != 0) {
            tn_spin_wait(&spins);
            continue;
        }
        if (token != NULL && tn_token_fired(token))
            return ECANCELED;
        if (deadline != TN_FOREVER && tn_now() >= deadline)
            return ETIMEDOUT;
        if (turns == 0) { /* for ever: its holder may be a fibre of this worker */
            int over = tn_cancelled();
            if (over != 0)
                return over;
            spins = 0;
            tn_yield();
        }
    }
    return EBUSY;
}

/* It was handed over to who had not even suspended: the word says so in a moment, and then the owner may look at it. */
static void owned(struct tn_mutexword *m, uint64_t mine)
{
    unsigned spins = 0;
    while (mine != 0 && (atomic_load_explicit(&m->word, memory_order_acquire) & OWNER_ALL) != mine) /* M0 */
        tn_spin_wait(&spins);
}

/* Not the caller's yet. */
static int get(struct tn_mutexword *m, unsigned design, uint64_t mine, tn_time deadline, tn_token *token)
{
    if (tn_mutexword_try(m, mine))
        return 0;
    if (design == TN_MUTEX_SPIN)
        return spin(m, mine, 0, deadline, token);
    if (design == TN_MUTEX_SPIN_BLOCK && spin(m, mine, SPINS, TN_FOREVER, NULL) == 0)
        return 0;
    struct tn_node node; /* what is not set here is set by who opens it */
    node.caller = (uintptr_t)mine;
    node.since = design == TN_MUTEX_FAIR ? tn_now() : 0;
    for (bool before = false;; before = true) {
        tn_node_open(&node);
        if (tn_mutexword_enter(m, &node, before, mine))
            return 0;
        int rc = tn_node_wait(&node, "mutex", m, deadline, token);
        if (rc == 0 && node.granted) {
            owned(m, mine);
            return 0;
        }
        if (rc != 0) {
            tn_mutexword_leave(m, &node);
            return rc;
        }
    }
}

static __attribute__((noinline)) int lock_slow(struct tn_mutexword *m, tn_time deadline, tn_token *token)
{
    /* relaxed: kind and design never change, and an owner that is the caller is so for good */
    uint64_t w = atomic_load_explicit(&m->word, memory_order_relaxed), mine = 0;
    if (kind_of(w) != TN_MUTEX_NORMAL) {
        mine = caller();
        int rc = again(m, w, mine);
        if (rc != EBUSY)
            return rc;
    }
    int rc = get(m, design_of(w), mine, deadline, token);
    if (rc == 0 && (mine != 0 || TN_LOCK_CHECK))
        tn_has(1);
    return rc;
}

/* In a function of its own, that the way without a wait saves no registers. */
static __attribute__((noinline)) int lock_masked(struct tn_mutexword *m)
{
    if (tn_scope_self() == NULL)
        return lock_slow(m, TN_FOREVER, NULL);
    bool masked = tn_cancel_mask(true);
    int rc = lock_slow(m, TN_FOREVER, NULL);
    tn_cancel_mask(masked);
    return rc;
}

TN_API __attribute__((noinline)) int tn_mutex_lock(tn_mutex *m)
{
    if (TN_LOCK_CHECK) /* all are counted */
        return lock_masked(word_of(m));
    uint64_t none = 0;
    if (__builtin_expect(atomic_compare_exchange_strong_explicit(&word_of(m)->word, &none, TN_MUTEX_HELD,
                                                                 memory_order_acquire,  /* M0 */
                                                                 memory_order_relaxed), /* relaxed: looked at again */
                         1))
        return 0;
    return lock_masked(word_of(m));
}

TN_API __attribute__((noinline)) int tn_mutex_lock_until(tn_mutex *m, tn_time deadline, tn_token *token)
{
    return lock_slow(word_of(m), deadline, token);
}

TN_API __attribute__((noinline)) int tn_mutex_trylock(tn_mutex *m)
{
    /* relaxed: as in lock_slow() */
    uint64_t w = atomic_load_explicit(&word_of(m)->word, memory_order_relaxed), mine = 0;
    if (kind_of(w) != TN_MUTEX_NORMAL) {
        mine = caller();
        int rc = again(word_of(m), w, mine);
        if (rc != EBUSY)
            return rc == EDEADLK ? EBUSY : rc;
    }
    if (!tn_mutexword_try(word_of(m), mine))
        return EBUSY;
    if (mine != 0 || TN_LOCK_CHECK)
        tn_has(1);
    return 0;
}

static bool hands_over(const struct tn_node *node, unsigned design)
{
    return design == TN_MUTEX_BATON || (design == TN_MUTEX_FAIR && tn_now() - node->since >= STARVED_NS);
}

static __attribute__((noinline)) int unlock_slow(struct tn_mutexword *m)
{
    uint64_t w = atomic_load_explicit(&m->word, memory_order_relaxed); /* relaxed: as in lock_slow() */
    uint64_t gone = 0;
    if (kind_of(w) != TN_MUTEX_NORMAL) {
        if ((w & TN_MUTEX_HELD) == 0 || (w & OWNER_ALL) != caller())
            return EPERM;
        if ((w & COUNT_ALL) != 0) {
            atomic_fetch_sub_explicit(&m->word, COUNTED, memory_order_relaxed); /* relaxed: the holder's own */
            return 0;
        }
        gone = OWNER_ALL;
    }
    if (gone != 0 || TN_LOCK_CHECK)
        tn_has(-1);
    tn_resume(tn_mutexword_release(m, gone, hands_over, design_of(w)));
    return 0;
}

TN_API __attribute__((noinline)) int tn_mutex_unlock(tn_mutex *m)
{
    if (TN_LOCK_CHECK)
        return unlock_slow(word_of(m));
    uint64_t held = TN_MUTEX_HELD;
    if (__builtin_expect(atomic_compare_exchange_strong_explicit(&word_of(m)->word, &held, 0,
                                                                 memory_order_release,  /* M0 */
                                                                 memory_order_relaxed), /* relaxed: looked at again */
                         1))
        return 0;
    return unlock_slow(word_of(m));
}
