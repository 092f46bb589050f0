/* SPDX-License-Identifier: MIT */
/*
 * multiq, by priority: fibres wait by yielding for one that is less urgent, and lies in the same queues. Each yield takes
 * half the time that a step of priority is worth, so its turn comes; see parts-case.h.
 */
#include "parts-case.h"

#include "multiq/multiq.c"
#include "dscheck/stub_core.c"

static void yield_for_the_first(void)
{
    struct stub_fibre *f = stub_get(W0);
    while (f != F(0)) {
        atomic_fetch_add_explicit(&case_clock, 500, memory_order_seq_cst);
        f = stub_yield(W0, f);
    }
}

PARTS_MAIN(multiq, 1, PARTS_KNOBS({"queues", 1}, {"level", 1}, {"buffer", 1}, ),
           (F(0)->pub.priority = -1, stub_ready(W0, F(0), TN_SPAWNED), stub_ready(W0, F(1), TN_SPAWNED)), ,
           yield_for_the_first(), stub_ready(NULL, F(2), TN_WOKEN), )
CASE_MAIN(prepare, check, thread0, thread1)
