/* SPDX-License-Identifier: MIT */
/* Large: some 500 000 executions, all of which are explored where no --budget is given. */
/* idle: the same while another one sleeps, who may come to watch in its place; see watch-case.h. */
enum { WORKERS = 2 };

#include "../watch-case.h"

CASE_MAIN(prepare, check, armer, sleeper, watcher)
