/* SPDX-License-Identifier: MIT */
/* fifo, small queues: a soft yield behind a hog, and a worker that sleeps; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_NEED(fifo, PARTS_KNOBS({"private", 2}, {"capacity", 2}, ), stub_asleep(W1), TN_YIELDED)
