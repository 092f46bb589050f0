/* SPDX-License-Identifier: MIT */
/* spmc_lifo: the owner reuses slots that a thief is reading; see spmc-case.h. */
#define TN_QUEUES_STANDALONE
#define SPMC(x) tn_spmc_lifo##x

#include "core/queues/spmc_lifo.h"
#include "spmc-case.h"

CASE_MAIN(spmc_wrap, spmc_check, wrap_owner, wrap_thief)
