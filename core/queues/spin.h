/* SPDX-License-Identifier: MIT */
/*
 * How a thread waits for another one that will be done in a moment.
 *
 * The queues do not know the machine, so whoever links them says what a turn of a waiting loop does:
 *
 *     unsigned spins = 0;
 *     while (must_wait())
 *         tn_spin_wait(&spins);
 *
 * `spins` starts at 0 and belongs to one wait.  An implementation pauses the processor for the first turns and gives
 * the processor away (sched_yield) on later ones: with more threads than cores, the one that is waited for may not be
 * running.  It never blocks, and it orders no memory: the loop's own load does that.
 *
 * A program that takes the queues alone defines TN_QUEUES_STANDALONE and gets the plain one below.
 */
#ifndef TN_QUEUES_SPIN_H
#define TN_QUEUES_SPIN_H

#ifdef TN_QUEUES_STANDALONE

#include <sched.h>

enum { TN_SPIN_TURNS = 32 };

static inline void tn_spin_wait(unsigned *spins)
{
    if (*spins < TN_SPIN_TURNS)
        ++*spins;
    else
        sched_yield();
}

#else

void tn_spin_wait(unsigned *spins);

#endif
#endif
