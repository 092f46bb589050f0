/* SPDX-License-Identifier: MIT */
/* staged, two stages with a worker each, of which one leaves while a fibre enters its stage, which is then everybody's: the
 * other one, who sleeps, is woken by one of the two; see parts-case.h. */
#include "parts-case.h"

#include "staged/staged.c"
#include "dscheck/stub_core.c"

static _Atomic(unsigned) done;

static void enter(struct stub_fibre *f)
{
    *(uint32_t *)tn_fibre_state(&f->pub) = 1;
    stub_ready(NULL, f, TN_MIGRATED);
}

/* By whoever is the second. */
static void after_both(void)
{
    if (atomic_fetch_add_explicit(&done, 1, memory_order_seq_cst) == 0)
        return;
    assert(!tn_worker_idle(&W0->pub));
    stub_get(W0);
    assert(tn_now() == 1); /* it has not waited */
}

PARTS_MAIN(staged, 2, PARTS_KNOBS({"stages", 2}, {"split", 11}, {"control", 0}, {"batch", 1}, ),
           (atomic_init(&done, 0), stub_asleep(W0)),
           (ran(1), assert(tn_stage_workers(stage_of(&stub_cluster, 1)) == 0)), (enter(F(0)), after_both()),
           (stub_leave(W1), after_both()), )
CASE_MAIN(prepare, check, thread0, thread1)
