/* SPDX-License-Identifier: MIT */
/* chase_lev: full, the owner goes on in a larger array, which thieves come to see at any time; see spmc-case.h. */
#include "chase_lev-case.h"

static void *grower(void *random)
{
    case_start(random);
    tn_chase_lev_grow(&q->q, q->larger, 4);
    pushed[2] = chase_push(q, &node[2]);
    assert(pushed[2] && chase_valid(q));
    note(&got[0], chase_pop(q));
    return NULL;
}

CASE_MAIN(spmc_wrap, spmc_check, grower, wrap_thief, one_thief)
