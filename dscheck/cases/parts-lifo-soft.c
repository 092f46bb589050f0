/* SPDX-License-Identifier: MIT */
/* lifo, small queues: a soft yield behind a hog, and a worker that sleeps; see parts-case.h. */
#include "parts-case.h"

#include "lifo/lifo.c"
#include "dscheck/stub_core.c"

PARTS_NEED(lifo, PARTS_KNOBS({"private", 2}, {"capacity", 2}, ), stub_asleep(W1), TN_YIELDED)
