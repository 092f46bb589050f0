/* SPDX-License-Identifier: MIT */
/* pushing, an owner at work and a thief, at a stub queue; see parts-case.h. */
#include "parts-case.h"

#include "pushing/pushing.c"
#include "dscheck/stub_core.c"

PARTS_TAKE(pushing, PARTS_KNOBS({"queue", TN_PUSHED_STUB}, {"fresh", FRESH_PUSH}, ), )
