/* SPDX-License-Identifier: MIT */
/* fifo, layout=global: two workers at one yield queue, whose fibres yield for one another; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_MAIN(fifo, 2, PARTS_KNOBS({"layout", LAYOUT_GLOBAL}, {"capacity", 4}, ),
           (stub_ready(W0, F(0), TN_SPAWNED), stub_ready(W0, F(1), TN_SPAWNED), stub_ready(W0, F(2), TN_SPAWNED),
            stub_ready(W0, F(3), TN_SPAWNED)),
           , stub_yield(W0, stub_get(W0)), stub_yield(W1, stub_yield(W1, stub_get(W1))), )
CASE_MAIN(prepare, check, thread0, thread1)
