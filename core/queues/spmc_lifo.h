/* SPDX-License-Identifier: MIT */
/*
 * A bounded deque with one owner, who pushes and pops the newest; thieves take the oldest.  After Chase and Lev.
 *
 * bottom is the owner's end, top the thieves'.  The owner announces by a store to bottom that it takes the newest, and
 * only then looks at top.  While that leaves another item between them it owes nobody a read-modify-write of top; only
 * the last item is decided by CAS on top, which both sides use.
 *
 * Invariants:
 *   1. bottom is written by the owner only.  top never decreases, and changes only by a CAS t -> t+1, which is the
 *      claim of index t: by a thief, or by the owner for the last item.
 *   2. top <= bottom <= top + capacity outside of the owner's pop; inside, bottom may be top - 1.
 *   3. Index i's item is in slot i mod capacity from before bottom passed i (R0) until it is claimed.  push reuses the
 *      slot, for index i + capacity, only after it read a top above i (R1 -> A1: the thief's read of the slot is done).
 *      Index i itself gets another item only after the owner has popped i.
 *   4. The owner takes index b without CAS only when, after storing bottom = b, it reads top < b.  Then no thief gets
 *      b: to claim it, a thief has read top == b, or made it so, *after* the owner's read of top in the total order of
 *      seq_cst accesses; it reads bottom after that, hence finds b, which is *empty* to it, or a bottom that the owner
 *      stored later, with another item at b, which it may have.  (S0 before S1 for the owner, S2 before S3 for the
 *      thief: the store-load pattern of Dekker, which nothing weaker than seq_cst decides.)
 *   5. When the owner reads top == b it makes the same CAS as the thieves; exactly one wins.  When it reads more, the
 *      item is gone.
 *
 * One CAS for several items (top -> top+n) would be wrong here, though it is right in spmc_fifo.h, where the owner too
 * changes head.  Here it takes indices from the other end *without touching top* as long as top < b.  A thief that
 * read top = 0 and bottom = 4 and sets out to claim 0 and 1 does not notice that the owner meanwhile popped 3, 2 and
 * 1: for index 1 it saw top == 0 < 1, as it should.  The thief's CAS from 0 finds 0, and index 1 is taken twice.  So a
 * steal of n is n claims of one, each with its own look at bottom (4 holds for each).
 *
 * Order: the owner's pushes and pops are strict LIFO; thieves claim in the order of pushes, oldest first; the owner
 * may pop in between two claims of one steal.
 *
 * A steal that loses a race returns what it has.  0 says *empty, or lost the race*, and only length() tells which: a
 * thief that goes to sleep on a lost race would leave work behind.  length() == 0 is reliable: an item whose push
 * happened before the call has been claimed, or is the last one and the owner is in the pop that decides about it.
 *
 * Pairs:  R0 every store to bottom        -> A0 a thief reads bottom: slots and items below it.  (Every store, since
 *                                               a thief may learn of a push through the store of a later pop.)
 *         R1 the CAS on top               -> A1 the owner reads top before it reuses a slot; A2 anyone else reads
 *                                               top, and bottom after it: one at least as new as the claimant's.
 *         S0 ... S4 the seq_cst accesses of 4: S0 owner's exchange of bottom, S1 owner's read of top, S2 a thief's
 *         read of top, S3 its read of bottom, S4 the CAS.  Accesses rather than fences: as cheap where it matters, and
 *         the tools that watch single accesses understand them.
 */
#ifndef TN_QUEUES_SPMC_LIFO_H
#define TN_QUEUES_SPMC_LIFO_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link.h"

struct tn_spmc_lifo {
    /* Written by the owner; thieves read bottom.  mask is set by init. */
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) bottom;
    uint64_t mask;     /* capacity - 1 */
    uint64_t top_seen; /* owner only: at most the present top */
    /* Written by thieves, and by the owner for the last item. */
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) top;
    /* Written by the owner; atomic because a thief may read a slot that is being reused, and then throws it away. */
    _Alignas(TN_CACHE_LINE) _Atomic(void *) slot[];
};

static_assert(offsetof(struct tn_spmc_lifo, top) - offsetof(struct tn_spmc_lifo, bottom) == TN_CACHE_LINE,
              "a thief's CAS does not take away the line that the owner pushes through");

