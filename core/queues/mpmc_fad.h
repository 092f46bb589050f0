/* SPDX-License-Identifier: MIT */
/*
 * A bounded ring for many producers and many consumers without a CAS: fetch-and-adds only.
 *
 * The other yardstick for mpmc_ring.h (003 §5.1, row M5.1).  A fetch-and-add never fails, so nobody ever works in vain;
 * but a ticket cannot be given back, so one may be drawn only by who is sure of its use, and who has drawn one may have
 * to wait for the thread that has the slot.
 *
 * Sure of its use: `items` and `room` are stores of permits.  A pop takes a permit from items, which a push put there
 * when it was done, then a ticket, then the slot's item; then it puts a permit into room, where pushes take theirs.
 *
 * Each slot says whose turn it is, as in mpmc_cas.h: t, index t may be pushed here; t + 1, index t's item is here.
 *
 * Invariants:
 *   1. Permits taken from items (and kept) <= pushes done; so a pop's ticket is below tail, and the push with the same
 *      ticket is done or in progress: the wait for the slot's turn is for a thread within its operation.  The same for
 *      room: permits kept <= capacity + pops done.
 *   2. A slot is the ticket's holder's from the turn that the holder waits for to the one that it stores.
 *   3. A permit that was taken where there was none goes back.  While it is out, the store looks emptier than it is to
 *      others, who then give up as well.  Of those, the one who puts back last sees that there is one (the value that
 *      its fetch-and-add finds is not negative), and tries again.  So of the pops that return NULL past an item, the
 *      last one does not: what mpmc_ring.h, 4, promises.  The same for push and room.
 *
 * Not lock-free: a thread that is interrupted between its ticket and the slot's turn holds up who comes a lap later, or
 * wants its item.
 *
 * Order: tickets are first come, first served: FIFO while operations do not overlap.
 *
 * Pairs:  R0 push passes the slot on -> A0 pop takes it over: the item.
 *         R1 pop gives the slot back -> A1 push takes it over: the pop's read is done.
 */
#ifndef TN_QUEUES_MPMC_FAD_H
#define TN_QUEUES_MPMC_FAD_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link.h"
#include "spin.h"

struct tn_mpmc_fad_slot {
    _Atomic(uint64_t) turn;
    void *item;
};

struct tn_mpmc_fad {
    _Alignas(TN_CACHE_LINE) uint64_t mask;          /* capacity - 1; set by init */
    _Alignas(TN_CACHE_LINE) _Atomic(int64_t) items; /* permits to pop; written by all */
    _Alignas(TN_CACHE_LINE) _Atomic(int64_t) room;  /* permits to push; written by all */
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) head; /* next consumer's ticket */
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) tail; /* next producer's ticket */
    _Alignas(TN_CACHE_LINE) struct tn_mpmc_fad_slot slot[];
};

