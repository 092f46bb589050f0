/* SPDX-License-Identifier: MIT */
/* lifo, full=grow: a queue that grows beside a thief; see parts-case.h. */
#include "parts-case.h"

#include "lifo/lifo.c"
#include "dscheck/stub_core.c"

PARTS_FETCH(lifo, PARTS_KNOBS({"full", FULL_GROW}, {"private", 0}, {"capacity", 1}, ), )
