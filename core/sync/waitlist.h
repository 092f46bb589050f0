/* SPDX-License-Identifier: MIT
 *
 * What all primitives but the mutex and the promise are made of: a lock over a few words and over the ring of those that
 * wait (000 §3.3). Who comes looks with the lock held, and takes what it came for or enters the ring; who brings something
 * grants it with the lock held to those in the ring that can have it, and lets them go when the lock is open again.
 * Nothing in here blocks or switches.
 *
 * Proof. 1. What is granted is taken by who grants it, with the lock held, so nobody else can have it; a node whose deadline
 * or token was first is passed over (tn_claim decides). 2. A node leaves the ring with the lock held: by who grants, or by
 * its own waiter, who looks whether it is still there. So nothing of a node is looked at when its waiter has returned,
 * except by who has claimed it. 3. Who was claimed does not return before it was let go, and that comes after the lock was
 * opened: whoever returns from a wait may destroy the primitive, if nobody else is to use it; who grants touches it no more.
 * Claimed nodes are therefore there until they are let go, and are themselves the list of those that are to be.
 *
 * Pairs:  of the lock (innerlock.h);  L0 let go -> who waits.
 */
#ifndef TN_SYNC_WAITLIST_H
#define TN_SYNC_WAITLIST_H

#include "innerlock.h"
#include "waiting.h"

#include "tenter_sync.h"

#include <errno.h>

struct tn_waitlist {
    struct tn_innerlock lock;
    uint32_t state; /* the primitive's, under the lock */
    struct tn_node *ring;
};

_Static_assert(sizeof(struct tn_waitlist) == sizeof(struct tn_waits), "a tn_waits is a list");

/* Who is to be let go, in the order in which they were granted. */
struct tn_claims {
    struct tn_node *first, *last;
};

static inline struct tn_waitlist *tn_waitlist_of(struct tn_waits *w)
{
    return (struct tn_waitlist *)(void *)w;
}

static inline struct tn_waitlist *tn_waitlist_lock(struct tn_waits *w)
{
    tn_innerlock_lock(&tn_waitlist_of(w)->lock);
    return tn_waitlist_of(w);
}

static inline void tn_waitlist_unlock(struct tn_waitlist *l)
{
    tn_innerlock_unlock(&l->lock);
}

/* ---- who waits ---- */

/* With the lock held, for a node that is open. `ring` is the list's, or another one under its lock. */
static inline void tn_waitlist_put(struct tn_node **ring, struct tn_node *node)
{
    atomic_store_explicit(&node->let_go, false, memory_order_relaxed); /* relaxed: it is found by the lock */
    node->ring = ring;
    tn_ring_put(ring, node, false);
}

/* With the lock held. */
static inline void tn_waitlist_enter(struct tn_waitlist *l, struct tn_node *node)
{
    tn_node_open(node);
    tn_waitlist_put(&l->ring, node);
}

/* With the lock held: the node's wait is over, however it ended, and it is no longer in a ring. */
static inline void tn_waitlist_leave(struct tn_node *node)
{
    if (node->next != NULL)
        tn_ring_take(node->ring, node);
}

/* Without it. 0: it was granted, and the list may be gone. Else why not, and the lock is held again. */
static inline int tn_waitlist_wait(struct tn_waitlist *l, struct tn_node *node, const char *what, tn_time deadline,
                                   tn_token *token)
{
    int rc = tn_node_wait(node, what, l, deadline, token);
    if (rc == 0) { /* only who had not even suspended will find it not yet let go */
        unsigned spins = 0;
        while (!atomic_load_explicit(&node->let_go, memory_order_acquire)) /* L0 */
            tn_spin_wait(&spins);
        return 0;
    }
    tn_innerlock_lock(&l->lock);
    tn_waitlist_leave(node);
    return rc;
}

/* ---- who grants ---- */

/* With the lock held. False: it gave up before, and was only taken out. */
static inline bool tn_waitlist_grant(struct tn_node *node, struct tn_claims *claims)
{
    struct tn_claimed claimed = {NULL, NULL};
    tn_ring_take(node->ring, node);
    node->granted = true;
    if (!tn_claim(node, &claimed))
        return false;
    node->claimed = claimed;
    if (claims->first == NULL)
        claims->first = node;
    else
        claims->last->next = node;
    claims->last = node;
    return true;
}

static inline void tn_waitlist_grant_all(struct tn_waitlist *l, struct tn_claims *claims)
{
    while (l->ring != NULL)
        tn_waitlist_grant(l->ring, claims);
}

/* When all locks are open again. */
static inline void tn_claims_let_go(struct tn_claims claims)
{
    for (struct tn_node *node = claims.first, *next; node != NULL; node = next) {
        struct tn_claimed claimed = node->claimed;
        next = node->next;
        atomic_store_explicit(&node->let_go, true, memory_order_release); /* L0 */
        tn_resume(claimed);
    }
}

/* Opens the lock; from here on the list may be gone. */
static inline void tn_waitlist_let_go(struct tn_waitlist *l, struct tn_claims claims)
{
    tn_innerlock_unlock(&l->lock);
    tn_claims_let_go(claims);
}

/* Without the lock: to destroy. */
static inline int tn_waitlist_idle(struct tn_waits *w)
{
    struct tn_waitlist *l = tn_waitlist_lock(w);
    bool idle = l->ring == NULL;
    tn_waitlist_unlock(l);
    return idle ? 0 : EBUSY;
}

#endif
