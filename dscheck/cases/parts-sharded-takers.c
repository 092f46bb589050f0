/* SPDX-License-Identifier: MIT */
/*
 * sharded, bound=0: four fibres lie in two shards, and each of two workers takes two.  Each gets an older one first: what was
 * seen before the lock is looked at again inside it.
 */
#include "parts-case.h"

#include "sharded/sharded.c"
#include "dscheck/stub_core.c"

static void in_order(struct stub_worker *me)
{
    struct stub_fibre *first = stub_next(me, false), *second = stub_next(me, false);
    assert(first == NULL || second == NULL || first < second);
}

PARTS_MAIN(sharded, 2, PARTS_KNOBS({"shards", 2}, {"bound", 0}, ),
           (stub_ready(W0, F(0), TN_SPAWNED), stub_ready(W1, F(1), TN_SPAWNED), stub_ready(W1, F(2), TN_SPAWNED),
            stub_ready(W0, F(3), TN_SPAWNED)),
           , in_order(W0), in_order(W1), )
CASE_MAIN(prepare, check, thread0, thread1)
