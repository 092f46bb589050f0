/* SPDX-License-Identifier: MIT */
/*
 * An unbounded queue for many producers and one consumer: that of MPICH's channel Nemesis (Buntinas, Mercier, Gropp,
 * CCGrid 2006; 000 §4.2), intrusive.
 *
 * A producer exchanges itself in as the last, as in mpsc_stub.h, but the list may be empty: who finds no predecessor
 * makes its node the head.  So there is no stub; instead the consumer gives up the last node's place by a CAS on tail,
 * and where a producer has come first, waits for it to link its node.
 *
 * Invariants:
 *   1. tail is the node that was exchanged in last, NULL when there is none: the queue is empty then, and only then.
 *   2. While tail is not NULL, head is the oldest node, or NULL for as long as the producer that found tail NULL has yet
 *      to store it, or the consumer has taken out the only one and has yet to give up its place.
 *   3. head is the consumer's, except that the producer that found tail NULL stores it: the consumer has stored its NULL
 *      before it made tail NULL, and does not touch it again before it reads another value.
 *   4. A node's next is written by its producer before it is published, then once by its successor's.  pop hands out a
 *      node whose next is set, or which was last when tail became NULL: nobody writes to it any more.
 *
 * Order: strict FIFO by the order of the exchanges.  Several consumers take turns under a lock of theirs.
 *
 * Pairs:  R0 a producer makes its node reachable -> A0 the consumer reads it: node and item.
 *         R1 whoever changes tail -> A1 the next one that does: the node's next is NULL, and the consumer's NULL in head.
 */
#ifndef TN_QUEUES_NEMESIS_H
#define TN_QUEUES_NEMESIS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link_shared.h"

struct tn_nemesis {
    _Alignas(TN_CACHE_LINE) _Atomic(struct tn_link *) tail; /* written by all */
    _Alignas(TN_CACHE_LINE) _Atomic(struct tn_link *) head; /* the consumer's, see 3 */
};

static inline void tn_nemesis_init(struct tn_nemesis *q)
{
    atomic_init(&q->tail, NULL);
    atomic_init(&q->head, NULL);
}

/* Any thread. */
static inline void tn_nemesis_push(struct tn_nemesis *q, struct tn_link *link)
{
    atomic_store_explicit(tn_link_next_(link), NULL, memory_order_relaxed);                /* relaxed: R1 */
    struct tn_link *last = atomic_exchange_explicit(&q->tail, link, memory_order_acq_rel); /* R1 A1 */
    atomic_store_explicit(last == NULL ? &q->head : tn_link_next_(last), link, memory_order_release); /* R0 */
}

/* Anyone.  A push that happened before is seen, unless its item is gone. */
static inline bool tn_nemesis_empty(struct tn_nemesis *q)
{
    return atomic_load_explicit(&q->tail, memory_order_relaxed) == NULL; /* relaxed: one word */
}

/* The consumer only.  The oldest; NULL when empty.  Waits for a producer that is half-way in its push. */
static inline struct tn_link *tn_nemesis_pop(struct tn_nemesis *q)
{
    if (tn_nemesis_empty(q))
        return NULL;
    struct tn_link *first = tn_link_await_(&q->head);
    struct tn_link *next = atomic_load_explicit(tn_link_next_(first), memory_order_acquire); /* A0 */
    if (next == NULL) {
        struct tn_link *last = first;
        atomic_store_explicit(&q->head, NULL, memory_order_relaxed);                             /* relaxed: R1 */
        if (atomic_compare_exchange_strong_explicit(&q->tail, &last, NULL, memory_order_acq_rel, /* R1 A1 */
                                                    memory_order_relaxed)) /* relaxed: only waits for the other */
            return first;
        next = tn_link_await_(tn_link_next_(first));
    }
    atomic_store_explicit(&q->head, next, memory_order_relaxed); /* relaxed: its own (3) */
    first->next = NULL;
    return first;
}

/* For tests, when no operation is in progress: how many items there are; SIZE_MAX: not valid. */
static inline size_t tn_nemesis_count(struct tn_nemesis *q)
{
    /* relaxed, both: nobody else is here. */
    struct tn_link *l = atomic_load_explicit(&q->head, memory_order_relaxed), *last = NULL;
    size_t n = 0;

    for (; l != NULL; l = l->next, n++)
        last = l;
    return last == atomic_load_explicit(&q->tail, memory_order_relaxed) ? n : SIZE_MAX;
}

#endif
