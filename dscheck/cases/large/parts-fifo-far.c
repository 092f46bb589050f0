/* SPDX-License-Identifier: MIT
 *
 * A worker watches a timer that is far away; another one makes X private and hogs; a third one, whose search the hog
 * relied on, finds something else. X must be found all the same: the watch over the timer is no watch over X.
 *
 * Large: no bound, and no end in sight.  A --budget explores a part, and the answer is *incomplete*: no proof.
 */
#include "../parts-case.h"
#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

static void far_timer(void)
{
    stub_earliest = STUB_FAR;
}

PARTS_MAIN(fifo, 3, PARTS_KNOBS({"private", 2}, {"capacity", 2}, ), far_timer(), ran(2),
           (stub_ready(NULL, F(1), TN_WOKEN), sched_yield(), sched_yield(), stub_ready(W0, F(0), TN_SPAWNED)),
           stub_get(W1), stub_get(W2))
CASE_MAIN(prepare, check, thread0, thread1, thread2)
