/* SPDX-License-Identifier: MIT */
/* fifo, least: few are taken rarely, not never; see parts-case.h. */
#define LEAST_RARELY 2
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_NEED(fifo, PARTS_KNOBS({"least", 2}, {"private", 0}, {"capacity", 2}, ), , TN_SPAWNED)
