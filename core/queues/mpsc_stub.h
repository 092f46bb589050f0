/* SPDX-License-Identifier: MIT */
/*
 * An unbounded queue for many producers and one consumer: a list with a *stub* (000 §4.2, the stub queue), intrusive.
 *
 * A producer exchanges itself in as the last of the list, and then links the one that was last before to it: one
 * read-modify-write, which never fails.  Between the two the list is broken in its middle, and the consumer, should it
 * come there, waits: lock-free for producers, not wait-free for the consumer.  The list is never empty: the consumer
 * puts the stub behind the last item before it takes that away, and skips it later.
 *
 * Invariants:
 *   1. From head, following next, each node is reached that was exchanged in before the first whose producer has not
 *      yet linked its predecessor; tail is the node that was exchanged in last.
 *   2. The stub is in the list once, or not at all; it is there whenever nothing else is.  pop puts it there only when the
 *      node at head is the last one and no stub: then it is out.  The list is empty when head == tail == stub.
 *   3. head, the stub's place and the next fields of what head has passed are the consumer's.  A node's next is written
 *      by its producer before it is published, then once by the producer of its successor, then by nobody: pop hands a
 *      node out only when its next is set, so nobody writes to it any more.
 *
 * Order: strict FIFO by the order of the exchanges.
 *
 * Pairs:  R0 a producer links its node to its predecessor -> A0 the consumer follows the link: node and item.
 *         R1 a producer's exchange -> A1 the next producer's: the predecessor's next is NULL before it is set; and
 *         A1 who looks whether there is anything: where head was when the stub was put back.
 */
#ifndef TN_QUEUES_MPSC_STUB_H
#define TN_QUEUES_MPSC_STUB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link_shared.h"

struct tn_mpsc_stub {
    _Alignas(TN_CACHE_LINE) _Atomic(struct tn_link *) tail; /* written by producers */
    /* The consumer's; head is atomic for those who look whether there is anything. */
    _Alignas(TN_CACHE_LINE) _Atomic(struct tn_link *) head;
    struct tn_link stub;
};

static inline void tn_mpsc_stub_init(struct tn_mpsc_stub *q)
{
    q->stub.next = NULL;
    atomic_init(&q->tail, &q->stub);
    atomic_init(&q->head, &q->stub);
}

/* Any thread. */
static inline void tn_mpsc_stub_push(struct tn_mpsc_stub *q, struct tn_link *link)
{
    atomic_store_explicit(tn_link_next_(link), NULL, memory_order_relaxed);                /* relaxed: R1 */
    struct tn_link *last = atomic_exchange_explicit(&q->tail, link, memory_order_acq_rel); /* R1 A1 */
    atomic_store_explicit(tn_link_next_(last), link, memory_order_release);                /* R0 */
}

/* The consumer only.  The oldest; NULL when empty.  Waits for a producer that is half-way in its push. */
static inline struct tn_link *tn_mpsc_stub_pop(struct tn_mpsc_stub *q)
{
    struct tn_link *first = atomic_load_explicit(&q->head, memory_order_relaxed), *next; /* relaxed: its own */

    /* relaxed, all reads of tail: a tail that is out of date is for an item whose push this pop may miss; what is done
     * about the last item is safe whatever comes meanwhile. */
    if (first == &q->stub) {
        if (atomic_load_explicit(&q->tail, memory_order_relaxed) == &q->stub)
            return NULL;
        first = tn_link_await_(tn_link_next_(first));
        atomic_store_explicit(&q->head, first, memory_order_relaxed); /* relaxed: A1 */
    }
    next = atomic_load_explicit(tn_link_next_(first), memory_order_acquire); /* A0 */
    if (next == NULL) {
        if (atomic_load_explicit(&q->tail, memory_order_relaxed) == first)
            tn_mpsc_stub_push(q, &q->stub);
        next = tn_link_await_(tn_link_next_(first));
    }
    atomic_store_explicit(&q->head, next, memory_order_relaxed); /* relaxed: others take it as a hint */
    first->next = NULL;
    return first;
}

/* Anyone.  A push that happened before is seen, unless its item is gone: if the stub is the last again, it was put there
 * when head had left it. */
static inline bool tn_mpsc_stub_empty(struct tn_mpsc_stub *q)
{
    return atomic_load_explicit(&q->tail, memory_order_acquire) == &q->stub && /* A1 */
           atomic_load_explicit(&q->head, memory_order_relaxed) == &q->stub;   /* relaxed: A1 */
}

/* For tests, when no operation is in progress: how many items there are; SIZE_MAX: not valid. */
static inline size_t tn_mpsc_stub_count(struct tn_mpsc_stub *q)
{
    /* relaxed, both: nobody else is here. */
    struct tn_link *l = atomic_load_explicit(&q->head, memory_order_relaxed), *last = NULL;
    size_t n = 0, stubs = 0;

    for (; l != NULL; l = l->next) {
        stubs += l == &q->stub;
        n++;
        last = l;
    }
    return last == atomic_load_explicit(&q->tail, memory_order_relaxed) && stubs <= 1 ? n - stubs : SIZE_MAX;
}

#endif
