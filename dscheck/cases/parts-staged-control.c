/* SPDX-License-Identifier: MIT */
/* staged, with a controller: of two workers of a stage that has nothing one goes over to another one, whose worker is busy
 * for ever, and not both at once; a fibre that enters the first stage meanwhile is got as well; see parts-case.h. */
#include "parts-case.h"

#include "staged/staged.c"
#include "dscheck/stub_core.c"

static void begin(void)
{
    for (unsigned i = 1; i < 4; i++) {
        *(uint32_t *)tn_fibre_state(&F(i)->pub) = 1;
        stub_ready(W2, F(i), TN_MIGRATED);
    }
}

/* Those of the pools, and one has gone over. */
static void counted(void)
{
    uint32_t of_pool[2] = {0};
    for (unsigned i = 0; i < 3; i++)
        of_pool[pool_of(&stub_worker[i].pub)]++;
    for (unsigned s = 0; s < 2; s++)
        assert(tn_stage_workers(stage_of(&stub_cluster, s)) == of_pool[s]);
    assert(of_pool[0] == 1);
}

PARTS_MAIN(staged, 3, PARTS_KNOBS({"stages", 2}, {"split", 21}, {"control", 1000}, {"batch", 1}, ), begin(),
           counted(), (stub_next(W0, false)), (stub_next(W1, false)), )
CASE_MAIN(prepare, check, thread0, thread1)
