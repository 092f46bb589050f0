/* SPDX-License-Identifier: MIT */
/*
 * What the cases on core/sync/promiseword.h share: threads that wait as core/sync/promise.c does.
 */
#ifndef PROMISE_CASE_H
#define PROMISE_CASE_H

#include "protocol-case.h"

#include "sync/promiseword.h"

static bool tn_claim(struct tn_node *node, struct tn_claimed *claimed)
{
    return tn_thread_claim(node, claimed);
}

static struct tn_promiseword promise;
static struct tn_node nodes[2]; /* in place of the waiters' stacks */

static inline void prepare(void)
{
    memset(&promise, 0, sizeof(promise));
    memset(nodes, 0, sizeof(nodes));
}

static inline void *get(struct tn_promiseword *p, struct tn_node *node)
{
    tn_node_fresh(node);
    if (!tn_promiseword_enter(p, node)) {
        unsigned spins = 0;
        while (!tn_thread_claimed(node))
            tn_spin_wait(&spins);
    }
    node->next = node; /* it is the waiter's again */
    return p->value;
}

static inline void resume(struct tn_claimed claimed)
{
    (void)claimed; /* who was told looks by itself */
}

static inline bool keep(struct tn_promiseword *p, void *value)
{
    return tn_promiseword_keep(p, value, resume);
}

#endif
