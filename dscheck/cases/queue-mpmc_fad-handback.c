/* SPDX-License-Identifier: MIT */
/* mpmc_fad: an item is not left behind while everybody is told *empty*; see mpmc-case.h. */
#define RING    tn_mpmc_fad
#define MPMC(x) tn_mpmc_fad##x

#include "queue-case.h"

#include "core/queues/mpmc_fad.h"
#include "mpmc-case.h"

CASE_MAIN(mpmc_single, mpmc_check_behind, push_pop, pop1, pop2)
