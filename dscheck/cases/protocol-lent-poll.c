/* SPDX-License-Identifier: MIT */
/* lent: tn_run's thread waits in the poller when the first fibre ends in another cluster; see lent-case.h. */
#define POLLS
enum { WORKERS = 1 };

#include "lent-case.h"

CASE_MAIN(prepare, check, end, run_lent)
