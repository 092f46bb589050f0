/* SPDX-License-Identifier: MIT
 *
 * How the nodes of waiters.h wait, natively: as fibres or as threads.
 */
#ifndef TN_SYNC_WAITING_H
#define TN_SYNC_WAITING_H

#include "../internal.h"
#include "waiters.h"

/* ---- wait.c: a wake-up in two steps ---- */

/* Decides the wait. TN_DECIDED_PARKED: the fibre is the caller's, who makes it ready. */
enum tn_decision tn_wake_decide(tn_waiter waiter);
void tn_wake_resume(tn_fibre *fibre);

static inline bool tn_claim(struct tn_node *node, struct tn_claimed *claimed)
{
    if (node->waiter.fibre == NULL) {
        uint32_t waits = TN_NODE_WAITS;
        /* N0 release: what the claimer did, granted first of all. Failed, relaxed: it is not looked at again. */
        if (!atomic_compare_exchange_strong_explicit(&node->thread, &waits, TN_NODE_CLAIMED, memory_order_release,
                                                     memory_order_relaxed))
            return false;
        claimed->thread = &node->thread;
        return true;
    }
    tn_fibre *f = node->waiter.fibre;
    enum tn_decision d = tn_wake_decide(node->waiter);
    if (d == TN_DECIDED_PARKED)
        claimed->fibre = f;
    return d != TN_TOO_LATE;
}

/* After the primitive was released. A thread's node may be gone: to unpark where nobody sleeps does nothing. */
static inline void tn_resume(struct tn_claimed claimed)
{
    if (claimed.fibre != NULL)
        tn_wake_resume(claimed.fibre);
    else if (claimed.thread != NULL)
        tn_unpark(claimed.thread, 1);
}

/* Before others can find the node. */
void tn_node_open(struct tn_node *node);
/* 0: it was claimed; or ETIMEDOUT, ECANCELED, ENOMEM, and it was not. */
int tn_node_wait(struct tn_node *node, const char *what, const void *object, tn_time deadline, tn_token *token);

/* Who calls: a fibre by its control block, a thread by where its errno is, each on a line of its own. */
static inline uintptr_t tn_caller(void)
{
    struct worker *w = tn_self();
    return w != NULL ? (uintptr_t)w->current : (uintptr_t)tn_errno_address();
}

#endif
