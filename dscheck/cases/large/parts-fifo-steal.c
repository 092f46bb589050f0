/* SPDX-License-Identifier: MIT */
/* Large: no bound, and no end in sight.  A --budget explores a part, and the answer is *incomplete*: no proof. */
/* fifo, small queues: an owner at work and a thief; see parts-case.h. */
#include "../parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_STEAL(fifo, PARTS_KNOBS({"private", 2}, {"capacity", 2}, ), PARTS_HELD(W0))
