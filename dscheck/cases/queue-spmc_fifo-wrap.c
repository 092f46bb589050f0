/* SPDX-License-Identifier: MIT */
/* spmc_fifo: the owner reuses slots that a thief is reading; see spmc-case.h. */
#define TN_QUEUES_STANDALONE
#define SPMC(x) tn_spmc_fifo##x

#include "core/queues/spmc_fifo.h"
#include "spmc-case.h"

CASE_MAIN(spmc_wrap, spmc_check, wrap_owner, wrap_thief)
