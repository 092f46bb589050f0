/* SPDX-License-Identifier: MIT
 *
 * The structure of timers that the build has (-Dtimers=…): both have one interface.
 *
 *   heap    Exact, and in order; arming and cancelling take logarithmic time (timer.h).
 *   wheel   Constant time for both, and due up to 16.4 us late (timer_wheel.h).
 */
#ifndef TN_TIMERS_H
#define TN_TIMERS_H

#define TN_TIMERS_HEAP  0
#define TN_TIMERS_WHEEL 1

#if TN_TIMERS == TN_TIMERS_WHEEL
#include "timer_wheel.h"
#else
#include "timer.h"
#endif

#endif
