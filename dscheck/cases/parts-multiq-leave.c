/* SPDX-License-Identifier: MIT */
/* multiq: a worker leaves, and with it one of two queues; see parts-case.h. */
#include "parts-case.h"

#include "multiq/multiq.c"
#include "dscheck/stub_core.c"

PARTS_LEAVE(multiq, PARTS_KNOBS({"queues", 1}, {"buffer", 1}, ), )
