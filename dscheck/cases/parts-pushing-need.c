/* SPDX-License-Identifier: MIT */
/* pushing, work pushed into the queue of a hog, and a worker that looks for it; see parts-case.h. */
#include "parts-case.h"

#include "pushing/pushing.c"
#include "dscheck/stub_core.c"

PARTS_NEED(pushing, PARTS_KNOBS({"queue", TN_PUSHED_NEMESIS}, {"fresh", FRESH_PUSH}, ), , TN_SPAWNED)
