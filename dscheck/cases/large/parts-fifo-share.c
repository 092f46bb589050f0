/* SPDX-License-Identifier: MIT */
/* fifo, small queues: work is shared, on request or behind a hog; see parts-case.h. */
#include "../parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_SHARE(fifo, PARTS_KNOBS({"private", 2}, {"capacity", 2}, ))
