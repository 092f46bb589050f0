/* SPDX-License-Identifier: MIT */
/* lifo, small queues: private work behind a hog, and a worker that looks for it; see parts-case.h. */
#include "parts-case.h"

#include "lifo/lifo.c"
#include "dscheck/stub_core.c"

PARTS_NEED(lifo, PARTS_KNOBS({"private", 2}, {"capacity", 2}, ), , TN_SPAWNED)
