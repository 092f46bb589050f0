/* SPDX-License-Identifier: MIT */
/* chase_lev: full, and across the end of its two slots; see spmc-case.h. */
#include "chase_lev-case.h"

CASE_MAIN(spmc_wrap, spmc_check, wrap_owner, wrap_thief)
