/* SPDX-License-Identifier: MIT
 *
 * The lock handed over, as kernels do it (004 §3.3.6, first solution): each fibre has a spin lock. Who suspends takes
 * it and keeps it over the switch, the next fibre releases it; who resumes takes it, and so finds the fibre off its
 * stack. No stack is switched in here, so that the explorer takes this file as it is.
 *
 *   prepare   (fibre)            any      -> seq+1 ARMED
 *   park      (fibre, locked)    ARMED    -> PARKED       the lock stays held until the switch is over
 *                                outcome  -> (stays)      decided before: there is nothing to wait for
 *   decide    (anyone, locks)    ARMED    -> outcome      the fibre is still running: it will notice
 *                                PARKED   -> outcome      the decider owns the fibre and makes it ready
 *   arrived   (who owns the fibre without deciding: the end of a child that it joins)
 *
 * Proof. 1. Deciders and park() exclude each other by the lock, so of all deciders of one seq exactly one finds it
 * undecided. 2. The fibre is made ready exactly once: by the decider that found PARKED, or by the parker whose park()
 * found an outcome. 3. A decider with an old seq leaves the word as it is. 4. A decider that finds PARKED has taken the
 * lock, which since park() only the next fibre has released: the fibre is off its stack. 5. prepare() may store without
 * the lock where the wait before was decided: whoever holds the lock then changes nothing.
 */
#ifndef TN_WAITLOCK_H
#define TN_WAITLOCK_H

#include "queues/spinlock.h"
#include "waitword.h" /* the states, and what a decider is told */

static inline bool tn_waitlock_open_(uint64_t now)
{
    return now % WAIT_STATES == WAIT_ARMED || now % WAIT_STATES == WAIT_PARKED;
}

/* By the fibre itself. Returns the new seq. */
static inline uint64_t tn_waitlock_prepare(struct tn_spinlock *lock, tn_waitword *w)
{
    uint64_t now = atomic_load_explicit(w, memory_order_relaxed); /* relaxed: own, or decided */
    bool open = tn_waitlock_open_(now);                           /* opened and never waited for */
    if (open)
        tn_spinlock_lock(lock);
    uint64_t seq = now / WAIT_STATES + 1;
    atomic_store_explicit(w, seq * WAIT_STATES + WAIT_ARMED, memory_order_relaxed); /* relaxed: as in waitword.h */
    if (open)
        tn_spinlock_unlock(lock);
    return seq;
}

static inline enum tn_decision tn_waitlock_decide(struct tn_spinlock *lock, tn_waitword *w, uint64_t seq,
                                                  unsigned outcome)
{
    enum tn_decision found = TN_TOO_LATE;
    /* relaxed: seq only grows and an outcome stays, so who is late once is late for good; else the lock decides */
    uint64_t now = atomic_load_explicit(w, memory_order_relaxed);
    if (now / WAIT_STATES != seq || !tn_waitlock_open_(now))
        return found;
    tn_spinlock_lock(lock);
    now = atomic_load_explicit(w, memory_order_relaxed); /* relaxed: under the lock */
    if (now / WAIT_STATES == seq && tn_waitlock_open_(now)) {
        found = now % WAIT_STATES == WAIT_PARKED ? TN_DECIDED_PARKED : TN_DECIDED;
        /* D0 release: what the decider did before, for a fibre that still runs and looks without the lock */
        atomic_store_explicit(w, seq * WAIT_STATES + outcome, memory_order_release);
    }
    tn_spinlock_unlock(lock);
    return found;
}

/* Before the switch, with the lock held, which whoever runs next releases. False: decided already. */
static inline bool tn_waitlock_park(tn_waitword *w)
{
    uint64_t now = atomic_load_explicit(w, memory_order_relaxed); /* relaxed: under the lock */
    if (now % WAIT_STATES != WAIT_ARMED)
        return false;
    atomic_store_explicit(w, now / WAIT_STATES * WAIT_STATES + WAIT_PARKED,
                          memory_order_relaxed); /* relaxed: so too */
    return true;
}

/* By who owns a fibre that has suspended: it is off its stack from here. */
static inline void tn_waitlock_arrived(struct tn_spinlock *lock)
{
    tn_spinlock_lock(lock);
    tn_spinlock_unlock(lock);
}

#endif
