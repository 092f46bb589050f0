/* SPDX-License-Identifier: MIT */
/* pushing, what a worker leaves behind, of a queue with nodes; see parts-case.h. */
#include "parts-case.h"

#include "pushing/pushing.c"
#include "dscheck/stub_core.c"

PARTS_LEAVE(pushing, PARTS_KNOBS({"queue", TN_PUSHED_NODE}, {"fresh", FRESH_PUSH}, ), )
