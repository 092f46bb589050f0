/* SPDX-License-Identifier: MIT */
/*
 * yields, the way to yield of the row M4.4 (003 §4.4.4) that HOW names: fibres that wait by yielding; see parts-case.h.
 * With WAY_GLOBAL, as here, the one that they wait for gets its turn; with
 * -DHOW=WAY_POP two of the others take turns for ever.
 */
#include "parts-case.h"

#include "yields/yields.c"
#include "dscheck/stub_core.c"

#ifndef HOW
#define HOW WAY_GLOBAL
#endif
PARTS_YIELDERS(yields, PARTS_KNOBS({"size", 4}, {"yield", HOW}, ))
