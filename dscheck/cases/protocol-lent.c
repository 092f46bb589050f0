/* SPDX-License-Identifier: MIT */
/* lent: tn_run's thread is the one worker of the first cluster, and the first fibre ends in another one; see lent-case.h. */
enum { WORKERS = 1 };

#include "lent-case.h"

CASE_MAIN(prepare, check, end, run_lent)
