/* SPDX-License-Identifier: MIT */
/*
 * The deque of Chase and Lev (SPAA 2005) that grows: one owner, who pushes and pops the newest; thieves take the oldest,
 * one at a time.  With the memory orders as corrected for C11 by Lê, Pop, Cohen and Zappa Nardelli (PPoPP 2013), except
 * that their fences are sequentially consistent accesses here (spmc_lifo.h, which is the same deque without growth, says
 * why those are enough), and that the array is published by release and acquired by thieves: theirs left that out.
 *
 * When the array is full, push says so; the owner gives a larger one (grow), and goes on.  Thieves may still be reading
 * the one before, so all arrays stay until the deque is done; together they have less than twice the last one's size.
 *
 * Invariants: those of spmc_lifo.h, with *slot of the array at hand* for *slot*, and
 *   6. An array's slots top ... bottom-1 are a copy of the one before, made before it is published (R2); after that only
 *      the array at hand is written to.  A thief that has read the old one finds in it the same item at index top, for
 *      as long as top has not moved: the owner wrote nothing to it since, and its CAS tells whether top has moved.
 *
 * Pairs:  R0, A0, R1, A1, S0 ... S4 as in spmc_lifo.h.
 *         R2 grow publishes an array -> A2 a thief reads which array: its slots and its size.
 */
#ifndef TN_QUEUES_CHASE_LEV_H
#define TN_QUEUES_CHASE_LEV_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link.h"

struct tn_chase_lev_array {
    uint64_t mask; /* capacity - 1 */
    _Atomic(void *) slot[];
};

struct tn_chase_lev {
    /* Written by the owner; thieves read both. */
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) bottom;
    _Atomic(struct tn_chase_lev_array *) array;
    uint64_t top_seen; /* owner only: at most the present top */
    /* Written by thieves, and by the owner for the last item. */
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) top;
};

/* What an array needs; the caller supplies it. */
static inline size_t tn_chase_lev_bytes(size_t capacity)
{
    return sizeof(struct tn_chase_lev_array) + capacity * sizeof(void *);
}

static inline struct tn_chase_lev_array *tn_chase_lev_array_(void *memory, size_t capacity)
{
    struct tn_chase_lev_array *a = memory;

    assert(capacity > 0 && (capacity & (capacity - 1)) == 0);
    a->mask = capacity - 1;
    for (size_t s = 0; s < capacity; s++)
        atomic_init(&a->slot[s], NULL);
    return a;
}

/* memory: of tn_chase_lev_bytes(capacity), a power of two; the caller's again when the deque is done. */
static inline void tn_chase_lev_init(struct tn_chase_lev *q, void *memory, size_t capacity)
{
    atomic_init(&q->bottom, UINT64_C(0));
    atomic_init(&q->top, UINT64_C(0));
    atomic_init(&q->array, tn_chase_lev_array_(memory, capacity));
    q->top_seen = 0;
}

static inline struct tn_chase_lev_array *tn_chase_lev_mine_(struct tn_chase_lev *q)
{
    return atomic_load_explicit(&q->array, memory_order_relaxed); /* relaxed: the owner's own word */
}

static inline size_t tn_chase_lev_capacity(struct tn_chase_lev *q)
{
    return (size_t)tn_chase_lev_mine_(q)->mask + 1;
}

/* Owner only.  False: full, the item stays with the caller, who may give a larger array. */
static inline bool tn_chase_lev_push(struct tn_chase_lev *q, void *item)
{
    uint64_t bottom = atomic_load_explicit(&q->bottom, memory_order_relaxed); /* relaxed: the owner's own word */
    struct tn_chase_lev_array *a = tn_chase_lev_mine_(q);

    assert(item != NULL);
    if (bottom - q->top_seen > a->mask) {
        q->top_seen = atomic_load_explicit(&q->top, memory_order_acquire); /* A1 */
        if (bottom - q->top_seen > a->mask)
            return false;
    }
    atomic_store_explicit(&a->slot[bottom & a->mask], item, memory_order_relaxed); /* relaxed: R0 publishes it */
    atomic_store_explicit(&q->bottom, bottom + 1, memory_order_release);           /* R0 */
    return true;
}

