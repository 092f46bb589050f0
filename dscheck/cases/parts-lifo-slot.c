/* SPDX-License-Identifier: MIT */
/* lifo, slot: an owner who takes the newest, or the oldest, and a thief; see parts-case.h. */
#include "parts-case.h"

#include "lifo/lifo.c"
#include "dscheck/stub_core.c"

PARTS_TAKE(lifo, PARTS_KNOBS({"slot", 1}, {"private", 2}, {"capacity", 2}, ), PARTS_HELD(W0))
