/* SPDX-License-Identifier: MIT */
/* skeleton: whoever waits by yielding lets all others run; see parts-case.h. */
#include "parts-case.h"

#include "skeleton/skeleton.c"
#include "dscheck/stub_core.c"

PARTS_YIELDERS(skeleton, )
