/* SPDX-License-Identifier: MIT */
/* fifo, chance: all goes into the ring; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_TAKE(fifo, PARTS_KNOBS({"chance", 1000}, {"private", 0}, {"capacity", 1}, ), )
