/* SPDX-License-Identifier: MIT */
/* hybrid, the newest always next: those that are newer wait by yielding for the oldest; see parts-case.h. */
#include "parts-case.h"

#include "hybrid/hybrid.c"
#include "dscheck/stub_core.c"

PARTS_MAIN(hybrid, 1, PARTS_KNOBS({"policy", 0}, {"p", 0}, {"private", 0}, {"capacity", 4}, ),
           (stub_ready(W0, F(1), TN_SPAWNED), stub_ready(W0, F(2), TN_SPAWNED), stub_ready(NULL, F(0), TN_SPAWNED)), ,
           yielders(W0), stub_ready(NULL, F(3), TN_WOKEN), )
CASE_MAIN(prepare, check, thread0, thread1)
