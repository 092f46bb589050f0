/* SPDX-License-Identifier: MIT */
/* fifo, small queues: an owner at work and a thief; see parts-case.h. */
#include "../parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_STEAL(fifo, PARTS_KNOBS({"private", 2}, {"capacity", 2}, ), PARTS_HELD(W0))
