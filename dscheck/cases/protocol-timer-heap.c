/* SPDX-License-Identifier: MIT */
/* timers, as a heap: a deadline that runs out while the fibre is woken; see timer-case.h. */
#include "timer.h"

#include "timer-case.h"

CASE_MAIN(prepare, check, fibre, worker, waker)
