/* SPDX-License-Identifier: MIT */
/* fifo, victims=nearest: a hog that is no neighbour is found as well; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_MAIN(fifo, 3, PARTS_KNOBS({"victims", VICTIMS_NEAREST}, {"nearest", 1}, {"private", 0}, {"capacity", 2}, ), ,
           ran(1), stub_ready(W0, F(0), TN_SPAWNED), stub_get(W1), )
CASE_MAIN(prepare, check, thread0, thread1)
