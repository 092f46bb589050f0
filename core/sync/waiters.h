/* SPDX-License-Identifier: MIT
 *
 * Who waits for a primitive: a ring of nodes, each on the stack of the fibre or thread that waits, in the order in which
 * they came. The ring is looked at and changed only by who holds the primitive's queue.
 *
 * Whoever grants what a node waits for takes it out and claims it (tn_claim), both with the queue held: of a claim, a
 * deadline and a token exactly one decides, and a node that was not claimed is passed over. From its claim on a node may
 * be gone; what is left of it is what the claim says, with which it is resumed once the primitive is released.
 * What is claimed is the wait, not the node: nodes in several rings may be of one wait (select.h), and of their claims too
 * exactly one decides.
 */
#ifndef TN_SYNC_WAITERS_H
#define TN_SYNC_WAITERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenter.h"

enum { TN_NODE_WAITS, TN_NODE_CLAIMED, TN_NODE_OVER }; /* of a plain thread */

/* Who has been claimed and is still to be resumed: a fibre that is off its stack, or a thread; else neither. */
struct tn_claimed {
    tn_fibre *fibre;
    _Atomic(uint32_t) *thread;
};

struct tn_node {
    struct tn_node *next, *before; /* in the ring; NULL: in none */
    tn_waiter waiter;              /* fibre == NULL: a plain thread, which waits at: */
    _Atomic(uint32_t) *thread;     /* its own, or that of another node of the same wait */
    _Atomic(uint32_t) own;
    bool granted;              /* before the claim, by who claims: what it waits for is its own now */
    _Atomic(bool) let_go;      /* waitlist.h alone: who has claimed it is done with it */
    uint32_t wants;            /* how much, or which way, where the primitive asks */
    int told;                  /* by who has claimed it, where the primitive tells something: an errno value */
    tn_time since;             /* when it came first */
    uintptr_t caller;          /* who it is, where the primitive asks */
    void *item;                /* where what is handed over is, or goes to */
    struct tn_node **ring;     /* waitlist.h alone: in which it is */
    struct tn_claimed claimed; /* waitlist.h alone: by who has claimed it */
};

/* Decides that the node's wait is over, unless its deadline or token has. By who includes this. */
static bool tn_claim(struct tn_node *node, struct tn_claimed *claimed);

/* Before each wait. What the primitive asks of it (wants, since, caller, item) is set by that alone, where it asks: to clear it all
 * would cost as much as the rest of a wait's beginning. */
static inline void tn_node_fresh(struct tn_node *node)
{
    node->next = node->before = NULL;
    node->granted = false;
    node->told = 0;
    node->thread = &node->own;
    /* relaxed: whoever claims it finds it through the ring */
    atomic_store_explicit(&node->own, TN_NODE_WAITS, memory_order_relaxed);
}

/* Another node of the wait of `first`, which has been opened. */
static inline void tn_node_of(struct tn_node *node, const struct tn_node *first)
{
    tn_node_fresh(node);
    node->waiter = first->waiter;
    node->thread = first->thread;
}

/* ---- the wait of a plain thread: N0, a claim -> the thread ---- */

/* tn_claim() of a thread's node. */
static inline bool tn_thread_claim(struct tn_node *node, struct tn_claimed *claimed)
{
    _Atomic(uint32_t) *thread = node->thread; /* before the claim: then the node may be gone */
    uint32_t waits = TN_NODE_WAITS;
    /* N0 release: what the claimer did, granted first of all. Failed, relaxed: it is not looked at again. */
    if (!atomic_compare_exchange_strong_explicit(thread, &waits, TN_NODE_CLAIMED, memory_order_release,
                                                 memory_order_relaxed))
        return false;
    claimed->thread = thread;
    return true;
}

static inline bool tn_thread_claimed(struct tn_node *node)
{
    return atomic_load_explicit(node->thread, memory_order_acquire) == TN_NODE_CLAIMED; /* N0 acquire */
}

/* By the thread, whose time is over. False: it has been claimed before. */
static inline bool tn_thread_gives_up(struct tn_node *node)
{
    uint32_t waits = TN_NODE_WAITS;
    /* Failed: N0 acquire. Else nothing is told by it, but the failing order may not be the stronger one. */
    return atomic_compare_exchange_strong_explicit(node->thread, &waits, TN_NODE_OVER, memory_order_acquire,
                                                   memory_order_acquire);
}

/* ---- the ring ---- */

static inline void tn_ring_put(struct tn_node **first, struct tn_node *node, bool in_front)
{
    struct tn_node *at = *first;
    if (at == NULL) {
        node->next = node->before = node;
        *first = node;
        return;
    }
    node->next = at;
    node->before = at->before;
    at->before->next = node;
    at->before = node;
    if (in_front)
        *first = node;
}

static inline void tn_ring_take(struct tn_node **first, struct tn_node *node)
{
    if (node->next == node) {
        *first = NULL;
    } else {
        node->before->next = node->next;
        node->next->before = node->before;
        if (*first == node)
            *first = node->next;
    }
    node->next = node->before = NULL;
}

#endif
