/* SPDX-License-Identifier: MIT */
/*
 * The reader-writer lock on waitlist.h; `state` is how many read it, or WRITTEN. With the lock open nobody in the ring may
 * be next: whenever it is given back, and when a waiter gives up, all that may go on are granted it.
 */
#include "waitlist.h"

#include <errno.h>

#define WRITTEN UINT32_MAX

_Static_assert(sizeof(tn_rwlock) == 32, "its size is stated");

TN_API int tn_rwlock_init(tn_rwlock *rw, int kind)
{
    if (kind < TN_RWLOCK_FAIR || kind > TN_RWLOCK_WRITERS)
        return EINVAL;
    *rw = (tn_rwlock)TN_RWLOCK_INIT(kind);
    return 0;
}

TN_API int tn_rwlock_destroy(tn_rwlock *rw)
{
    struct tn_waitlist *l = tn_waitlist_lock(&rw->waits);
    bool idle = l->state == 0;
    tn_waitlist_unlock(l);
    return idle ? 0 : EBUSY;
}

static bool fits(const struct tn_waitlist *l, bool write)
{
    return write ? l->state == 0 : l->state < WRITTEN - 1;
}

/* Before those that wait. A writer that fits finds nobody there. */
static bool may_enter(const struct tn_waitlist *l, const tn_rwlock *rw, bool write)
{
    return fits(l, write) && (write || rw->kind == TN_RWLOCK_READERS ||
                              (rw->kind == TN_RWLOCK_WRITERS ? rw->writers == 0 : l->ring == NULL));
}

static void enter(struct tn_waitlist *l, tn_rwlock *rw, bool write, uintptr_t caller)
{
    l->state = write ? WRITTEN : l->state + 1;
    rw->writer = write ? caller : 0;
}

/* Of those that wait; NULL: nobody. */
static struct tn_node *next_of(const struct tn_waitlist *l, const tn_rwlock *rw)
{
    struct tn_node *node = l->ring;
    if (node == NULL || rw->kind == TN_RWLOCK_FAIR)
        return node;
    do
        if (node->wants == (rw->kind == TN_RWLOCK_WRITERS))
            return node;
    while ((node = node->next) != l->ring);
    return node;
}

static void pass_on(struct tn_waitlist *l, tn_rwlock *rw)
{
    struct tn_claims claims = {NULL, NULL};
    for (struct tn_node *node; (node = next_of(l, rw)) != NULL && fits(l, node->wants);) {
        bool write = node->wants;
        uintptr_t caller = node->caller;
        rw->writers -= write;
        if (tn_waitlist_grant(node, &claims))
            enter(l, rw, write, caller);
    }
    tn_waitlist_let_go(l, claims);
}

static int acquire(tn_rwlock *rw, bool write, bool wait, tn_time deadline, tn_token *token)
{
    bool wait_for = false;
    uintptr_t caller = tn_caller();
    struct tn_waitlist *l = tn_waitlist_lock(&rw->waits);
    int rc = 0;
    if (may_enter(l, rw, write))
        enter(l, rw, write, caller);
    else if (!wait)
        rc = EBUSY;
    else if (l->state == WRITTEN && rw->writer == caller)
        rc = EDEADLK;
    else
        wait_for = true;
    if (!wait_for) {
        tn_waitlist_unlock(l);
        tn_has(rc == 0);
        return rc;
    }
    struct tn_node node;
    node.wants = write;
    node.caller = caller;
    rw->writers += write;
    tn_waitlist_enter(l, &node);
    tn_waitlist_unlock(l);
    rc = tn_waitlist_wait(l, &node, write ? "write lock" : "read lock", deadline, token);
    if (rc != 0) {
        if (!node.granted) /* nor passed over */
            rw->writers -= write;
        pass_on(l, rw); /* who was behind it */
    }
    tn_has(rc == 0);
    return rc;
}

/* Programs do not look at what these return: no cancellation ends them. */
static int acquire_masked(tn_rwlock *rw, bool write)
{
    int rc = acquire(rw, write, false, TN_FOREVER, NULL);
    if (rc != EBUSY)
        return rc;
    bool masked = tn_cancel_mask(true);
    rc = acquire(rw, write, true, TN_FOREVER, NULL);
    tn_cancel_mask(masked);
    return rc;
}

TN_API int tn_rwlock_rdlock(tn_rwlock *rw)
{
    return acquire_masked(rw, false);
}

TN_API int tn_rwlock_rdlock_until(tn_rwlock *rw, tn_time deadline, tn_token *token)
{
    return acquire(rw, false, true, deadline, token);
}

TN_API int tn_rwlock_tryrdlock(tn_rwlock *rw)
{
    return acquire(rw, false, false, 0, NULL);
}

TN_API int tn_rwlock_wrlock(tn_rwlock *rw)
{
    return acquire_masked(rw, true);
}

TN_API int tn_rwlock_wrlock_until(tn_rwlock *rw, tn_time deadline, tn_token *token)
{
    return acquire(rw, true, true, deadline, token);
}

TN_API int tn_rwlock_trywrlock(tn_rwlock *rw)
{
    return acquire(rw, true, false, 0, NULL);
}

TN_API int tn_rwlock_unlock(tn_rwlock *rw)
{
    struct tn_waitlist *l = tn_waitlist_lock(&rw->waits);
    if (l->state == 0 || (l->state == WRITTEN && rw->writer != tn_caller())) {
        tn_waitlist_unlock(l);
        return EPERM;
    }
    l->state = l->state == WRITTEN ? 0 : l->state - 1;
    tn_has(-1);
    pass_on(l, rw);
    return 0;
}
