/* SPDX-License-Identifier: MIT */
/* fifo, victims=busiest: a hog is found by its queue; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_NEED(fifo, PARTS_KNOBS({"victims", VICTIMS_BUSIEST}, {"private", 0}, {"capacity", 2}, ), , TN_SPAWNED)
