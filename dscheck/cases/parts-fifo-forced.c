/* SPDX-License-Identifier: MIT */
/* fifo, request=once: a worker is made to steal; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_FORCED(fifo, PARTS_KNOBS({"request", REQUEST_ONCE}, {"private", 0}, {"capacity", 4}, ))
