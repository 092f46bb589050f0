/* SPDX-License-Identifier: MIT */
/*
 * A bounded ring for many producers and many consumers: a fetch-and-add on an index and a CAS on a slot an operation.
 *
 * Contention is settled by the fetch-and-add, which always succeeds and hands out *tickets*; ticket k belongs to slot
 * k mod capacity.  The CAS then nearly always succeeds, since those who meet at one slot are a whole lap apart.
 * Neither operation ever waits for a thread that has been interrupted half-way, save in the case named at *Limit*.
 *
 * The hard part is a ticket that cannot be used: a consumer's slot has nothing in it yet, or a producer's slot is
 * still taken.  Setting the index back by CAS works only for the newest ticket.  An older one must be spent, or a
 * later item would lie at an index that consumers have passed already.  So each slot keeps a *balance*:
 *
 *     balance(s) = producers' tickets spent on s  -  consumers' tickets spent on s
 *
 *     word in slot    balance   meaning
 *     EMPTY + 2b      b < 0     nothing here, and the next -b producers' tickets are void: consumers gave up on them
 *     EMPTY           0         nothing here
 *     EMPTY + 2b      b > 0     nothing here, and the next b consumers' tickets are void: producers gave up on them
 *     item + 2c       1 + c     an item, and c producers gave up on this slot after it came (c <= 3)
 *
 * EMPTY is odd, items are multiples of 8.  Each transition is one CAS from a word that says all there is to know about
 * the slot, so a word that went away and came back (ABA) is as good as one that stayed.
 *
 * Invariants:
 *   1. The producers' tickets spent, or held by an operation in progress, are exactly 0 ... tail-1, each once; the
 *      consumers' likewise below head.  A fetch-and-add adds ticket x as the index goes x -> x+1; the rollback CAS
 *      x+1 -> x is done by the holder of x.  (The index may have gone up and down in between: no matter.)
 *   2. A producer's spent ticket adds 1 to its slot's balance, a consumer's takes 1 away.  An item is put where the
 *      balance was 0, and leaves by a consumer's CAS: it is never overwritten, nor taken twice.
 *   3. When no operation is in progress, by 1 and 2, balance(s) = (tickets of s below tail) - (those below head): the
 *      items lie in [head, tail), and if head >= tail there are none.  No item is stranded.  This is what
 *      tn_mpmc_valid() checks.
 *   4. pop returns NULL only after it found no slot of [head, tail) with an item, or gave its ticket back and *then*
 *      found its slot still without one.  Let the push of y, into slot s, have happened before a pop that finds
 *      nothing.  Its tail has passed all tickets spent on s up to then.  If y is still there, then s is in [head, tail)
 *      and y is found, or a consumer's ticket for s is held: another pop is in progress there.  It takes y, or spends
 *      its ticket on a later state of s, or gives it back and looks again.  So of the pops that return NULL past an
 *      item, the last one does not: the item is not left behind while everybody goes to sleep.  The look after the
 *      rollback must not be done early, nor the other's read of head late: a store-load pattern, hence S0 ... S3.
 *      A push that only runs at the same time may be missed; locked.h, 3, says what that means to who goes to sleep.
 *   5. push returns false only when tail - head >= capacity, by its own reading, or when `capacity` tickets in a row
 *      were of no use to it.  Items, void tickets and tickets in progress all count, so under contention it may be
 *      early; the caller still has the item.  With nobody else in an operation, a ring that has been popped until NULL
 *      takes exactly `capacity` items.
 *   6. No two operations can make each other try again for ever.  A pop spends a ticket in vain, at a producer's
 *      expense, only after it saw an item, or a void ticket to be cleared away, which it or another pop comes to
 *      within a lap.  Without that look, one consumer could run ahead of two producers, voiding each one's ticket
 *      just before it is used.  A push counts its failures (5).
 *
 * Order: tickets are first come, first served, and an item goes to the pop with its ticket, unless an operation stood
 * still at a slot while the others went round the whole ring: then two items of that slot may change places, that is,
 * overtake by a lap.  So: strict FIFO while operations do not overlap; overlapping ones relax it.
 *
 * Limit: c <= 3.  A producer that finds 3 waits (it cannot give up its ticket).  That takes more than two threads per
 * slot in the ring at once, or three consumers interrupted at one slot, laps apart.  Take capacity >= threads / 2.
 * Indices have 64 bits and are not reused: at 10^9 operations a second they last for 292 years of signed differences.
 *
 * Pairs:  R0 push puts an item  ->  A0 pop takes it: what is in the item.  R1 every other change of a slot -> A1 the
 *         next change: whoever sees a slot's word also sees the indices that led to it (for 4).  S0 ... S3 are seq_cst
 *         for 4: S0 push's CAS, S1 pop's read of head, S2 its rollback, S3 its second look.
 */
