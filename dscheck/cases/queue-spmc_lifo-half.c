/* SPDX-License-Identifier: MIT */
/* spmc_lifo: thieves take half and one while the owner pops; see spmc-case.h. */
#define TN_QUEUES_STANDALONE
#define SPMC(x) tn_spmc_lifo##x

#include "core/queues/spmc_lifo.h"
#include "spmc-case.h"

CASE_MAIN(spmc_half, spmc_check, half_owner, half_thief, one_thief)
