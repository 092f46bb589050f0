/* SPDX-License-Identifier: MIT */
/* yields, yield=swap (003 §4.4.4): the one that all wait for is drawn at last; see parts-case.h. */
#include "parts-case.h"

#include "yields/yields.c"
#include "dscheck/stub_core.c"

PARTS_YIELDERS(yields, PARTS_KNOBS({"size", 4}, {"yield", WAY_SWAP}, ))
