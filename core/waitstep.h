/* SPDX-License-Identifier: MIT
 *
 * Switch, then register (004 §3.3.7): a fibre leaves its stack for its worker's utility stack, and only there a step
 * publishes it. Whoever finds it finds it parked, so this wait has no ARMED state and no compare-and-exchange of its
 * own. No stack is switched in here, so that the explorer takes this file as it is.
 *
 *   open      (utility stack) any    -> seq+1 PARKED     then it is published: from here it may be resumed by others
 *   decide    (anyone)        PARKED -> outcome          as in waitword.h; the decider makes it ready
 *
 * Proof. 1. Nobody decides the wait before it is published, since nobody knows its seq. 2. What is published is
 * parked: every wait that is opened here is decided by exactly one decider, who makes the fibre ready; the step does so
 * never. 3. After it has published the fibre the step touches nothing of it: it may be running elsewhere, or have ended.
 *
 * A wait that is registered in several places (a deadline, a token and a waker) cannot be made so: as soon as it is in
 * the first the fibre may run, and it would take back what the step only then puts into the second. Such waits, and
 * those that tn_wait_prepare opened, go through ARMED in this protocol too; their CAS is made on the utility stack.
 */
#ifndef TN_WAITSTEP_H
#define TN_WAITSTEP_H

#include "waitword.h"

/* On the utility stack, in place of prepare() and park(). Returns the new seq. */
static inline uint64_t tn_waitstep_open(tn_waitword *w)
{
    /* relaxed: only stale deciders look, and they fail */
    uint64_t seq = (atomic_load_explicit(w, memory_order_relaxed) / WAIT_STATES) + 1;
    atomic_store_explicit(w, seq * WAIT_STATES + WAIT_PARKED, memory_order_release); /* P0 release */
    return seq;
}

#endif
