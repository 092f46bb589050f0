/* SPDX-License-Identifier: MIT
 *
 * How the fibre that polls for a cluster and the thread that waits for all clusters take turns (000 §3.4.3). Nothing in here
 * calls the operating system or switches, so that the explorer takes this file as it is.
 *
 *   master: told that there is something, which is told once | spawns the cluster's fibre
 *   fibre:  polls until that may have been all                 | has the master told again | ends
 *
 * Proof. 1. What is told once is asked for by the fibre alone, as its last deed: so there is one fibre of a cluster at a time,
 * and while it is there the master sleeps, however much happens. 2. To ask is to look: what came behind the fibre's last
 * poll, or is left by it, is told at once (epoll_ctl(2), EPOLL_CTL_MOD with EPOLLONESHOT): there is always one that will come.
 */
#ifndef TN_POLLERS_TURNS_H
#define TN_POLLERS_TURNS_H

#include <stdbool.h>

/* The fibre. `polls`: did it find as much as it can hold? `passes`: others first. */
static inline void tn_turns(void *state, bool (*polls)(void *state), void (*passes)(void), void (*asks)(void *state))
{
    while (polls(state))
        passes();
    asks(state);
}

#endif
