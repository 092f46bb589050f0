/* SPDX-License-Identifier: MIT */
/* hybrid, policy=reverse: the stack is turned upside down beside two thieves; see parts-case.h. */
#include "parts-case.h"

#include "hybrid/hybrid.c"
#include "dscheck/stub_core.c"

PARTS_REVERSE(hybrid, PARTS_KNOBS({"policy", REVERSE}, {"n", 1}, {"private", 0}, {"capacity", 4}, ), )
