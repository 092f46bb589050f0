/* SPDX-License-Identifier: MIT */
/*
 * A bounded FIFO with one owner, who pushes at the tail and pops at the head; thieves take up to half from the head.
 *
 * The owner pops by a fetch-and-add on head, thieves by a CAS on it.  A fetch-and-add cannot fail, a CAS between whose
 * load and store the owner popped does: by design, thieves lose the race against local dequeues.  The price is that
 * the owner may overshoot: when thieves took the last items after it looked, its fetch-and-add leaves head at
 * tail + 1.  It owns that state, and sets head back before it does anything else.
 *
 * Invariants:
 *   1. tail never decreases, and is written by the owner only.  head is changed by the owner's fetch-and-add h -> h+1,
 *      by its repair tail+1 -> tail, and by a thief's CAS h -> h+n, where h+n <= tail.
 *   2. Outside of the owner's pop, 0 <= tail - head <= capacity; inside, head may be tail + 1.  In that state head is
 *      the owner's: a thief's CAS from tail+1 would need a tail that has been published after the repair.  Hence the
 *      repair may be a plain store.
 *   3. Index i's item is in slot i mod capacity from before tail passed i (R0) until head passed i.  push reuses the
 *      slot, for index i + capacity, only after it read a head above i that is not an overshoot.  From there head
 *      never comes back to i or below: the repair, the only step down, ends at tail.
 *   4. So a thief that read slots h ... h+n-1 below a tail that it saw, and whose CAS then finds head == h, has read
 *      those indices' items: by 3 none of the slots had been reused.  That its *reads* are done before the reuse is
 *      pair R1 -> A1.  That head went up and down to h again meanwhile (ABA, through an overshoot) is harmless: head
 *      == h and what was read below tail are all that the claim rests on.
 *      A thief whose CAS fails may have read anything, and hands out nothing.
 *   5. Every index below tail is claimed once: claims are the changes of head from h to h+n, a totally ordered
 *      sequence whose intervals do not overlap; the owner's claim of an index that is not below tail is void.
 *
 * Order: strict FIFO by the order of claims: items are claimed in the order in which they were pushed, by whomever.
 *
 * steal makes one attempt.  0 says *empty, or lost the race*, and only length() tells which: a thief that goes to
 * sleep on a lost race would leave work behind.  length() == 0 is reliable: an item whose push happened before the
 * call has been claimed (it reads head first, and 1 and 2 hold for what it then reads of tail).
 *
 * Pairs:  R0 push publishes tail          -> A0 steal reads tail: slots and items below it.
 *         R1 a thief's CAS on head        -> A1 the owner reads head: the thief's reads of the slots are done.
 *         R2 any change of head           -> A2 anyone else reads head, and tail after it: a tail at least as new, so
 *                                            that the queue never looks emptier than it was at some moment.
 *         (Other read-modify-writes of head in between continue R1's release sequence, so A1 meets every earlier
 *         thief.  The repair's plain store would break it, but then the owner's own fetch-and-add was A1.)
 * The owner's claims and the thieves' are changes of one word, so nothing here needs seq_cst.
 */
#ifndef TN_QUEUES_SPMC_FIFO_H
#define TN_QUEUES_SPMC_FIFO_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link.h"

struct tn_spmc_fifo {
    /* Written by the owner at every push; read by thieves.  mask is set by init. */
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) tail;
    uint64_t mask;      /* capacity - 1 */
    uint64_t head_seen; /* owner only: a head that was not an overshoot, so at most the present one */
    /* Written by the owner's pops and by thieves. */
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) head;
    /* Written by the owner; atomic because a thief may read a slot that is being reused, and then throws it away. */
    _Alignas(TN_CACHE_LINE) _Atomic(void *) slot[];
};

static_assert(offsetof(struct tn_spmc_fifo, head) - offsetof(struct tn_spmc_fifo, tail) == TN_CACHE_LINE,
              "a thief's CAS does not take away the line that the owner pushes through");

