/* SPDX-License-Identifier: MIT */
/* staged, two stages with a worker each, both full, of which each feeds the other: what moves on enters all the same, so each
 * worker goes on to another fibre, while a spawn is refused; see parts-case.h. */
#include "parts-case.h"

#include "staged/staged.c"
#include "dscheck/stub_core.c"

static void enter(struct stub_fibre *f, unsigned stage, enum tn_why why)
{
    *(uint32_t *)tn_fibre_state(&f->pub) = stage;
    stub_ready(NULL, f, why);
}

static void move_on(struct stub_worker *me, struct stub_fibre *f, unsigned stage)
{
    int rc = staged_stage(&me->pub, &f->pub, stage);
    assert(rc == 0);
    stub_ready(me, f, TN_STAGED);
    stub_get(me);
}

PARTS_MAIN(staged, 2,
           PARTS_KNOBS({"stages", 2}, {"split", 11}, {"control", 0}, {"batch", 1}, {"capacity", 1},
                       {"full", FULL_REFUSE}, ),
           (*(uint32_t *)tn_fibre_state(&F(1)->pub) = 1, enter(F(2), 0, TN_SPAWNED), enter(F(3), 1, TN_MIGRATED)),
           assert(tn_now() == 1 && F(0)->runs + F(1)->runs + F(2)->runs + F(3)->runs == 2),
           (assert(!stub_spawn(W0, F(0), F(4))), move_on(W0, F(0), 1)), move_on(W1, F(1), 0), )
CASE_MAIN(prepare, check, thread0, thread1)
