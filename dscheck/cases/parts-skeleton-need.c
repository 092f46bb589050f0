/* SPDX-License-Identifier: MIT */
/* skeleton: what one worker makes ready another gets; see parts-case.h. */
#include "parts-case.h"

#include "skeleton/skeleton.c"
#include "dscheck/stub_core.c"

PARTS_NEED(skeleton, , , TN_SPAWNED)
