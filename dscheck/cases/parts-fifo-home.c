/* SPDX-License-Identifier: MIT */
/* fifo, place=home: fibres woken for a worker that is busy; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_HOME(fifo, PARTS_KNOBS({"place", PLACE_HOME}, {"private", 2}, {"capacity", 2}, ))
