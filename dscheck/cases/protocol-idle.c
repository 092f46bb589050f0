/* SPDX-License-Identifier: MIT */
/* idle: a waker makes two items one after the other, while the one worker that needs both looks, parks and is woken. */
enum { WORKERS = 1, ITEMS = 2, GETS = 2, ASLEEP = 0, THERE = 0 };

#include "idle-case.h"

CASE_MAIN(prepare, check, waker, worker0)
