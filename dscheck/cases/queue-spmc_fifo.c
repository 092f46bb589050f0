/* SPDX-License-Identifier: MIT */
/* spmc_fifo: the owner and two thieves compete for the last item; see spmc-case.h. */
#define TN_QUEUES_STANDALONE
#define SPMC(x) tn_spmc_fifo##x

#include "core/queues/spmc_fifo.h"
#include "spmc-case.h"

CASE_MAIN(spmc_last, spmc_check, last_owner, last_thief, one_thief)
