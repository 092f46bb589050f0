/* SPDX-License-Identifier: MIT */
/* staged, one that leaves while another steals from its batch: it holds nothing any more, and belongs to no stage, so that
 * nobody needs to wait until it is taken for stuck; see parts-case.h. */
#include "parts-case.h"

#include "staged/staged.c"
#include "dscheck/stub_core.c"

static void left(void)
{
    assert(tn_locked_queue_length(&of(&W0->pub)->batch) == 0);
    assert(tn_stage_workers(stage_of(&stub_cluster, 0)) == 1);
}

PARTS_MAIN(staged, 2, PARTS_KNOBS({"stages", 1}, {"batch", 4}, {"control", 0}, ),
           for (unsigned i = 0; i < 5; i++) stub_ready(W0, F(i), TN_SPAWNED);
           stub_next(W0, false), left(), stub_leave(W0), (stub_steal(W1, W0), stub_next(W1, false)), )
CASE_MAIN(prepare, check, thread0, thread1)
