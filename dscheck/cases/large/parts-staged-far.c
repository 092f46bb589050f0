/* SPDX-License-Identifier: MIT */
/* staged: two stages with a worker each; what one makes ready in its own stage, and then computes for ever, the other frees; see parts-case.h. */
#include "../parts-case.h"

#include "staged/staged.c"
#include "dscheck/stub_core.c"

PARTS_NEED(staged, PARTS_KNOBS({"stages", 2}, {"control", 0}, ), , TN_SPAWNED)
