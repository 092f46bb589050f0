/* SPDX-License-Identifier: MIT */
/* idle: a worker is about to sleep on its word when the first descriptor is armed. */
enum { WORKERS = 1 };

#include "poll-case.h"

static void prepare(void)
{
    prepare_poll(false);
    tn_idle_search_begin(&idle);
}

static void *arms(void *random)
{
    case_start(random);
    atomic_store_explicit(&armed, true, memory_order_relaxed);
    if (tn_idle_wanted(&idle, true))
        wake(NULL);
    return case_end();
}

static void *worker(void *random)
{
    case_start(random);
    becomes_idle(0);
    return case_end();
}

CASE_MAIN(prepare, check, arms, worker)
