/* SPDX-License-Identifier: MIT */
/*
 * The condition variable on waitlist.h. Its lock is held while the mutex is given back: whoever gets that finds the waiter
 * in the ring. Who is woken gets the mutex as anybody else does: it is not moved from one ring to the other.
 */
#include "waitlist.h"

#include <errno.h>

_Static_assert(sizeof(tn_cond) == 16, "its size is stated");

TN_API void tn_cond_init(tn_cond *c)
{
    *c = (tn_cond)TN_COND_INIT;
}

TN_API int tn_cond_destroy(tn_cond *c)
{
    return tn_waitlist_idle(&c->waits);
}

TN_API int tn_cond_wait_until(tn_cond *c, tn_mutex *m, tn_time deadline, tn_token *token)
{
    struct tn_node node;
    struct tn_waitlist *l = tn_waitlist_lock(&c->waits);
    tn_waitlist_enter(l, &node);
    int rc = tn_mutex_unlock(m);
    if (rc != 0) { /* nobody has found the node yet */
        tn_ring_take(&l->ring, &node);
        tn_waitlist_unlock(l);
        return rc;
    }
    tn_waitlist_unlock(l);
    rc = tn_waitlist_wait(l, &node, "condition", deadline, token);
    if (rc != 0)
        tn_waitlist_unlock(l);
    tn_mutex_lock(m); /* the caller had it before: it does not fail */
    return rc;
}

TN_API int tn_cond_wait(tn_cond *c, tn_mutex *m)
{
    return tn_cond_wait_until(c, m, TN_FOREVER, NULL);
}

TN_API void tn_cond_signal(tn_cond *c)
{
    struct tn_claims claims = {NULL, NULL};
    struct tn_waitlist *l = tn_waitlist_lock(&c->waits);
    while (l->ring != NULL && !tn_waitlist_grant(l->ring, &claims))
        ;
    tn_waitlist_let_go(l, claims);
}

TN_API void tn_cond_broadcast(tn_cond *c)
{
    struct tn_claims claims = {NULL, NULL};
    struct tn_waitlist *l = tn_waitlist_lock(&c->waits);
    tn_waitlist_grant_all(l, &claims);
    tn_waitlist_let_go(l, claims);
}
