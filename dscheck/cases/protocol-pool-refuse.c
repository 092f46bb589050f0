/* SPDX-License-Identifier: MIT */
/*
 * pool: two submitters, room for two threads, and none to be had: each call is refused, by its submitter or by the other
 * one, who may have relied on it.
 */
#include "pool-case.h"

static void prepare(void)
{
    prepare_pool(2, 2, CASE_FOREVER);
    no_threads = true;
}

static void *submit_first(void *random)
{
    case_start(random);
    submit(&call[0]);
    await(&call[0], REFUSED);
    assert(stop_if_last() == NULL);
    return case_end();
}

static void *submit_second(void *random)
{
    case_start(random);
    submit(&call[1]);
    await(&call[1], REFUSED);
    assert(stop_if_last() == NULL);
    return case_end();
}

CASE_MAIN(prepare, check_pool, submit_first, submit_second)
