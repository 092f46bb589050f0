/* SPDX-License-Identifier: MIT */
/*
 * pool: one thread at most, which runs out of patience as soon as it is idle: so calls are handed to it, and bring it to
 * life again, while it goes.
 */
#include "pool-case.h"

static void prepare(void)
{
    prepare_pool(1, 1, 1);
}

static void *submit_two(void *random)
{
    case_start(random);
    for (int i = 0; i < 2; i++) {
        submit(&call[i]);
        await(&call[i], RUN);
    }
    assert(stop_if_last() == NULL);
    return case_end();
}

CASE_MAIN(prepare, check_pool, submit_two, pool_thread0)
