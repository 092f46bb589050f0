/* SPDX-License-Identifier: MIT */
/*
 * A bounded ring for many producers and many consumers whose indices are advanced by CAS loops.
 *
 * The yardstick for mpmc_ring.h (003 §5.1, row M5.1): a CAS on an index fails for all but one of those who meet there,
 * so the work in vain grows with their number.  For few threads it is the simpler and the faster one.
 *
 * Each slot counts on its own what may happen to it next.  `turn` of slot s is
 *
 *     t           index t (t mod capacity == s) may be pushed here
 *     t + 1       index t's item is here, and may be popped
 *
 * and goes from t to t + 1 by the push, from t + 1 to t + capacity by the pop, so the two cannot be mixed up: capacity
 * is 2 at least.
 *
 * Invariants:
 *   1. tail and head only grow, by CAS x -> x+1, which is the claim of index x.  head <= tail <= head + capacity.
 *   2. Index t is claimed by a push only after turn == t was read, by a pop only after turn == t + 1 was: the slot is
 *      the claimant's until it stores the next turn.  So an item is written and read by plain accesses.
 *   3. Each index is pushed once and popped once; items leave in the order of indices.
 *   4. push returns false only when its slot was still taken: the ring is full, or a pop has claimed the slot and has
 *      not yet left it.  pop returns NULL only when its slot had no item yet: the ring is empty, or a push has claimed
 *      the slot and has not yet filled it; items behind that one are passed by as well.  Neither waits.  Whoever pushes
 *      tells a sleeper of it when the push is over, so nobody sleeps past an item because of a push in progress.
 *
 * Order: strict FIFO by the order of claims.
 *
 * Pairs:  R0 push passes the slot on -> A0 pop takes it over: the item.
 *         R1 pop gives the slot back -> A1 push takes it over: the pop's read is done.
 */
#ifndef TN_QUEUES_MPMC_CAS_H
#define TN_QUEUES_MPMC_CAS_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link.h"

struct tn_mpmc_cas_slot {
    _Atomic(uint64_t) turn;
    void *item;
};

struct tn_mpmc_cas {
    _Alignas(TN_CACHE_LINE) uint64_t mask;          /* capacity - 1; set by init */
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) head; /* next index to pop; written by consumers */
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) tail; /* next index to push; written by producers */
    _Alignas(TN_CACHE_LINE) struct tn_mpmc_cas_slot slot[];
};

/* What the caller must supply, aligned to TN_CACHE_LINE. */
static inline size_t tn_mpmc_cas_bytes(size_t capacity)
{
    size_t bytes = sizeof(struct tn_mpmc_cas) + (capacity < 2 ? 2 : capacity) * sizeof(struct tn_mpmc_cas_slot);

    return (bytes + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE;
}

/* capacity: a power of two, 2 at least. */
static inline void tn_mpmc_cas_init(struct tn_mpmc_cas *q, size_t capacity)
{
    assert(capacity > 1 && (capacity & (capacity - 1)) == 0 && (uintptr_t)q % TN_CACHE_LINE == 0);
    q->mask = capacity - 1;
    atomic_init(&q->head, UINT64_C(0));
    atomic_init(&q->tail, UINT64_C(0));
    for (size_t s = 0; s < capacity; s++) {
        atomic_init(&q->slot[s].turn, (uint64_t)s);
        q->slot[s].item = NULL;
    }
}

static inline size_t tn_mpmc_cas_capacity(const struct tn_mpmc_cas *q)
{
    return (size_t)q->mask + 1;
}

/* Any thread; item is not NULL.  False: full (4), the item stays with the caller. */
static inline bool tn_mpmc_cas_push(struct tn_mpmc_cas *q, void *item)
{
    /* relaxed, all uses of the indices: they only say which slot to ask; its turn decides (2). */
    uint64_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

    assert(item != NULL);
    for (;;) {
        struct tn_mpmc_cas_slot *slot = &q->slot[tail & q->mask];
        uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire); /* A1 */
        if (turn == tail) {
            if (atomic_compare_exchange_weak_explicit(&q->tail, &tail, tail + 1, memory_order_relaxed,
                                                      memory_order_relaxed)) { /* relaxed: as above */
                slot->item = item;
                atomic_store_explicit(&slot->turn, tail + 1, memory_order_release); /* R0 */
                return true;
            }
        } else if ((int64_t)(turn - tail) < 0) {
            return false;
        } else {
            tail = atomic_load_explicit(&q->tail, memory_order_relaxed); /* relaxed: as above */
        }
    }
}

/* Any thread.  The oldest; NULL: empty (4). */
static inline void *tn_mpmc_cas_pop(struct tn_mpmc_cas *q)
{
    uint64_t head = atomic_load_explicit(&q->head, memory_order_relaxed); /* relaxed: as in push */

    for (;;) {
        struct tn_mpmc_cas_slot *slot = &q->slot[head & q->mask];
        uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire); /* A0 */
        if (turn == head + 1) {
            if (atomic_compare_exchange_weak_explicit(&q->head, &head, head + 1, memory_order_relaxed,
                                                      memory_order_relaxed)) { /* relaxed: as in push */
                void *item = slot->item;
                atomic_store_explicit(&slot->turn, head + q->mask + 1, memory_order_release); /* R1 */
                return item;
            }
        } else if ((int64_t)(turn - (head + 1)) < 0) {
            return NULL;
        } else {
            head = atomic_load_explicit(&q->head, memory_order_relaxed); /* relaxed: as in push */
        }
    }
}

/* Anyone; exact while nobody is in an operation.  Counts claims, so also what is being pushed.  0 is reliable: an item
 * whose push happened before has been claimed, for tail is past it and head is not below tail. */
static inline size_t tn_mpmc_cas_length(struct tn_mpmc_cas *q)
{
    /* relaxed, both: see above; no slot is read. */
    uint64_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
    int64_t n = (int64_t)(atomic_load_explicit(&q->tail, memory_order_relaxed) - head);

    return n <= 0 ? 0 : n > (int64_t)q->mask ? tn_mpmc_cas_capacity(q) : (size_t)n;
}

/* For tests, when no operation is in progress: each slot's turn is what the indices say. */
static inline bool tn_mpmc_cas_valid(struct tn_mpmc_cas *q)
{
    /* relaxed, all three: nobody else is here, and the caller has joined or met those who were. */
    uint64_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

    if (tail - head > q->mask + 1)
        return false;
    for (uint64_t i = head; i != head + q->mask + 1; i++)
        if (atomic_load_explicit(&q->slot[i & q->mask].turn, memory_order_relaxed) != i + (i - head < tail - head))
            return false;
    return true;
}

#endif
