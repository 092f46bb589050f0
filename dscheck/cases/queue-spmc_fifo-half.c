/* SPDX-License-Identifier: MIT */
/* spmc_fifo: thieves take half and one while the owner pops; see spmc-case.h. */
#define TN_QUEUES_STANDALONE
#define SPMC(x) tn_spmc_fifo##x

#include "core/queues/spmc_fifo.h"
#include "spmc-case.h"

CASE_MAIN(spmc_half, spmc_check, half_owner, half_thief, one_thief)
