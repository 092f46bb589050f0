/* SPDX-License-Identifier: MIT */
/*
 * yields, the way to yield of the row M4.4 (003 §4.4.4) that HOW names, where what must run is another worker's; see
 * parts-case.h. With the naive local preference, WAY_TAIL, that one is never stolen, and two fibres take turns for ever.
 */
#include "parts-case.h"

#include "yields/yields.c"
#include "dscheck/stub_core.c"

#ifndef HOW
#define HOW WAY_GLOBAL
#endif
PARTS_PREFER(yields, PARTS_KNOBS({"size", 4}, {"yield", HOW}, ))