/* What the caller must supply, aligned to TN_CACHE_LINE. */
static inline size_t tn_spmc_fifo_bytes(size_t capacity)
{
    size_t bytes = sizeof(struct tn_spmc_fifo) + capacity * sizeof(void *);

    return (bytes + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE;
}

static inline void tn_spmc_fifo_init(struct tn_spmc_fifo *q, size_t capacity)
{
    assert(capacity > 0 && (capacity & (capacity - 1)) == 0 && (uintptr_t)q % TN_CACHE_LINE == 0);
    q->mask = capacity - 1;
    q->head_seen = 0;
    atomic_init(&q->tail, UINT64_C(0));
    atomic_init(&q->head, UINT64_C(0));
    for (size_t s = 0; s < capacity; s++)
        atomic_init(&q->slot[s], (void *)NULL);
}

static inline size_t tn_spmc_fifo_capacity(const struct tn_spmc_fifo *q)
{
    return (size_t)q->mask + 1;
}

/* Owner only.  Pushes the first of items[0 ... n-1] that there is room for, in order, published together; returns how
 * many. */
static inline size_t tn_spmc_fifo_push_n(struct tn_spmc_fifo *q, size_t n, void *const items[])
{
    uint64_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed); /* relaxed: the owner's own word */
    uint64_t room = q->mask + 1 - (tail - q->head_seen);

    if (room < n) { /* only now look at the line that thieves write */
        q->head_seen = atomic_load_explicit(&q->head, memory_order_acquire); /* A1 */
        room = q->mask + 1 - (tail - q->head_seen);
    }
    if (n > room)
        n = (size_t)room;
    if (n == 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        assert(items[i] != NULL);
        /* relaxed: R0 publishes it. */
        atomic_store_explicit(&q->slot[(tail + i) & q->mask], items[i], memory_order_relaxed);
    }
    atomic_store_explicit(&q->tail, tail + n, memory_order_release); /* R0 */
    return n;
}

/* Owner only.  False: full, the item stays with the caller. */
static inline bool tn_spmc_fifo_push(struct tn_spmc_fifo *q, void *item)
{
    return tn_spmc_fifo_push_n(q, 1, &item) == 1;
}

/* Owner only.  The oldest; NULL when empty. */
static inline void *tn_spmc_fifo_pop(struct tn_spmc_fifo *q)
{
    uint64_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed); /* relaxed: the owner's own word */

    /* Spares an idle owner the fetch-and-add and the repair.  relaxed: a head that is out of date is too low, and the
     * fetch-and-add sees the true one. */
    if (atomic_load_explicit(&q->head, memory_order_relaxed) == tail)
        return NULL;
    uint64_t head = atomic_fetch_add_explicit(&q->head, 1, memory_order_acq_rel); /* A1 R2 */
    if (head == tail) {                                              /* overshot: thieves took the rest meanwhile */
        atomic_store_explicit(&q->head, tail, memory_order_release); /* R2 */
        q->head_seen = tail;
        return NULL;
    }
    q->head_seen = head + 1;
    /* relaxed: the owner wrote it itself. */
    return atomic_load_explicit(&q->slot[head & q->mask], memory_order_relaxed);
}

/* Anyone but the owner.  One attempt to take the oldest min(max, half of all, rounded up) into out[], oldest first;
 * returns how many: 0 when empty, and when the owner or another thief came first. */
static inline size_t tn_spmc_fifo_steal(struct tn_spmc_fifo *q, size_t max, void *out[])
{
    uint64_t head = atomic_load_explicit(&q->head, memory_order_acquire); /* A2 */
    uint64_t tail = atomic_load_explicit(&q->tail, memory_order_acquire); /* A0 */
    uint64_t size = tail - head;

    /* Empty; or an overshoot (size is -1); or head is out of date by a lap, and the CAS would fail. */
    if (size == 0 || size > q->mask + 1)
        return 0;
    uint64_t n = size - size / 2;
    if (n > max)
        n = max;
    if (n == 0)
        return 0;
    for (uint64_t i = 0; i < n; i++) /* relaxed: A0 saw them written, or they are new and the CAS fails (4) */
        out[i] = atomic_load_explicit(&q->slot[(head + i) & q->mask], memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&q->head, &head, head + n, memory_order_release, /* R1 R2 */
                                                 memory_order_relaxed)) /* relaxed: gives up */
        return 0;
    return (size_t)n;
}

/* Anyone.  Exact while nobody is in an operation; 0 is reliable, see above. */
static inline size_t tn_spmc_fifo_length(struct tn_spmc_fifo *q)
{
    uint64_t head = atomic_load_explicit(&q->head, memory_order_acquire);        /* A2 */
    uint64_t size = atomic_load_explicit(&q->tail, memory_order_relaxed) - head; /* relaxed: no slot is read */

    if ((int64_t)size <= 0)
        return 0;
    return size > q->mask ? tn_spmc_fifo_capacity(q) : (size_t)size;
}

/* For tests, by the owner outside of its operations; thieves may be at work. */
static inline bool tn_spmc_fifo_valid(struct tn_spmc_fifo *q)
{
    uint64_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed); /* relaxed: the owner's own word */
    uint64_t head = atomic_load_explicit(&q->head, memory_order_acquire); /* A1 */

    if (tail - head > q->mask + 1 || q->head_seen > head)
        return false;
    for (uint64_t i = head; i != tail; i++) /* relaxed: the owner wrote them itself */
        if (atomic_load_explicit(&q->slot[i & q->mask], memory_order_relaxed) == NULL)
            return false;
    return true;
}

#endif
