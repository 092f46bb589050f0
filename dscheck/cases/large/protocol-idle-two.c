/* SPDX-License-Identifier: MIT */
/* Large: no bound, and no end in sight.  A --budget explores a part, and the answer is *incomplete*: no proof. */
/* idle: two workers that look, park and are woken, and a waker that makes an item for each. */
enum { WORKERS = 2, ITEMS = 2, GETS = 1, ASLEEP = 0, THERE = 0 };

#include "../idle-case.h"

CASE_MAIN(prepare, check, waker, worker0, worker1)
