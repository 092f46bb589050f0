/* SPDX-License-Identifier: MIT */
/* lent: tn_run's thread is one of two workers, and the first fibre ends on the other one; see lent-case.h. */
enum { WORKERS = 2 };

#include "lent-case.h"

CASE_MAIN(prepare, check, end, run_lent)
