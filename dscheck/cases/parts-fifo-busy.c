/* SPDX-License-Identifier: MIT */
/* fifo, victims=busy: a hog is found by the list of the busy; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_NEED(fifo, PARTS_KNOBS({"victims", VICTIMS_BUSY}, {"private", 0}, {"capacity", 2}, ), , TN_SPAWNED)
