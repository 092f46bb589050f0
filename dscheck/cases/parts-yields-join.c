/* SPDX-License-Identifier: MIT */
/* yields, small stacks: a worker joins while another one makes fibres ready; see parts-case.h. */
#include "parts-case.h"

#include "yields/yields.c"
#include "dscheck/stub_core.c"

PARTS_JOIN(yields, PARTS_KNOBS({"size", 2}, ))
