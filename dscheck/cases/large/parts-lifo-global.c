/* SPDX-License-Identifier: MIT */
/* lifo, layout=global with a small ring: what one worker makes ready others get; see parts-case.h. */
#include "../parts-case.h"

#include "lifo/lifo.c"
#include "dscheck/stub_core.c"

PARTS_HOG(lifo, PARTS_KNOBS({"layout", LAYOUT_GLOBAL}, {"capacity", 2}, ))
