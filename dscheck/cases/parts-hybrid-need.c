/* SPDX-License-Identifier: MIT */
/* hybrid, small parts: work behind a hog, and a worker that looks for it; see parts-case.h. */
#include "parts-case.h"

#include "hybrid/hybrid.c"
#include "dscheck/stub_core.c"

PARTS_NEED(hybrid, PARTS_KNOBS({"private", 2}, {"capacity", 2}, ), , TN_SPAWNED)
