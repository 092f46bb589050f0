/* SPDX-License-Identifier: MIT */
/* skeleton: what a worker leaves behind; see parts-case.h. */
#include "parts-case.h"

#include "skeleton/skeleton.c"
#include "dscheck/stub_core.c"

PARTS_LEAVE(skeleton, , )
