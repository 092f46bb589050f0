/* SPDX-License-Identifier: MIT */
/* idle: one worker is about to watch a timer that is far away when a nearer one is armed; see watch-case.h. */
enum { WORKERS = 1 };

#include "watch-case.h"

CASE_MAIN(prepare, check, armer, watcher)
