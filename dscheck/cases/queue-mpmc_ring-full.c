/* SPDX-License-Identifier: MIT */
/* mpmc_ring: full, and across the end of its two slots: a consumer makes room for two producers; see mpmc-case.h. */
#define RING    tn_mpmc_ring
#define MPMC(x) tn_mpmc##x

#include "queue-case.h"

#include "core/queues/mpmc_ring.h"
#include "mpmc-case.h"

CASE_MAIN(mpmc_filled, mpmc_check_full, push2, push3, pop_both)
