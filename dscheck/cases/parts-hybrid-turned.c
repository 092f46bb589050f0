/* SPDX-License-Identifier: MIT */
/* hybrid, policy=reverse: what goes from the private part to the open one meanwhile is seen by who looks for it; see parts-case.h. */
#include "parts-case.h"

#include "hybrid/hybrid.c"
#include "dscheck/stub_core.c"

PARTS_MAIN(hybrid, 2, PARTS_KNOBS({"policy", REVERSE}, {"n", 1}, {"private", 4}, {"capacity", 4}, ),
           (stub_ready(W0, F(0), TN_SPAWNED), stub_ready(W0, F(1), TN_SPAWNED), stub_ready(W0, F(2), TN_SPAWNED),
            stub_next(W0, false), stub_asleep(W1)),
           ran(3), stub_next(W0, false), stub_get(W1), )
CASE_MAIN(prepare, check, thread0, thread1)
