/* SPDX-License-Identifier: MIT */
/* fifo, small queues: private work behind a hog, and a worker that looks for it; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_NEED(fifo, PARTS_KNOBS({"private", 2}, {"capacity", 2}, ), , TN_SPAWNED)
