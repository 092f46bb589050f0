/* SPDX-License-Identifier: MIT */
/* spmc_lifo: the owner and two thieves compete for the last item; see spmc-case.h. */
#define TN_QUEUES_STANDALONE
#define SPMC(x) tn_spmc_lifo##x

#include "core/queues/spmc_lifo.h"
#include "spmc-case.h"

CASE_MAIN(spmc_last, spmc_check, last_owner, last_thief, one_thief)
