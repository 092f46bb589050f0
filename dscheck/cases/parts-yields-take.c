/* SPDX-License-Identifier: MIT */
/* yields, small stacks: an owner at work and a thief; see parts-case.h. */
#include "parts-case.h"

#include "yields/yields.c"
#include "dscheck/stub_core.c"

PARTS_TAKE(yields, PARTS_KNOBS({"size", 2}, ), )
