/* SPDX-License-Identifier: MIT
 *
 * Which protocol of suspension the build has (-Dsuspension=…), and who frees a fibre that has ended (-Ddead=…). All
 * of them keep one promise: a fibre is resumed once for each suspension, and not before it has left its stack.
 *
 *   next      Register, then switch (004 §3.3.6). The wait is ARMED before anybody can find it; the next fibre, first of
 *             all on its stack, turns ARMED into PARKED by a compare-and-exchange, or makes the fibre ready again when a
 *             wake-up came first (waitword.h). What has only one place to register in, as a join, does it there.
 *   utility   Switch, then register (004 §3.3.7). The fibre switches to its worker's own stack, on which the worker's
 *             loop runs, where a step publishes it (waitstep.h), and then to the next fibre: two switches.
 *   lock      Lock handed over (004 §3.3.6). Suspending and resuming take the fibre's spin lock; who suspends keeps it
 *             over the switch and the next fibre releases it (waitlock.h).
 *
 * 004 makes the compare-and-exchange in the assembly of the switch, where no stack may be touched; here it is C, one
 * stack later. Which is used is a constant: the branches on it cost nothing.
 */
#ifndef TN_SUSPEND_H
#define TN_SUSPEND_H

#define TN_SUSPENSION_NEXT    0
#define TN_SUSPENSION_UTILITY 1
#define TN_SUSPENSION_LOCK    2
#define TN_DEAD_NEXT          0
#define TN_DEAD_UTILITY       1

#if TN_SUSPENSION == TN_SUSPENSION_LOCK
#include "waitlock.h"
#else
#include "waitstep.h"
#endif

/* Does anything go by way of the worker's own stack? */
#define TN_STEPS (TN_SUSPENSION == TN_SUSPENSION_UTILITY || TN_DEAD == TN_DEAD_UTILITY)

#endif
