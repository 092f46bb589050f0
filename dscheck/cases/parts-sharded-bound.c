/* SPDX-License-Identifier: MIT */
/*
 * sharded, bound=0: two shards that are as strict as one queue.  A worker makes two fibres ready, the second of which finds
 * its shard full and goes to the other one; another worker takes two, and never the second before the first.
 */
#include "parts-case.h"

#include "sharded/sharded.c"
#include "dscheck/stub_core.c"

static void in_order(struct stub_worker *me)
{
    struct stub_fibre *first = stub_next(me, false), *second = stub_next(me, false);
    assert(first != F(1) || second != F(0));
}

PARTS_MAIN(sharded, 2, PARTS_KNOBS({"shards", 2}, {"capacity", 1}, {"bound", 0}, ), , ,
           (stub_ready(W0, F(0), TN_SPAWNED), stub_ready(W0, F(1), TN_SPAWNED)), in_order(W1), )
CASE_MAIN(prepare, check, thread0, thread1)
