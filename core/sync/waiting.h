/* SPDX-License-Identifier: MIT
 *
 * How the nodes of waiters.h wait, natively: as fibres or as threads.
 */
#ifndef TN_SYNC_WAITING_H
#define TN_SYNC_WAITING_H

#include "../internal.h"
#include "threadwait.h"
#include "waiters.h"

static inline bool tn_claim(struct tn_node *node, struct tn_claimed *claimed)
{
    if (node->waiter.fibre == NULL) /* one of a parent's is not there; of its fibres tn_wake_decide knows that */
        return node->waiter.seq == tn_process() && tn_thread_claim(node, claimed);
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

/* Of the calling fibre, if it is a member of a group. */
static inline struct tn_scope *tn_scope_self(void)
{
    struct worker *w = tn_self();
    return w != NULL ? w->current->scope : NULL;
}

/* The calling fibre has so many more locks, or fewer: what it has at its end is reported. Mutexes that do not know their owner are
 * counted in builds that check only (TN_LOCK_CHECK). */
void tn_has(int more);

/* For a choice: a fibre's follows from its worker's seed, a thread has none and takes the clock. */
uint64_t tn_waiting_random(const void *near);

/* Who calls: a fibre by its control block, a thread by where its errno is, each on a line of its own. */
static inline uintptr_t tn_caller(void)
{
    struct worker *w = tn_self();
    return w != NULL ? (uintptr_t)w->current : (uintptr_t)tn_errno_address();
}

#endif
