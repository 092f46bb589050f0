/* SPDX-License-Identifier: MIT */
/* mpmc_fad: full, and across the end of its two slots: two consumers make room for two producers; see mpmc-case.h. */
#define RING    tn_mpmc_fad
#define MPMC(x) tn_mpmc_fad##x

#include "queue-case.h"

#include "core/queues/mpmc_fad.h"
#include "mpmc-case.h"

CASE_MAIN(mpmc_filled, mpmc_check_room, push2, push3, pop1, pop2)
