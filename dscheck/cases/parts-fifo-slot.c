/* SPDX-License-Identifier: MIT */
/* fifo, slot: an owner who takes the newest, or the oldest, and a thief; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_TAKE(fifo, PARTS_KNOBS({"slot", 4}, {"private", 2}, {"capacity", 2}, ), PARTS_HELD(W0))
