/* SPDX-License-Identifier: MIT */
/* chase_lev: the owner and two thieves compete for the last item; see spmc-case.h. */
#include "chase_lev-case.h"

CASE_MAIN(spmc_last, spmc_check, last_owner, last_thief, one_thief)
