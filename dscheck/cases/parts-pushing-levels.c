/* SPDX-License-Identifier: MIT */
/* pushing, an urgent fibre in the queue of a hog, which has a level for it; see parts-case.h. */
#include "parts-case.h"

#include "pushing/pushing.c"
#include "dscheck/stub_core.c"

PARTS_NEED(pushing, PARTS_KNOBS({"levels", 2}, {"fresh", FRESH_PUSH}, ), F(0)->pub.priority = 1, TN_SPAWNED)
