/* SPDX-License-Identifier: MIT */
/* lifo, layout=global with a small queue: what one worker makes ready another gets; see parts-case.h. */
#include "parts-case.h"

#include "lifo/lifo.c"
#include "dscheck/stub_core.c"

PARTS_NEED(lifo, PARTS_KNOBS({"layout", LAYOUT_GLOBAL}, {"capacity", 2}, ), , TN_SPAWNED)
