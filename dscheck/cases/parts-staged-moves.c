/* SPDX-License-Identifier: MIT */
/* staged, two stages with a worker each: a fibre moves on from the one, whose worker is busy for ever with the next one; the
 * other gets it, and has not to wait until it is taken for stuck; see parts-case.h. */
#include "parts-case.h"

#include "staged/staged.c"
#include "dscheck/stub_core.c"

static void move_on(struct stub_worker *me, struct stub_fibre *f)
{
    int rc = staged_stage(&me->pub, &f->pub, 1);
    assert(rc == 0);
    stub_ready(me, f, TN_STAGED);
}

PARTS_MAIN(staged, 2, PARTS_KNOBS({"stages", 2}, {"split", 11}, {"control", 0}, {"batch", 1}, ),
           (stub_ready(W0, F(0), TN_SPAWNED), stub_next(W0, false)),
           assert(F(0)->runs == 2 && F(0)->pub.home->index == 1 && tn_now() == 1), move_on(W0, F(0)), stub_get(W1), )
CASE_MAIN(prepare, check, thread0, thread1)
