/* SPDX-License-Identifier: MIT */
/* multiq: two workers, who share two queues; see parts-case.h. */
#include "parts-case.h"

#include "multiq/multiq.c"
#include "dscheck/stub_core.c"

PARTS_TAKE(multiq, PARTS_KNOBS({"queues", 1}, {"buffer", 1}, ), )
