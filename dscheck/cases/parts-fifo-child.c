/* SPDX-License-Identifier: MIT */
/* fifo, spawn=child: the spawner is what others can take; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_CHILD(fifo, PARTS_KNOBS({"spawn", SPAWN_CHILD}, {"private", 2}, {"capacity", 2}, ))
