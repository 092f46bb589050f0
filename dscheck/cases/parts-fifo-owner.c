/* SPDX-License-Identifier: MIT */
/* fifo, place=owner: a hog is woken for; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_OWNER(fifo, PARTS_KNOBS({"place", PLACE_OWNER}, {"private", 0}, {"capacity", 2}, ))
