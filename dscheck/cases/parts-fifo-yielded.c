/* SPDX-License-Identifier: MIT */
/* fifo, layout=global: what yields waits in the yield queue, and another worker needs it; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_NEED(fifo, PARTS_KNOBS({"layout", LAYOUT_GLOBAL}, {"capacity", 2}, ), , TN_YIELDED)
