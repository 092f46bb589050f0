/* SPDX-License-Identifier: MIT */
/* staged: those that are back in a stage wait by yielding for one that has yet to enter it; see parts-case.h. */
#include "parts-case.h"

#include "staged/staged.c"
#include "dscheck/stub_core.c"

PARTS_MAIN(staged, 1, PARTS_KNOBS({"stages", 1}, {"control", 0}, {"batch", 1}, ),
           (stub_ready(W0, F(1), TN_SPAWNED), stub_ready(W0, F(2), TN_SPAWNED), stub_ready(NULL, F(0), TN_SPAWNED)), ,
           yielders(W0), stub_ready(NULL, F(3), TN_WOKEN), )
CASE_MAIN(prepare, check, thread0, thread1)
