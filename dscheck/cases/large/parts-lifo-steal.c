/* SPDX-License-Identifier: MIT */
/* Large: no bound, and no end in sight.  A --budget explores a part, and the answer is *incomplete*: no proof. */
/* lifo, small queues: an owner at work and a thief; see parts-case.h. */
#include "../parts-case.h"

#include "lifo/lifo.c"
#include "dscheck/stub_core.c"

PARTS_STEAL(lifo, PARTS_KNOBS({"private", 2}, {"capacity", 2}, ), PARTS_HELD(W0))
