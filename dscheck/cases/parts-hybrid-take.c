/* SPDX-License-Identifier: MIT */
/* hybrid, policy=switch, small parts: an owner at work at both ends, and a thief; see parts-case.h. */
#include "parts-case.h"

#include "hybrid/hybrid.c"
#include "dscheck/stub_core.c"

PARTS_TAKE(hybrid, PARTS_KNOBS({"policy", SWITCH}, {"n", 1}, {"private", 2}, {"capacity", 2}, ), PARTS_HELD(W0))
