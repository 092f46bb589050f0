/* SPDX-License-Identifier: MIT */
/* Large: no bound, and no end in sight.  A --budget explores a part, and the answer is *incomplete*: no proof. */
/* fifo, small queues: work behind a hog is not out of reach; see parts-case.h. */
#include "../parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_HOG(fifo, PARTS_KNOBS({"private", 2}, {"capacity", 2}, ))
