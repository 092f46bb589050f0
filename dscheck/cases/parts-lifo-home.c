/* SPDX-License-Identifier: MIT */
/* lifo, place=home: fibres woken for a worker that is busy; see parts-case.h. */
#include "parts-case.h"

#include "lifo/lifo.c"
#include "dscheck/stub_core.c"

PARTS_HOME(lifo, PARTS_KNOBS({"place", PLACE_HOME}, {"private", 2}, {"capacity", 2}, ))
