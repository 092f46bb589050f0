/* SPDX-License-Identifier: MIT */
/*
 * A bounded deque with one owner, who pushes at the top and pops at either end, and who turns the whole of it upside
 * down by one change of one bit; thieves take up to half from the bottom.
 *
 * All that can change is in one word, and every operation is one successful change of that word:
 *
 *     low    the slot of the item at the lower end of the ring
 *     count  how many items there are, from `low` upwards
 *     down   which end is the top: 0, the upper one; 1, the lower one
 *     tag    how many pushes there have been, modulo 2^32
 *
 * So reversing moves nothing: items stay where they are, and the ends change their names.  Nor does it stop anybody.  A
 * thief that looked before and claims afterwards fails, since the word is another one, and knows that it must look again.
 *
 * Invariants:
 *   1. Every change of the word is a CAS (or, for `down` alone, an exclusive or) made from the word that it replaces.  The
 *      owner makes all that add items or turn; thieves, and the owner's pops, only take away from an end.
 *   2. The item in place i (from `low`, i < count) is in slot (low + i) mod capacity from before the change that made it
 *      part of the deque (R0) until the one that takes it away.
 *   3. push writes the slot beyond the top.  Thieves take from the bottom, which does not move the top: the slot that was
 *      free when the owner looked is free, and beyond the top, until its CAS succeeds, however many thieves come first.
 *   4. Between two equal words nothing has happened but turns.  If no item was pushed in between, `count` can only have
 *      gone down, and it is the same; so nothing was taken either.  If items were pushed, `tag` differs (but see Limit).
 *      Hence a thief that reads the word, then slots at the bottom, and whose CAS then finds that word, has read the items
 *      that it claims: no slot of the deque is written while the deque stays as it is.  A thief whose CAS fails may have
 *      read anything, and hands out nothing.
 *   5. Every item is claimed once: claims are changes of the word that lower `count`, which are totally ordered.
 *
 * Order: to the owner it is a stack with pop, a queue with pop_bottom; thieves take in the order of pop_bottom.
 *
 * steal makes one attempt.  0 says *empty, or lost the race*, and only length() tells which.  length() == 0 is reliable:
 * it is read from the one word, so that an item whose push happened before the call has been claimed.
 *
 * Limit: `tag` comes round after 2^32 pushes.  A thief would have to stand still between its look and its CAS for exactly
 * that many pushes, minutes at least, and to find the same places taken.  capacity <= 2^15, for the sake of the tag.
 *
 * Pairs:  R0 push's CAS            -> A0 steal reads the word: slots and items.
 *         R1 a thief's CAS         -> A1 the owner reads the word before it writes a slot: the thief's reads are done.
 *         All other changes are read-modify-writes too, and so continue the release sequences of R0 and R1; nothing in
 *         them is ordered before or after the change itself, hence relaxed.  One word decides: nothing needs seq_cst.
 */
#ifndef TN_QUEUES_SPMC_DEQUE_H
#define TN_QUEUES_SPMC_DEQUE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link.h"

struct tn_spmc_deque {
    /* Written by the owner at every operation, and by thieves. */
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) word;
    /* Written by the owner; atomic because a thief may read a slot that is being reused, and then throws it away.  mask is
     * set by init. */
    _Alignas(TN_CACHE_LINE) uint64_t mask; /* capacity - 1 */
    _Atomic(void *) slot[];
};

enum { TN_SPMC_DEQUE_MAX = 1 << 15 };

/* The word's fields: count in the lowest 16 bits, then low (15), down (1), tag (32). */
#define TN_DEQUE_COUNT(w) ((w)&0xffff)
#define TN_DEQUE_LOW(w)   ((w) >> 16 & 0x7fff)
#define TN_DEQUE_DOWN     (UINT64_C(1) << 31)
#define TN_DEQUE_TAG      (UINT64_C(1) << 32)

/* The word `w` with another count and low; the rest stays. */
static inline uint64_t tn_spmc_deque_word_(const struct tn_spmc_deque *q, uint64_t w, uint64_t low, uint64_t count)
{
    return (w & ~UINT64_C(0x7fffffff)) | (low & q->mask) << 16 | count;
}

