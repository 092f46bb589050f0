/* SPDX-License-Identifier: MIT */
/* idle: the watcher is woken for what was made ready, and goes to work, while another worker is about to sleep. */
#include "hand-case.h"

static void prepare(void)
{
    prepare_hand(FAR);
}

static void *first(void *random)
{
    case_start(random);
    tn_idle_sleep(&slot[0], CASE_FOREVER);
    goes_to_work();
    return case_end();
}

static void *waker(void *random)
{
    case_start(random);
    wake(&slot[0]);
    return case_end();
}

CASE_MAIN(prepare, check, waker, first, second)
