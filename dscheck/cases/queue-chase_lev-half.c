/* SPDX-License-Identifier: MIT */
/* chase_lev: two thieves take one of three items each, while the owner pops two; see spmc-case.h. */
#include "chase_lev-case.h"

CASE_MAIN(spmc_half, spmc_check, half_owner, half_thief, one_thief)
