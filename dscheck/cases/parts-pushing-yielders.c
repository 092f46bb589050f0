/* SPDX-License-Identifier: MIT */
/* pushing: those of a worker's own queue wait by yielding for one that was staged; see parts-case.h. */
#include "parts-case.h"

#include "pushing/pushing.c"
#include "dscheck/stub_core.c"

PARTS_MAIN(pushing, 1, PARTS_KNOBS({"queue", 2}, ),
           (stub_ready(W0, F(1), TN_SPAWNED), stub_ready(W0, F(2), TN_SPAWNED), stub_ready(NULL, F(0), TN_SPAWNED)), ,
           yielders(W0), stub_ready(NULL, F(3), TN_WOKEN), )
CASE_MAIN(prepare, check, thread0, thread1)
