/* SPDX-License-Identifier: MIT */
/* multiq: two workers, who share two queues; see parts-case.h. */
#include "parts-case.h"

#include "multiq/multiq.c"
#include "dscheck/stub_core.c"

PARTS_MAIN(multiq, 2, PARTS_KNOBS({"queues", 1}, {"buffer", 1}, ),
           (stub_ready(W0, F(0), TN_SPAWNED), stub_ready(W0, F(1), TN_YIELDED)), ,
           (stub_ready(W0, F(2), TN_SPAWNED), stub_next(W0, false)), stub_next(W1, false), )
CASE_MAIN(prepare, check, thread0, thread1)
