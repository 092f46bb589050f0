/* SPDX-License-Identifier: MIT */
/*
 * What the cases on core/sync/waitlist.h and on the primitives made of it share. Each includes the primitive's own file,
 * and here is how its nodes wait, in place of core/sync/waiting.h: as plain threads do.
 */
#ifndef LIST_CASE_H
#define LIST_CASE_H

#include "protocol-case.h"

#define TN_SYNC_WAITING_H
#include "sync/waiters.h"

static inline bool tn_claim(struct tn_node *node, struct tn_claimed *claimed)
{
    return tn_thread_claim(node, claimed);
}

static inline void tn_resume(struct tn_claimed claimed)
{
    (void)claimed; /* it looks by itself */
}

static inline void tn_node_open(struct tn_node *node)
{
    tn_node_fresh(node);
    node->waiter.fibre = NULL;
}

/* With a deadline: it is over, at whatever moment. */
static inline int tn_node_wait(struct tn_node *node, const char *what, const void *object, tn_time deadline,
                               tn_token *token)
{
    unsigned spins = 0;
    (void)what, (void)object, (void)token;
    if (deadline != TN_FOREVER) {
        case_pause();
        return tn_thread_gives_up(node) ? ETIMEDOUT : 0;
    }
    while (!tn_thread_claimed(node))
        tn_spin_wait(&spins);
    return 0;
}

/* An explorer has no use for chance: what a case wants looked at first it names last. */
static inline uint64_t tn_waiting_random(const void *near)
{
    (void)near;
    return 0;
}

static inline void tn_has(int more)
{
    (void)more;
}

static inline uintptr_t tn_caller(void)
{
    return (uintptr_t)pthread_self();
}

/* No case is cancelled while it waits: what a mask does is core/self.c's. */
bool tn_cancel_mask(bool masked)
{
    return masked;
}

#endif
