/* SPDX-License-Identifier: MIT */
/* lifo, victims=busy: a hog is found by the list of the busy; see parts-case.h. */
#include "parts-case.h"

#include "lifo/lifo.c"
#include "dscheck/stub_core.c"

PARTS_NEED(lifo, PARTS_KNOBS({"victims", VICTIMS_BUSY}, {"private", 0}, {"capacity", 2}, ), , TN_SPAWNED)
