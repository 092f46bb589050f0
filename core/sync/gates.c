/* SPDX-License-Identifier: MIT */
/*
 * Barrier, latch and once on waitlist.h: places where all wait for one event. `state` is how many are at the barrier, how
 * far the latch is from zero, whether somebody does what is done once.
 */
#include "waitlist.h"

#include <errno.h>

_Static_assert(sizeof(tn_barrier) == 24 && sizeof(tn_latch) == 16 && sizeof(tn_once) == 32, "their sizes are stated");

/* ---- barrier ---- */

TN_API int tn_barrier_init(tn_barrier *b, uint32_t count)
{
    if (count == 0)
        return EINVAL;
    *b = (tn_barrier){{0, 0, NULL}, count};
    return 0;
}

TN_API int tn_barrier_destroy(tn_barrier *b)
{
    return tn_waitlist_idle(&b->waits);
}

TN_API int tn_barrier_wait_until(tn_barrier *b, tn_time deadline, tn_token *token)
{
    struct tn_claims claims = {NULL, NULL};
    struct tn_waitlist *l = tn_waitlist_lock(&b->waits);
    if (++l->state == b->count) {
        l->state = 0;
        tn_waitlist_grant_all(l, &claims);
        tn_waitlist_let_go(l, claims);
        return TN_BARRIER_SERIAL;
    }
    struct tn_node node;
    tn_waitlist_enter(l, &node);
    tn_waitlist_unlock(l);
    int rc = tn_waitlist_wait(l, &node, "barrier", deadline, token);
    if (rc != 0) {
        if (node.granted)
            rc = 0; /* the last has come and counted this one, so for all it was in time */
        else
            l->state--;
        tn_waitlist_unlock(l);
    }
    return rc;
}

TN_API int tn_barrier_wait(tn_barrier *b)
{
    return tn_barrier_wait_until(b, TN_FOREVER, NULL);
}

/* ---- latch ---- */

TN_API void tn_latch_init(tn_latch *latch, uint32_t count)
{
    *latch = (tn_latch)TN_LATCH_INIT(count);
}

TN_API int tn_latch_destroy(tn_latch *latch)
{
    return tn_waitlist_idle(&latch->waits);
}

TN_API int tn_latch_up(tn_latch *latch, uint32_t n)
{
    struct tn_waitlist *l = tn_waitlist_lock(&latch->waits);
    bool room = n <= UINT32_MAX - l->state;
    if (room)
        l->state += n;
    tn_waitlist_unlock(l);
    return room ? 0 : EOVERFLOW;
}

TN_API int tn_latch_down(tn_latch *latch, uint32_t n)
{
    struct tn_claims claims = {NULL, NULL};
    struct tn_waitlist *l = tn_waitlist_lock(&latch->waits);
    bool enough = n <= l->state;
    if (enough && (l->state -= n) == 0)
        tn_waitlist_grant_all(l, &claims);
    tn_waitlist_let_go(l, claims);
    return enough ? 0 : EINVAL;
}

TN_API int tn_latch_wait_until(tn_latch *latch, tn_time deadline, tn_token *token)
{
    struct tn_waitlist *l = tn_waitlist_lock(&latch->waits);
    if (l->state == 0) {
        tn_waitlist_unlock(l);
        return 0;
    }
    struct tn_node node;
    tn_waitlist_enter(l, &node);
    tn_waitlist_unlock(l);
    int rc = tn_waitlist_wait(l, &node, "latch", deadline, token);
    if (rc != 0)
        tn_waitlist_unlock(l);
    return rc;
}

TN_API int tn_latch_wait(tn_latch *latch)
{
    return tn_latch_wait_until(latch, TN_FOREVER, NULL);
}

TN_API int tn_latch_trywait(tn_latch *latch)
{
    struct tn_waitlist *l = tn_waitlist_lock(&latch->waits);
    bool open = l->state == 0;
    tn_waitlist_unlock(l);
    return open ? 0 : EBUSY;
}

/* ---- once ---- */

static _Atomic(uint32_t) *done_of(tn_once *once)
{
    return (_Atomic(uint32_t) *)(void *)&once->done;
}

TN_API int tn_once_until(tn_once *once, void (*fn)(void), tn_time deadline, tn_token *token)
{
    if (atomic_load_explicit(done_of(once), memory_order_acquire) != 0) /* O0 */
        return 0;
    int rc = 0;
    uintptr_t caller = tn_caller();
    struct tn_claims claims = {NULL, NULL};
    struct tn_waitlist *l = tn_waitlist_lock(&once->waits);
    if (atomic_load_explicit(done_of(once), memory_order_relaxed) != 0) { /* relaxed: under the lock */
    } else if (l->state == 0) {
        l->state = 1;
        once->runner = caller;
        tn_waitlist_unlock(l);
        bool masked = tn_cancel_mask(true); /* it is done for all: not cut short because this one is cancelled */
        fn();
        tn_cancel_mask(masked);
        tn_waitlist_lock(&once->waits);
        atomic_store_explicit(done_of(once), 1, memory_order_release); /* O0 */
        tn_waitlist_grant_all(l, &claims);
    } else if (once->runner == caller) {
        rc = EDEADLK;
    } else {
        struct tn_node node;
        tn_waitlist_enter(l, &node);
        tn_waitlist_unlock(l);
        rc = tn_waitlist_wait(l, &node, "once", deadline, token);
        if (rc == 0)
            return 0;
    }
    tn_waitlist_let_go(l, claims);
    return rc;
}

TN_API int tn_once_do(tn_once *once, void (*fn)(void))
{
    if (atomic_load_explicit(done_of(once), memory_order_acquire) != 0) /* O0 */
        return 0;
    bool masked = tn_cancel_mask(true); /* who was told to do it may look at nothing but that it is done */
    int rc = tn_once_until(once, fn, TN_FOREVER, NULL);
    tn_cancel_mask(masked);
    return rc;
}
