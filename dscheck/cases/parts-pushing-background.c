/* SPDX-License-Identifier: MIT */
/*
 * pushing, a fibre in the queue of a hog, who makes another one ready for the background: a worker that needs both steals
 * before it looks into the background; see parts-case.h.
 */
#include "parts-case.h"

#include "pushing/pushing.c"
#include "dscheck/stub_core.c"

static inline void in_order(struct stub_worker *me)
{
    assert(stub_get(me) == F(1));
    stub_get(me);
}

PARTS_MAIN(pushing, 2, PARTS_KNOBS({"fresh", FRESH_PUSH}, ),
           (F(0)->pub.background = true, stub_ready(W0, F(1), TN_SPAWNED)), ran(2), stub_ready(W0, F(0), TN_SPAWNED),
           in_order(W1), )
CASE_MAIN(prepare, check, thread0, thread1)
