/* SPDX-License-Identifier: MIT */
/* hybrid, small parts: what a worker leaves behind; see parts-case.h. */
#include "parts-case.h"

#include "hybrid/hybrid.c"
#include "dscheck/stub_core.c"

PARTS_LEAVE(hybrid, PARTS_KNOBS({"policy", REVERSE}, {"private", 2}, {"capacity", 2}, ), PARTS_HELD(W0))
