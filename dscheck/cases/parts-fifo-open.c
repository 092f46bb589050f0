/* SPDX-License-Identifier: MIT */
/* fifo, no private part: an owner at work and a thief; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_TAKE(fifo, PARTS_KNOBS({"private", 0}, {"capacity", 2}, ), )
