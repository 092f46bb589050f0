/* SPDX-License-Identifier: MIT */
/* fifo, full=grow: a queue that grows beside a thief; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_FETCH(fifo, PARTS_KNOBS({"full", FULL_GROW}, {"private", 0}, {"capacity", 1}, ), )
