/* SPDX-License-Identifier: MIT */
/*
 * spmc_deque: the owner turns it upside down, pops both ends and pushes while two thieves take.  What a thief read before a
 * turn it must not claim after it.
 */
#define TN_QUEUES_STANDALONE
#define SPMC(x) tn_spmc_deque##x

#include "core/queues/spmc_deque.h"
#include "spmc-case.h"

static void *turn_owner(void *random)
{
    case_start(random);
    tn_spmc_deque_reverse(q);
    note(&got[0], tn_spmc_deque_pop(q));
    tn_spmc_deque_reverse(q);
    note(&got[0], tn_spmc_deque_pop_bottom(q));
    return NULL;
}

CASE_MAIN(spmc_half, spmc_check, turn_owner, half_thief, one_thief)
