/* SPDX-License-Identifier: MIT */
/* spmc_deque: the owner reuses slots that a thief is reading, and comes back to the same places; see spmc-case.h. */
#define TN_QUEUES_STANDALONE
#define SPMC(x) tn_spmc_deque##x

#include "core/queues/spmc_deque.h"
#include "spmc-case.h"

static void *again_owner(void *random)
{
    case_start(random);
    tn_spmc_deque_reverse(q);
    note(&got[0], tn_spmc_deque_pop(q)); /* items 0 and 1, and then 2 and 3 in their slots */
    note(&got[0], tn_spmc_deque_pop(q));
    for (int i = 2; i < 4; i++)
        pushed[i] = tn_spmc_deque_push(q, &node[i]);
    tn_spmc_deque_reverse(q);
    return NULL;
}

CASE_MAIN(spmc_wrap, spmc_check, again_owner, wrap_thief)
