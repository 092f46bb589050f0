/* SPDX-License-Identifier: MIT */
/* mpmc_cas: two producers, two consumers, one operation each, at an empty ring; see mpmc-case.h. */
#define RING    tn_mpmc_cas
#define MPMC(x) tn_mpmc_cas##x

#include "queue-case.h"

#include "core/queues/mpmc_cas.h"
#include "mpmc-case.h"

CASE_MAIN(mpmc_empty, mpmc_check, push0, push1, pop0, pop1)
