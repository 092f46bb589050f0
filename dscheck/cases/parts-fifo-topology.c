/* SPDX-License-Identifier: MIT */
/* fifo, victims=topology: a hog is found by the distances; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_NEED(fifo, PARTS_KNOBS({"victims", VICTIMS_TOPOLOGY}, {"private", 0}, {"capacity", 2}, ), , TN_SPAWNED)