/* What the caller must supply, aligned to TN_CACHE_LINE. */
static inline size_t tn_spmc_lifo_bytes(size_t capacity)
{
    size_t bytes = sizeof(struct tn_spmc_lifo) + capacity * sizeof(void *);

    return (bytes + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE;
}

static inline void tn_spmc_lifo_init(struct tn_spmc_lifo *q, size_t capacity)
{
    assert(capacity > 0 && (capacity & (capacity - 1)) == 0 && (uintptr_t)q % TN_CACHE_LINE == 0);
    q->mask = capacity - 1;
    q->top_seen = 0;
    atomic_init(&q->bottom, UINT64_C(0));
    atomic_init(&q->top, UINT64_C(0));
    for (size_t s = 0; s < capacity; s++)
        atomic_init(&q->slot[s], (void *)NULL);
}

static inline size_t tn_spmc_lifo_capacity(const struct tn_spmc_lifo *q)
{
    return (size_t)q->mask + 1;
}

/* Owner only.  Pushes the first of items[0 ... n-1] that there is room for; the last one pushed is the newest.
 * Published together; returns how many. */
static inline size_t tn_spmc_lifo_push_n(struct tn_spmc_lifo *q, size_t n, void *const items[])
{
    uint64_t bottom = atomic_load_explicit(&q->bottom, memory_order_relaxed); /* relaxed: the owner's own word */
    uint64_t room = q->mask + 1 - (bottom - q->top_seen);

    if (room < n) { /* only now look at the line that thieves write */
        q->top_seen = atomic_load_explicit(&q->top, memory_order_acquire); /* A1 */
        room = q->mask + 1 - (bottom - q->top_seen);
    }
    if (n > room)
        n = (size_t)room;
    if (n == 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        assert(items[i] != NULL);
        /* relaxed: R0 publishes it. */
        atomic_store_explicit(&q->slot[(bottom + i) & q->mask], items[i], memory_order_relaxed);
    }
    atomic_store_explicit(&q->bottom, bottom + n, memory_order_release); /* R0 */
    return n;
}

/* Owner only.  False: full, the item stays with the caller. */
static inline bool tn_spmc_lifo_push(struct tn_spmc_lifo *q, void *item)
{
    return tn_spmc_lifo_push_n(q, 1, &item) == 1;
}

/* Owner only.  The newest; NULL when empty. */
static inline void *tn_spmc_lifo_pop(struct tn_spmc_lifo *q)
{
    uint64_t bottom = atomic_load_explicit(&q->bottom, memory_order_relaxed); /* relaxed: the owner's own word */
    uint64_t top;
    void *item;

    /* Spares an idle owner the exchange, and keeps bottom - 1 from going below 0.  relaxed: a top that is out of date
     * is too low, and S1 sees the true one. */
    if (atomic_load_explicit(&q->top, memory_order_relaxed) == bottom)
        return NULL;
    bottom--;
    (void)atomic_exchange_explicit(&q->bottom, bottom, memory_order_seq_cst); /* S0 R0 */
    top = atomic_load_explicit(&q->top, memory_order_seq_cst);                /* S1 A1 */
    /* relaxed: the owner wrote it itself. */
    item = atomic_load_explicit(&q->slot[bottom & q->mask], memory_order_relaxed);
    if (top < bottom) {
        q->top_seen = top;
        return item;
    }
    /* The last item, or none: either way the deque is empty afterwards, with top == bottom + 1. */
    if (top > bottom ||
        !atomic_compare_exchange_strong_explicit(&q->top, &top, top + 1, memory_order_seq_cst, /* S4 R1 */
                                                 memory_order_relaxed))                        /* relaxed: gives up */
        item = NULL;
    atomic_store_explicit(&q->bottom, bottom + 1, memory_order_release); /* R0 */
    return item;
}

/* Anyone but the owner.  Takes up to min(max, half of all, rounded up), one by one, into out[], oldest first; stops at
 * the first race that it loses; returns how many. */
static inline size_t tn_spmc_lifo_steal(struct tn_spmc_lifo *q, size_t max, void *out[])
{
    uint64_t top = atomic_load_explicit(&q->top, memory_order_seq_cst); /* S2 */
    size_t n = 0;

    while (n < max) {
        uint64_t bottom = atomic_load_explicit(&q->bottom, memory_order_seq_cst); /* S3 A0 */
        if ((int64_t)(bottom - top) <= 0)
            break;
        if (n == 0 && max > (bottom - top) - (bottom - top) / 2)
            max = (size_t)((bottom - top) - (bottom - top) / 2);
        /* relaxed: A0 saw it written, or it is a later one and the CAS fails. */
        out[n] = atomic_load_explicit(&q->slot[top & q->mask], memory_order_relaxed);
        if (!atomic_compare_exchange_strong_explicit(&q->top, &top, top + 1, memory_order_seq_cst, /* S4 R1 */
                                                     memory_order_relaxed)) /* relaxed: gives up */
            break;
        top++; /* which this thief has just stored, by a seq_cst access: as good as another S2 */
        n++;
    }
    return n;
}

/* Anyone.  Exact while nobody is in an operation. */
static inline size_t tn_spmc_lifo_length(struct tn_spmc_lifo *q)
{
    uint64_t top = atomic_load_explicit(&q->top, memory_order_acquire);           /* A2 */
    uint64_t size = atomic_load_explicit(&q->bottom, memory_order_relaxed) - top; /* relaxed: no slot is read */

    if ((int64_t)size <= 0)
        return 0;
    return size > q->mask ? tn_spmc_lifo_capacity(q) : (size_t)size;
}

/* For tests, by the owner outside of its operations; thieves may be at work. */
static inline bool tn_spmc_lifo_valid(struct tn_spmc_lifo *q)
{
    uint64_t bottom = atomic_load_explicit(&q->bottom, memory_order_relaxed); /* relaxed: the owner's own word */
    uint64_t top = atomic_load_explicit(&q->top, memory_order_acquire);       /* A1 */

    if (bottom - top > q->mask + 1 || q->top_seen > top)
        return false;
    for (uint64_t i = top; i != bottom; i++) /* relaxed: the owner wrote them itself */
        if (atomic_load_explicit(&q->slot[i & q->mask], memory_order_relaxed) == NULL)
            return false;
    return true;
}

#endif
