/* SPDX-License-Identifier: MIT */
/* mpmc_ring: an item is not left behind while everybody is told *empty* (invariant 4).  A consumer that came too
 * late for the first item has a ticket, behind which the second comes to lie; it must not give it back and go home; see mpmc-case.h. */
#define RING    tn_mpmc_ring
#define MPMC(x) tn_mpmc##x

#include "queue-case.h"

#include "core/queues/mpmc_ring.h"
#include "mpmc-case.h"

CASE_MAIN(mpmc_single, mpmc_check_behind, push_pop, pop1, pop2)
