/* SPDX-License-Identifier: MIT */
/* fifo, layout=global with a small queue: two workers on one ring; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_TAKE(fifo, PARTS_KNOBS({"layout", LAYOUT_GLOBAL}, {"capacity", 2}, ), )
