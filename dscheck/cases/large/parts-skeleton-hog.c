/* SPDX-License-Identifier: MIT */
/* skeleton: what one worker makes ready others get; see parts-case.h. */
#include "../parts-case.h"

#include "skeleton/skeleton.c"
#include "dscheck/stub_core.c"

PARTS_HOG(skeleton, )
