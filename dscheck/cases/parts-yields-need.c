/* SPDX-License-Identifier: MIT */
/* yields, small stacks: work behind a hog, and a worker that looks for it; see parts-case.h. */
#include "parts-case.h"

#include "yields/yields.c"
#include "dscheck/stub_core.c"

PARTS_NEED(yields, PARTS_KNOBS({"size", 2}, ), , TN_SPAWNED)