/* What the caller must supply, aligned to TN_CACHE_LINE. */
static inline size_t tn_spmc_deque_bytes(size_t capacity)
{
    size_t bytes = sizeof(struct tn_spmc_deque) + capacity * sizeof(void *);

    return (bytes + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE;
}

static inline void tn_spmc_deque_init(struct tn_spmc_deque *q, size_t capacity)
{
    assert(capacity > 0 && capacity <= TN_SPMC_DEQUE_MAX && (capacity & (capacity - 1)) == 0 &&
           (uintptr_t)q % TN_CACHE_LINE == 0);
    q->mask = capacity - 1;
    atomic_init(&q->word, UINT64_C(0));
    for (size_t s = 0; s < capacity; s++)
        atomic_init(&q->slot[s], (void *)NULL);
}

static inline size_t tn_spmc_deque_capacity(const struct tn_spmc_deque *q)
{
    return (size_t)q->mask + 1;
}

/* Owner only.  Pushes the first of items[0 ... n-1] that there is room for; the last one pushed is the top.  Published
 * together; returns how many. */
static inline size_t tn_spmc_deque_push_n(struct tn_spmc_deque *q, size_t n, void *const items[])
{
    uint64_t w = atomic_load_explicit(&q->word, memory_order_acquire); /* A1 */
    uint64_t count = TN_DEQUE_COUNT(w), low = TN_DEQUE_LOW(w);
    bool down = (w & TN_DEQUE_DOWN) != 0;

    if (n > q->mask + 1 - count)
        n = (size_t)(q->mask + 1 - count);
    if (n == 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        assert(items[i] != NULL);
        /* relaxed: R0 publishes it. */
        atomic_store_explicit(&q->slot[(down ? low - 1 - i : low + count + i) & q->mask], items[i],
                              memory_order_relaxed);
    }
    do { /* again where a thief came first, who changed the bottom only: see 3 */
        low = TN_DEQUE_LOW(w);
        count = TN_DEQUE_COUNT(w);
    } while (!atomic_compare_exchange_strong_explicit(
        &q->word, &w, tn_spmc_deque_word_(q, w, down ? low - n : low, count + n) + TN_DEQUE_TAG, memory_order_release,
        memory_order_relaxed)); /* R0; relaxed: the slots that it found free stay free */
    return n;
}

/* Owner only.  False: full, the item stays with the caller. */
static inline bool tn_spmc_deque_push(struct tn_spmc_deque *q, void *item)
{
    return tn_spmc_deque_push_n(q, 1, &item) == 1;
}

/* The word and the items of taking n from the upper or lower end. */
static inline uint64_t tn_spmc_deque_less_(const struct tn_spmc_deque *q, uint64_t w, bool upper, uint64_t n)
{
    return tn_spmc_deque_word_(q, w, upper ? TN_DEQUE_LOW(w) : TN_DEQUE_LOW(w) + n, TN_DEQUE_COUNT(w) - n);
}

static inline size_t tn_spmc_deque_at_(const struct tn_spmc_deque *q, uint64_t w, bool upper, uint64_t i)
{
    return (size_t)((upper ? TN_DEQUE_LOW(w) + TN_DEQUE_COUNT(w) - 1 - i : TN_DEQUE_LOW(w) + i) & q->mask);
}

static inline void *tn_spmc_deque_take_(struct tn_spmc_deque *q, bool top)
{
    uint64_t w = atomic_load_explicit(&q->word, memory_order_relaxed); /* relaxed: the CAS confirms it */

    while (TN_DEQUE_COUNT(w) != 0) {
        bool upper = ((w & TN_DEQUE_DOWN) == 0) == top;
        /* relaxed: the owner wrote it itself. */
        void *item = atomic_load_explicit(&q->slot[tn_spmc_deque_at_(q, w, upper, 0)], memory_order_relaxed);
        /* relaxed, both: it takes back what the owner itself had put there; R0 and R1 go on through it */
        if (atomic_compare_exchange_strong_explicit(&q->word, &w, tn_spmc_deque_less_(q, w, upper, 1),
                                                    memory_order_relaxed, memory_order_relaxed))
            return item;
    }
    return NULL;
}

/* Owner only.  The top, or the bottom; NULL when empty. */
static inline void *tn_spmc_deque_pop(struct tn_spmc_deque *q)
{
    return tn_spmc_deque_take_(q, true);
}

static inline void *tn_spmc_deque_pop_bottom(struct tn_spmc_deque *q)
{
    return tn_spmc_deque_take_(q, false);
}

/* Owner only.  The top becomes the bottom, and all between them follows. */
static inline void tn_spmc_deque_reverse(struct tn_spmc_deque *q)
{
    /* relaxed: no slot changes, and R0 and R1 go on through it. */
    atomic_fetch_xor_explicit(&q->word, TN_DEQUE_DOWN, memory_order_relaxed);
}

/* Anyone.  One attempt to take min(max, half of all, rounded up) from the bottom into out[], the bottom first; returns how
 * many: 0 when empty, and when anybody else came first. */
static inline size_t tn_spmc_deque_steal(struct tn_spmc_deque *q, size_t max, void *out[])
{
    uint64_t w = atomic_load_explicit(&q->word, memory_order_acquire); /* A0 */
    uint64_t n = TN_DEQUE_COUNT(w) - TN_DEQUE_COUNT(w) / 2;
    bool upper = (w & TN_DEQUE_DOWN) != 0;

    if (n > max)
        n = max;
    if (n == 0)
        return 0;
    for (uint64_t i = 0; i < n; i++) /* relaxed: A0 saw them written, or they are new and the CAS fails (4) */
        out[i] = atomic_load_explicit(&q->slot[tn_spmc_deque_at_(q, w, upper, i)], memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&q->word, &w, tn_spmc_deque_less_(q, w, upper, n),
                                                 memory_order_release,  /* R1 */
                                                 memory_order_relaxed)) /* relaxed: gives up */
        return 0;
    return (size_t)n;
}

/* Anyone; exact. */
static inline size_t tn_spmc_deque_length(struct tn_spmc_deque *q)
{
    uint64_t w = atomic_load_explicit(&q->word, memory_order_relaxed); /* relaxed: no slot is read */

    return (size_t)TN_DEQUE_COUNT(w);
}

/* For tests, by the owner outside of its operations; thieves may be at work. */
static inline bool tn_spmc_deque_valid(struct tn_spmc_deque *q)
{
    uint64_t w = atomic_load_explicit(&q->word, memory_order_acquire); /* A1 */

    if (TN_DEQUE_COUNT(w) > q->mask + 1 || TN_DEQUE_LOW(w) > q->mask)
        return false;
    for (uint64_t i = 0; i < TN_DEQUE_COUNT(w); i++) /* relaxed: the owner wrote them itself */
        if (atomic_load_explicit(&q->slot[tn_spmc_deque_at_(q, w, false, i)], memory_order_relaxed) == NULL)
            return false;
    return true;
}

#endif
