/* SPDX-License-Identifier: MIT */
/* idle: the watcher's timer runs out and gives it something to run, while another worker is about to sleep; a second timer
 * is left. */
#include "hand-case.h"

enum { NEAR = 1000 };

static void prepare(void)
{
    prepare_hand(NEAR);
}

static void *first(void *random)
{
    case_start(random);
    tn_idle_sleep(&slot[0], NEAR);
    atomic_store_explicit(&earliest, FAR, memory_order_relaxed);
    goes_to_work();
    return case_end();
}

CASE_MAIN(prepare, check, first, second)
