/* SPDX-License-Identifier: MIT */
/* Large: no bound, and no end in sight.  A --budget explores a part, and the answer is *incomplete*: no proof. */
/* lifo, layout=global with a small ring: what one worker makes ready others get; see parts-case.h. */
#include "../parts-case.h"

#include "lifo/lifo.c"
#include "dscheck/stub_core.c"

PARTS_HOG(lifo, PARTS_KNOBS({"layout", LAYOUT_GLOBAL}, {"capacity", 2}, ))