#ifndef TN_QUEUES_MPMC_RING_H
#define TN_QUEUES_MPMC_RING_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link.h"
#include "spin.h"

#define TN_MPMC_EMPTY   ((UINT64_C(1) << 33) | 1U) /* the middle of the range: debts below it, voids above it */
#define TN_MPMC_UNIT    UINT64_C(2)                /* one ticket, in either kind of word */
#define TN_MPMC_CREDITS UINT64_C(6)                /* where an item's c is: 3 units */

static_assert((TN_MPMC_EMPTY & 7) == 1 && (TN_MPMC_EMPTY & TN_MPMC_UNIT) == 0, "odd, and no marks");
static_assert(TN_MPMC_CREDITS % TN_MPMC_UNIT == 0 && TN_MPMC_CREDITS < 8, "c lies in an item's free bits");
static_assert(sizeof(uintptr_t) <= sizeof(uint64_t), "an item fits in a slot");

struct tn_mpmc_ring {
    _Alignas(TN_CACHE_LINE) uint64_t mask;            /* capacity - 1; set by init */
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) head;   /* next consumer's ticket; written by consumers */
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) tail;   /* next producer's ticket; written by producers */
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) slot[]; /* written by both */
};

static_assert(offsetof(struct tn_mpmc_ring, tail) - offsetof(struct tn_mpmc_ring, head) == TN_CACHE_LINE,
              "producers and consumers do not share a line by accident");

