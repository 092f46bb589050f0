/* SPDX-License-Identifier: MIT */
/* staged: two workers of one stage, who take batches of each other; see parts-case.h. */
#include "parts-case.h"

#include "staged/staged.c"
#include "dscheck/stub_core.c"

PARTS_TAKE(staged, PARTS_KNOBS({"stages", 1}, {"batch", 2}, {"control", 0}, ), )
