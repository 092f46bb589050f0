/* SPDX-License-Identifier: MIT */
/* staged: a worker leaves with what it has taken of a stage at once; see parts-case.h. */
#include "parts-case.h"

#include "staged/staged.c"
#include "dscheck/stub_core.c"

PARTS_LEAVE(staged, PARTS_KNOBS({"stages", 2}, {"control", 0}, {"batch", 2}, ), )