/* Owner only.  Go on in a larger array; memory as in init. */
static inline void tn_chase_lev_grow(struct tn_chase_lev *q, void *memory, size_t capacity)
{
    struct tn_chase_lev_array *a = tn_chase_lev_array_(memory, capacity), *old = tn_chase_lev_mine_(q);
    uint64_t bottom = atomic_load_explicit(&q->bottom, memory_order_relaxed); /* relaxed: the owner's own word */

    assert(capacity > old->mask + 1);
    q->top_seen = atomic_load_explicit(&q->top, memory_order_acquire); /* A1 */
    for (uint64_t i = q->top_seen; i != bottom; i++)
        /* relaxed, both: the owner wrote the old one itself; R2 publishes the new one. */
        atomic_store_explicit(&a->slot[i & a->mask],
                              atomic_load_explicit(&old->slot[i & old->mask], memory_order_relaxed),
                              memory_order_relaxed);
    atomic_store_explicit(&q->array, a, memory_order_release); /* R2 */
}

/* Owner only.  The newest; NULL when empty. */
static inline void *tn_chase_lev_pop(struct tn_chase_lev *q)
{
    uint64_t bottom = atomic_load_explicit(&q->bottom, memory_order_relaxed); /* relaxed: the owner's own word */
    struct tn_chase_lev_array *a = tn_chase_lev_mine_(q);

    /* relaxed: a top that is out of date is too low, and S1 sees the true one. */
    if (atomic_load_explicit(&q->top, memory_order_relaxed) == bottom)
        return NULL;
    bottom--;
    (void)atomic_exchange_explicit(&q->bottom, bottom, memory_order_seq_cst); /* S0 R0 */
    uint64_t top = atomic_load_explicit(&q->top, memory_order_seq_cst);       /* S1 A1 */
    void *item =
        atomic_load_explicit(&a->slot[bottom & a->mask], memory_order_relaxed); /* relaxed: wrote it itself */
    if (top < bottom) {
        q->top_seen = top;
        return item;
    }
    if (top > bottom ||
        !atomic_compare_exchange_strong_explicit(&q->top, &top, top + 1, memory_order_seq_cst, /* S4 R1 */
                                                 memory_order_relaxed))                        /* relaxed: gives up */
        item = NULL;
    atomic_store_explicit(&q->bottom, bottom + 1, memory_order_release); /* R0 */
    return item;
}

/* Anyone but the owner.  One attempt to take the oldest: NULL when empty, and when another came first. */
static inline void *tn_chase_lev_steal(struct tn_chase_lev *q)
{
    uint64_t top = atomic_load_explicit(&q->top, memory_order_seq_cst);       /* S2 */
    uint64_t bottom = atomic_load_explicit(&q->bottom, memory_order_seq_cst); /* S3 A0 */

    if ((int64_t)(bottom - top) <= 0)
        return NULL;
    struct tn_chase_lev_array *a = atomic_load_explicit(&q->array, memory_order_acquire); /* A2 */
    /* relaxed: A0 and A2 saw it written, or it is a later one and the CAS fails. */
    void *item = atomic_load_explicit(&a->slot[top & a->mask], memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&q->top, &top, top + 1, memory_order_seq_cst, /* S4 R1 */
                                                 memory_order_relaxed))                        /* relaxed: gives up */
        return NULL;
    return item;
}

/* Anyone.  Exact while nobody is in an operation. */
static inline size_t tn_chase_lev_length(struct tn_chase_lev *q)
{
    /* relaxed, both: no slot is read.  top first, so an item that was pushed before is counted or claimed. */
    uint64_t top = atomic_load_explicit(&q->top, memory_order_relaxed);
    int64_t size = (int64_t)(atomic_load_explicit(&q->bottom, memory_order_relaxed) - top);

    return size <= 0 ? 0 : (size_t)size;
}

/* For tests, by the owner outside of its operations; thieves may be at work. */
static inline bool tn_chase_lev_valid(struct tn_chase_lev *q)
{
    /* relaxed, all: the owner's own; A1 for top. */
    uint64_t bottom = atomic_load_explicit(&q->bottom, memory_order_relaxed);
    uint64_t top = atomic_load_explicit(&q->top, memory_order_acquire); /* A1 */
    struct tn_chase_lev_array *a = tn_chase_lev_mine_(q);

    if (bottom - top > a->mask + 1 || q->top_seen > top)
        return false;
    for (uint64_t i = top; i != bottom; i++)
        if (atomic_load_explicit(&a->slot[i & a->mask], memory_order_relaxed) == NULL)
            return false;
    return true;
}

#endif
