/* SPDX-License-Identifier: MIT
 *
 * A lock that costs its owner no atomic read-modify-write: the owner enters by two plain stores and a load, a
 * thief pays a heavy fence (membarrier) for the asymmetry. It guards the private part of a local queue, so that
 * work behind a fibre that hogs its worker is never out of reach.
 *
 *   owner: seq odd (inside)   | light fence | revoked?  -> step back, wait until it is not
 *   thief: revoked = 1        | heavy fence | seq odd?  -> wait until even, or give up
 *
 * Proof.
 *  1. Mutual exclusion. The light fence stands between the owner's store of seq and its load of revoked, the
 *     heavy one between the thief's store of revoked and its load of seq: not both loads miss the other store
 *     (platform.h). So the owner sees revoked and steps back, or the thief sees seq odd and waits.
 *  2. One thief at a time: `revoked` is taken by exchange, only its taker gives it back.
 *  3. What the owner did inside is visible to the thief: E0 below; the reverse: E1.
 *  4. seq is even exactly when the owner is outside, and changes at each visit: two equal readings some time
 *     apart mean that the owner has reached no scheduling point in between. That is how a hog is told.
 */
#ifndef TN_PARTS_BIASED_H
#define TN_PARTS_BIASED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "platform.h"

struct tn_biased {
    _Atomic(uint32_t) seq;     /* owner writes */
    _Atomic(uint32_t) revoked; /* thieves write */
};

/* The rare path of tn_biased_enter: a thief is inside, or was about to be. */
static __attribute__((noinline, cold, unused)) void tn_biased_enter_slow(struct tn_biased *b, uint32_t outside)
{
    unsigned spins = 0;
    do {
        atomic_store_explicit(&b->seq, outside, memory_order_release);       /* E0 release: step back */
        while (atomic_load_explicit(&b->revoked, memory_order_relaxed) != 0) /* relaxed: E1 follows below */
            tn_spin_wait(&spins);
        atomic_store_explicit(&b->seq, outside + 1, memory_order_relaxed); /* relaxed: the fences order it */
        tn_fence_light();
    } while (atomic_load_explicit(&b->revoked, memory_order_acquire) != 0); /* E1 acquire */
}

/* Owner only. Returns what tn_biased_leave wants: kept in a register, it saves a wait for one's own store. */
static inline uint32_t tn_biased_enter(struct tn_biased *b)
{
    uint32_t outside = atomic_load_explicit(&b->seq, memory_order_relaxed); /* relaxed: own variable */
    atomic_store_explicit(&b->seq, outside + 1, memory_order_relaxed);      /* relaxed: the fences order it */
    tn_fence_light();
    if (__builtin_expect(atomic_load_explicit(&b->revoked, memory_order_acquire) != 0, 0)) /* E1 acquire */
        tn_biased_enter_slow(b, outside);
    return outside;
}

static inline void tn_biased_leave(struct tn_biased *b, uint32_t outside)
{
    atomic_store_explicit(&b->seq, outside + 2, memory_order_release); /* E0 release */
}

/* Owner only, inside: what its enter returned, for who leaves on another stack. */
static inline uint32_t tn_biased_entered(struct tn_biased *b)
{
    return atomic_load_explicit(&b->seq, memory_order_relaxed) - 1; /* relaxed: own variable */
}

/* Any thread but the owner. False: another thief is there, or the owner stayed inside for `patience` spins (its
 * thread may have lost its processor in there). */
static inline bool tn_biased_revoke(struct tn_biased *b, unsigned patience)
{
    if (atomic_exchange_explicit(&b->revoked, 1, memory_order_acquire) != 0) /* E1 acquire, thief to thief */
        return false;
    tn_fence_heavy();
    unsigned spins = 0;
    while (atomic_load_explicit(&b->seq, memory_order_acquire) & 1) { /* E0 acquire */
        if (spins >= patience) {
            atomic_store_explicit(&b->revoked, 0, memory_order_release); /* E1 release: nothing was touched */
            return false;
        }
        tn_spin_wait(&spins);
    }
    return true;
}

static inline void tn_biased_restore(struct tn_biased *b)
{
    atomic_store_explicit(&b->revoked, 0, memory_order_release); /* E1 release */
}

#endif
