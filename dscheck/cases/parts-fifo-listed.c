/* SPDX-License-Identifier: MIT */
/* fifo, victims=listed: one that has left is found; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_LEAVE(fifo, PARTS_KNOBS({"victims", VICTIMS_LISTED}, {"private", 0}, {"capacity", 2}, ), )
