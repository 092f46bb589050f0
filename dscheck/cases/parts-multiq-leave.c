/* SPDX-License-Identifier: MIT */
/* multiq: a worker leaves, and with it one of two queues; see parts-case.h. */
#include "parts-case.h"

#include "multiq/multiq.c"
#include "dscheck/stub_core.c"

PARTS_MAIN(multiq, 2, PARTS_KNOBS({"queues", 1}, {"buffer", 1}, ),
           (stub_ready(W0, F(0), TN_SPAWNED), stub_asleep(W1)), ran(1), stub_leave(W0), stub_get(W1), )
CASE_MAIN(prepare, check, thread0, thread1)
