/* SPDX-License-Identifier: MIT */
/* lifo, chance: all goes into five rings; see parts-case.h. */
#include "parts-case.h"

#include "lifo/lifo.c"
#include "dscheck/stub_core.c"

PARTS_TAKE(lifo, PARTS_KNOBS({"chance", 1000}, {"pool", POOL_FIVE}, {"private", 0}, {"capacity", 1}, ), )
