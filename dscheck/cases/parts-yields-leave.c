/* SPDX-License-Identifier: MIT */
/* yields, small stacks: what a worker leaves behind; see parts-case.h. */
#include "parts-case.h"

#include "yields/yields.c"
#include "dscheck/stub_core.c"

PARTS_LEAVE(yields, PARTS_KNOBS({"size", 2}, ), )