/* What the caller must supply, aligned to TN_CACHE_LINE. */
static inline size_t tn_mpmc_fad_bytes(size_t capacity)
{
    size_t bytes = sizeof(struct tn_mpmc_fad) + (capacity < 2 ? 2 : capacity) * sizeof(struct tn_mpmc_fad_slot);

    return (bytes + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE;
}

/* capacity: a power of two, 2 at least (the turns of one slot would coincide). */
static inline void tn_mpmc_fad_init(struct tn_mpmc_fad *q, size_t capacity)
{
    assert(capacity > 1 && (capacity & (capacity - 1)) == 0 && (uintptr_t)q % TN_CACHE_LINE == 0);
    q->mask = capacity - 1;
    atomic_init(&q->items, INT64_C(0));
    atomic_init(&q->room, (int64_t)capacity);
    atomic_init(&q->head, UINT64_C(0));
    atomic_init(&q->tail, UINT64_C(0));
    for (size_t s = 0; s < capacity; s++) {
        atomic_init(&q->slot[s].turn, (uint64_t)s);
        q->slot[s].item = NULL;
    }
}

static inline size_t tn_mpmc_fad_capacity(const struct tn_mpmc_fad *q)
{
    return (size_t)q->mask + 1;
}

/* Invariant 3.  relaxed, all of it: permits are numbers, and each store is one word, whose changes are in one order; what
 * a permit stands for is taken over by way of the slot's turn. */
static inline bool tn_mpmc_fad_permit(_Atomic(int64_t) *permits)
{
    if (atomic_load_explicit(permits, memory_order_relaxed) <= 0) /* relaxed: as above */
        return false;
    while (atomic_fetch_sub_explicit(permits, 1, memory_order_relaxed) <= 0) /* relaxed: as above */
        if (atomic_fetch_add_explicit(permits, 1, memory_order_relaxed) < 0) /* relaxed: as above */
            return false;
    return true;
}

/* Any thread; item is not NULL.  False: full, the item stays with the caller. */
static inline bool tn_mpmc_fad_push(struct tn_mpmc_fad *q, void *item)
{
    unsigned spins = 0;

    assert(item != NULL);
    if (!tn_mpmc_fad_permit(&q->room))
        return false;
    uint64_t ticket = atomic_fetch_add_explicit(&q->tail, 1, memory_order_relaxed); /* relaxed: a number (2) */
    struct tn_mpmc_fad_slot *slot = &q->slot[ticket & q->mask];
    while (atomic_load_explicit(&slot->turn, memory_order_acquire) != ticket) /* A1 */
        tn_spin_wait(&spins);
    slot->item = item;
    atomic_store_explicit(&slot->turn, ticket + 1, memory_order_release); /* R0 */
    (void)atomic_fetch_add_explicit(&q->items, 1, memory_order_relaxed);  /* relaxed: a permit, see there */
    return true;
}

/* Any thread.  NULL: empty, in the sense of invariant 3. */
static inline void *tn_mpmc_fad_pop(struct tn_mpmc_fad *q)
{
    unsigned spins = 0;

    if (!tn_mpmc_fad_permit(&q->items))
        return NULL;
    uint64_t ticket = atomic_fetch_add_explicit(&q->head, 1, memory_order_relaxed); /* relaxed: a number (2) */
    struct tn_mpmc_fad_slot *slot = &q->slot[ticket & q->mask];
    while (atomic_load_explicit(&slot->turn, memory_order_acquire) != ticket + 1) /* A0 */
        tn_spin_wait(&spins);
    void *item = slot->item;
    atomic_store_explicit(&slot->turn, ticket + q->mask + 1, memory_order_release); /* R1 */
    (void)atomic_fetch_add_explicit(&q->room, 1, memory_order_relaxed);             /* relaxed: a permit */
    return item;
}

/* Anyone; exact while nobody is in an operation.  A pop in progress may make it look emptier, see 3. */
static inline size_t tn_mpmc_fad_length(struct tn_mpmc_fad *q)
{
    int64_t n = atomic_load_explicit(&q->items, memory_order_relaxed); /* relaxed: a number */

    return n <= 0 ? 0 : n > (int64_t)q->mask ? tn_mpmc_fad_capacity(q) : (size_t)n;
}

/* For tests, when no operation is in progress: permits and turns are what the tickets say. */
static inline bool tn_mpmc_fad_valid(struct tn_mpmc_fad *q)
{
    /* relaxed, all: nobody else is here, and the caller has joined or met those who were. */
    uint64_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
    int64_t items = atomic_load_explicit(&q->items, memory_order_relaxed);
    int64_t room = atomic_load_explicit(&q->room, memory_order_relaxed);

    if (items != (int64_t)(tail - head) || items + room != (int64_t)q->mask + 1 || items < 0 || room < 0)
        return false;
    for (uint64_t i = head; i != head + q->mask + 1; i++)
        if (atomic_load_explicit(&q->slot[i & q->mask].turn, memory_order_relaxed) != i + (i - head < tail - head))
            return false;
    return true;
}

#endif
