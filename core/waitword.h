/* SPDX-License-Identifier: MIT
 *
 * The wait word of a fibre: the one place where a wait is decided (004 §3.3.6, with the compare-and-exchange in C
 * and on another stack instead of inside the assembly switch). No stack is switched in here, so that the explorer
 * takes this file as it is.
 *
 *   word = seq << 3 | state
 *
 *   prepare   (fibre)          any      -> seq+1 ARMED
 *   decide    (anyone)         ARMED    -> outcome         the fibre is still running: it will notice
 *                              PARKED   -> outcome         the decider owns the fibre now and makes it ready
 *   park      (after switch)   ARMED    -> PARKED          from here the fibre may be resumed by others
 *                              outcome  -> (stays)         decided before: the parker makes it ready
 *
 * Proof. 1. Of all deciders of one seq exactly one succeeds, since each needs ARMED or PARKED and leaves an outcome.
 * 2. The fibre is made ready exactly once: by the decider that found PARKED, or by park() that found an outcome;
 * park succeeds only if no decision came before, and then every later decision finds PARKED.
 * 3. A decider with an old seq fails: seq grows with each wait and 2^61 waits do not happen.
 * 4. Nobody resumes the fibre while it is on its stack: park() runs after the switch.
 */
#ifndef TN_WAITWORD_H
#define TN_WAITWORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { WAIT_ARMED, WAIT_PARKED, WAIT_WOKEN, WAIT_TIMED_OUT, WAIT_CANCELLED, WAIT_STATES = 8 };

typedef _Atomic(uint64_t) tn_waitword;

/* By the fibre itself. Returns the new seq. */
static inline uint64_t tn_waitword_prepare(tn_waitword *w)
{
    /* relaxed: only stale deciders look, and they fail; the caller's publication releases it to the real ones */
    uint64_t seq = (atomic_load_explicit(w, memory_order_relaxed) / WAIT_STATES) + 1;
    atomic_store_explicit(w, seq * WAIT_STATES + WAIT_ARMED, memory_order_relaxed);
    return seq;
}

enum tn_decision { TN_TOO_LATE, TN_DECIDED, TN_DECIDED_PARKED };

static inline enum tn_decision tn_waitword_decide(tn_waitword *w, uint64_t seq, unsigned outcome)
{
    uint64_t armed = seq * WAIT_STATES + WAIT_ARMED, parked = seq * WAIT_STATES + WAIT_PARKED;
    uint64_t now = atomic_load_explicit(w, memory_order_relaxed); /* relaxed: a guess, the CAS decides */
    while (now == armed || now == parked)
        /* P0 acquire: what the fibre did before it parked, its saved context first of all. D0 release: what the
         * decider did before, for the fibre. */
        if (atomic_compare_exchange_weak_explicit(w, &now, seq * WAIT_STATES + outcome, memory_order_acq_rel,
                                                  memory_order_relaxed))
            return now == parked ? TN_DECIDED_PARKED : TN_DECIDED;
    return TN_TOO_LATE;
}

/* After the switch. False: decided already, the fibre must be made ready by the caller. */
static inline bool tn_waitword_park(tn_waitword *w)
{
    uint64_t now = atomic_load_explicit(w, memory_order_relaxed); /* relaxed: a guess, the CAS decides */
    return now % WAIT_STATES == WAIT_ARMED &&
           atomic_compare_exchange_strong_explicit(w, &now, now / WAIT_STATES * WAIT_STATES + WAIT_PARKED,
                                                   memory_order_release,  /* P0 release */
                                                   memory_order_relaxed); /* failed: D0 is acquired by outcome() */
}

/* By the fibre: how its wait was decided, WAIT_ARMED if it was not. */
static inline unsigned tn_waitword_outcome(tn_waitword *w)
{
    return (unsigned)(atomic_load_explicit(w, memory_order_acquire) % WAIT_STATES); /* D0 acquire */
}

#endif
