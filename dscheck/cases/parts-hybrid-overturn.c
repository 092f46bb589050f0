/* SPDX-License-Identifier: MIT */
/* hybrid, policy=reverse, small parts: what is private goes round too, and what is open comes up; see parts-case.h. */
#include "parts-case.h"

#include "hybrid/hybrid.c"
#include "dscheck/stub_core.c"

PARTS_MAIN(hybrid, 2, PARTS_KNOBS({"policy", REVERSE}, {"n", 1}, {"private", 2}, {"capacity", 1}, ),
           (stub_ready(W0, F(0), TN_SPAWNED), stub_ready(W0, F(1), TN_SPAWNED), stub_ready(W0, F(2), TN_SPAWNED),
            stub_next(W0, false), stub_ready(W0, F(3), TN_SPAWNED), stub_steal(W1, W0), stub_steal(W1, W0), hours(1)),
           PARTS_HELD(W0), (stub_next(W0, false), stub_next(W0, false)), (stub_steal(W1, W0), stub_steal(W1, W0)), )
CASE_MAIN(prepare, check, thread0, thread1)
