/* SPDX-License-Identifier: MIT */
/* lifo, layout=global: what yields waits in the yield queue, and another worker needs it; see parts-case.h. */
#include "parts-case.h"

#include "lifo/lifo.c"
#include "dscheck/stub_core.c"

PARTS_NEED(lifo, PARTS_KNOBS({"layout", LAYOUT_GLOBAL}, {"capacity", 2}, ), , TN_YIELDED)
