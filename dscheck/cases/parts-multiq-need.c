/* SPDX-License-Identifier: MIT */
/* multiq: what one worker makes ready another gets; see parts-case.h. */
#include "parts-case.h"

#include "multiq/multiq.c"
#include "dscheck/stub_core.c"

PARTS_NEED(multiq, PARTS_KNOBS({"queues", 1}, {"buffer", 1}, ), , TN_SPAWNED)
