/* SPDX-License-Identifier: MIT */
/* staged: what one worker makes ready another gets, from its pool or since the stage is nobody's; see parts-case.h. */
#include "parts-case.h"

#include "staged/staged.c"
#include "dscheck/stub_core.c"

PARTS_NEED(staged, PARTS_KNOBS({"stages", 1}, ), , TN_SPAWNED)
