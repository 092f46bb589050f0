/* SPDX-License-Identifier: MIT */
/* lifo, spawn=child: the spawner is what others can take; see parts-case.h. */
#include "parts-case.h"

#include "lifo/lifo.c"
#include "dscheck/stub_core.c"

PARTS_CHILD(lifo, PARTS_KNOBS({"spawn", SPAWN_CHILD}, {"private", 2}, {"capacity", 2}, ))
