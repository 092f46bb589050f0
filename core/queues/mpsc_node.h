/* SPDX-License-Identifier: MIT */
/*
 * The stub queue of mpsc_stub.h, not intrusive (000 §4.2): any pointer can be queued, in a node that the caller brings.
 *
 * The node at the front is always one whose item is gone: pop takes the item of the node behind it, and hands the front
 * node back, which is free then.  So a node comes back from another pop than its item does, and one more node is needed
 * than there are items.  No node has to be put back in, as the stub has; what it costs is the nodes.
 *
 * Invariants: 1 of mpsc_stub.h, and
 *   2. Of the nodes from front on all but the first have an item.  Empty: front is the only one.
 *   3. A node is its producer's until the exchange; what front has passed is the consumer's.  pop hands out a node whose
 *      next is set: nobody writes to it any more.
 *
 * Order: strict FIFO by the order of the exchanges.  Pairs: those of mpsc_stub.h.
 */
#ifndef TN_QUEUES_MPSC_NODE_H
#define TN_QUEUES_MPSC_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "link.h"
#include "spin.h"

struct tn_mpsc_node {
    _Atomic(struct tn_mpsc_node *) next;
    void *item;
};

struct tn_mpsc_nodes {
    _Alignas(TN_CACHE_LINE) _Atomic(struct tn_mpsc_node *) tail;  /* written by producers */
    _Alignas(TN_CACHE_LINE) _Atomic(struct tn_mpsc_node *) front; /* the consumer's; others look whether it is tail */
};

/* `first`: the node that is one more than there are items; pop gives it back in time. */
static inline void tn_mpsc_nodes_init(struct tn_mpsc_nodes *q, struct tn_mpsc_node *first)
{
    atomic_init(&first->next, NULL);
    first->item = NULL;
    atomic_init(&q->tail, first);
    atomic_init(&q->front, first);
}

/* Any thread.  The node is the queue's from here. */
static inline void tn_mpsc_nodes_push(struct tn_mpsc_nodes *q, struct tn_mpsc_node *node, void *item)
{
    node->item = item;
    atomic_store_explicit(&node->next, NULL, memory_order_relaxed);                             /* relaxed: R1 */
    struct tn_mpsc_node *last = atomic_exchange_explicit(&q->tail, node, memory_order_acq_rel); /* R1 A1 */
    atomic_store_explicit(&last->next, node, memory_order_release);                             /* R0 */
}

/* The consumer only.  The oldest item into *item, and a node that is the caller's again; NULL when empty.  Waits for a
 * producer that is half-way in its push. */
static inline struct tn_mpsc_node *tn_mpsc_nodes_pop(struct tn_mpsc_nodes *q, void **item)
{
    struct tn_mpsc_node *front = atomic_load_explicit(&q->front, memory_order_relaxed), *next; /* relaxed: its own */
    unsigned spins = 0;

    while ((next = atomic_load_explicit(&front->next, memory_order_acquire)) == NULL) { /* A0 */
        if (atomic_load_explicit(&q->tail, memory_order_relaxed) == front) /* relaxed: as in mpsc_stub.h */
            return NULL;
        tn_spin_wait(&spins);
    }
    *item = next->item;
    atomic_store_explicit(&q->front, next, memory_order_relaxed); /* relaxed: others take it as a hint */
    return front;
}

/* Anyone.  A push that happened before is seen, unless its item is gone. */
static inline bool tn_mpsc_nodes_empty(struct tn_mpsc_nodes *q)
{
    /* relaxed, both: a push that happened before has changed tail for good. */
    return atomic_load_explicit(&q->front, memory_order_relaxed) ==
           atomic_load_explicit(&q->tail, memory_order_relaxed);
}

#endif
