/* SPDX-License-Identifier: MIT */
/* pushing, as its preset has it: a fibre is staged for all, another one goes back to the worker it belongs to, a hog; one that
 * sleeps needs both, the longest busy one's first; see parts-case.h. */
#include "parts-case.h"

#include "pushing/pushing.c"
#include "dscheck/stub_core.c"

PARTS_MAIN(pushing, 2,
           PARTS_KNOBS({"queue", TN_PUSHED_NEMESIS}, {"fresh", FRESH_STAGING}, {"steal", STEAL_ONE}, {"levels", 3}, ),
           (*(uint32_t *)tn_fibre_state(&F(1)->pub) = 1 + W0->pub.index, stub_asleep(W1)), ran(2),
           (stub_ready(W0, F(0), TN_SPAWNED), stub_ready(W0, F(1), TN_WOKEN)), (stub_get(W1), stub_get(W1)), )
CASE_MAIN(prepare, check, thread0, thread1)
