/* SPDX-License-Identifier: MIT */
/* skeleton: two workers on one queue; see parts-case.h. */
#include "parts-case.h"

#include "skeleton/skeleton.c"
#include "dscheck/stub_core.c"

PARTS_TAKE(skeleton, , )