/* What the caller must supply, aligned to TN_CACHE_LINE. */
static inline size_t tn_mpmc_bytes(size_t capacity)
{
    size_t bytes = sizeof(struct tn_mpmc_ring) + capacity * sizeof(uint64_t);

    return (bytes + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE;
}

static inline void tn_mpmc_init(struct tn_mpmc_ring *q, size_t capacity)
{
    assert(capacity > 0 && (capacity & (capacity - 1)) == 0 && (uintptr_t)q % TN_CACHE_LINE == 0);
    q->mask = capacity - 1;
    atomic_init(&q->head, UINT64_C(0));
    atomic_init(&q->tail, UINT64_C(0));
    for (size_t s = 0; s < capacity; s++)
        atomic_init(&q->slot[s], TN_MPMC_EMPTY);
}

static inline size_t tn_mpmc_capacity(const struct tn_mpmc_ring *q)
{
    return (size_t)q->mask + 1;
}

/* Whether the balance is above 0: a consumer's next ticket finds an item here, or a void ticket to clear away. */
static inline bool tn_mpmc_waits(uint64_t word)
{
    return (word & 1) == 0 || word > TN_MPMC_EMPTY;
}

/* Any thread; `item` is a multiple of 8 and not NULL.  False: full, the item stays with the caller. */
static inline bool tn_mpmc_push(struct tn_mpmc_ring *q, void *item)
{
    uint64_t const mine = (uint64_t)(uintptr_t)item;
    uint64_t misses = 0;
    unsigned spins = 0;

    assert(mine != 0 && (mine & 7) == 0);
    for (;;) {
        /* relaxed, all uses of indices by push: 1 needs only that they change atomically; what a ticket's holder may
         * do is decided by the word in the slot. */
        uint64_t ticket = atomic_load_explicit(&q->tail, memory_order_relaxed);
        if ((int64_t)(ticket - atomic_load_explicit(&q->head, memory_order_relaxed)) > (int64_t)q->mask)
            return false;
        ticket = atomic_fetch_add_explicit(&q->tail, 1, memory_order_relaxed);
        _Atomic(uint64_t) *slot = &q->slot[ticket & q->mask];
        uint64_t word = atomic_load_explicit(slot, memory_order_relaxed); /* relaxed: the CAS confirms it */

        for (;;) {
            if (word == TN_MPMC_EMPTY) {
                if (atomic_compare_exchange_strong_explicit(slot, &word, mine, memory_order_seq_cst, /* R0 A1 S0 */
                                                            memory_order_relaxed)) /* relaxed: only tries again */
                    return true;
                continue;
            }
            bool full = false;
            if (tn_mpmc_waits(word)) { /* an earlier ticket of this slot is still to be popped */
                full = misses == q->mask ||
                       (int64_t)(ticket - atomic_load_explicit(&q->head, memory_order_relaxed)) > (int64_t)q->mask;
                uint64_t newest = ticket + 1;
                if (full && atomic_compare_exchange_strong_explicit(&q->tail, &newest, ticket, memory_order_relaxed,
                                                                    memory_order_relaxed)) /* relaxed: as above */
                    return false;
                if ((word & 1) == 0 && (word & TN_MPMC_CREDITS) == TN_MPMC_CREDITS) { /* see Limit */
                    tn_spin_wait(&spins);
                    word = atomic_load_explicit(slot, memory_order_relaxed); /* relaxed: the CAS confirms it */
                    continue;
                }
            }
            /* Spend the ticket.  Not full: a consumer gave up on it, or stands still here; the next one will do. */
            if (atomic_compare_exchange_strong_explicit(slot, &word, word + TN_MPMC_UNIT,
                                                        memory_order_acq_rel,    /* R1 A1 */
                                                        memory_order_relaxed)) { /* relaxed: only tries again */
                if (full)
                    return false;
                misses += tn_mpmc_waits(word);
                break;
            }
        }
    }
}

/* Any thread.  NULL: empty, in the sense of invariant 4. */
static inline void *tn_mpmc_pop(struct tn_mpmc_ring *q)
{
    for (;;) {
        uint64_t ticket = atomic_load_explicit(&q->head, memory_order_seq_cst); /* S1 */
        /* relaxed, also the slots: S1 keeps them behind the read of head, and what happened before this pop is seen by
         * coherence.  Most often the first slot has an item; else a producer is late, and there may be one behind. */
        uint64_t size = atomic_load_explicit(&q->tail, memory_order_relaxed) - ticket, i = 0;
        if (size > q->mask + 1)
            size = (int64_t)size < 0 ? 0 : q->mask + 1;
        while (i < size &&
               !tn_mpmc_waits(atomic_load_explicit(&q->slot[(ticket + i) & q->mask], memory_order_relaxed)))
            i++;
        if (i == size)
            return NULL;
        ticket = atomic_fetch_add_explicit(&q->head, 1, memory_order_relaxed); /* relaxed: as in push */
        _Atomic(uint64_t) *slot = &q->slot[ticket & q->mask];
        uint64_t word = atomic_load_explicit(slot, memory_order_relaxed); /* relaxed: the CAS confirms it */

        for (;;) {
            if ((word & 1) == 0) { /* an item; c producers' tickets stay void for as many consumers to come */
                if (atomic_compare_exchange_strong_explicit(slot, &word, TN_MPMC_EMPTY + (word & TN_MPMC_CREDITS),
                                                            memory_order_acq_rel,  /* R1 A0 A1 */
                                                            memory_order_relaxed)) /* relaxed: only tries again */
                    return (void *)(uintptr_t)(word & ~UINT64_C(7));
                continue;
            }
            /* Nothing, and no ticket after this one: other consumers took what there was.  To give the ticket back,
             * rather than to spend it, leaves the next producer undisturbed.  relaxed: a tail that has moved on
             * meanwhile belongs to pushes that this pop may miss. */
            if (!tn_mpmc_waits(word) &&
                (int64_t)(atomic_load_explicit(&q->tail, memory_order_relaxed) - ticket) <= 1) {
                uint64_t newest = ticket + 1;
                if (atomic_compare_exchange_strong_explicit(&q->head, &newest, ticket, memory_order_seq_cst, /* S2 */
                                                            memory_order_relaxed)) { /* relaxed: then spends it */
                    if ((atomic_load_explicit(slot, memory_order_seq_cst) & 1) != 0) /* S3 */
                        return NULL;
                    break;
                }
            }
            if (atomic_compare_exchange_strong_explicit(slot, &word, word - TN_MPMC_UNIT,
                                                        memory_order_acq_rel,  /* R1 A1 */
                                                        memory_order_relaxed)) /* relaxed: only tries again */
                break;
        }
    }
}

/* Anyone; approximate while others work: counts voided tickets and those in progress too, so it may be high. */
static inline size_t tn_mpmc_length(struct tn_mpmc_ring *q)
{
    /* S1, so that 4 holds for this look as well: 0 here says as much as a NULL. */
    uint64_t head = atomic_load_explicit(&q->head, memory_order_seq_cst);                    /* S1 */
    int64_t length = (int64_t)(atomic_load_explicit(&q->tail, memory_order_relaxed) - head); /* relaxed: as in pop */

    return length <= 0 ? 0 : length > (int64_t)q->mask ? tn_mpmc_capacity(q) : (size_t)length;
}

/* For tests, when no operation is in progress: invariant 3, slot by slot. */
static inline bool tn_mpmc_valid(struct tn_mpmc_ring *q)
{
    /* relaxed, all three: nobody else is here, and the caller has joined or met those who were. */
    uint64_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

    for (uint64_t s = 0; s <= q->mask; s++) {
        uint64_t word = atomic_load_explicit(&q->slot[s], memory_order_relaxed);
        uint64_t spent = (tail + q->mask - s) / (q->mask + 1) - (head + q->mask - s) / (q->mask + 1);
        uint64_t balance = (word & 1) != 0 ? (word - TN_MPMC_EMPTY) / 2 : 1 + (word & TN_MPMC_CREDITS) / 2;

        if ((word & 1) != 0 && word < TN_MPMC_EMPTY)
            balance = 0 - (TN_MPMC_EMPTY - word) / 2;
        if (balance != spent || (word & ~UINT64_C(7)) == 0)
            return false;
    }
    return true;
}

#endif
