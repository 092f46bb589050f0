/* SPDX-License-Identifier: MIT */
/* staged: a worker joins while another one makes fibres ready; see parts-case.h. */
#include "parts-case.h"

#include "staged/staged.c"
#include "dscheck/stub_core.c"

PARTS_JOIN(staged, PARTS_KNOBS({"stages", 1}, {"control", 0}, ))
