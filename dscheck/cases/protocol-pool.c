/* SPDX-License-Identifier: MIT */
/*
 * pool: one thread at most, which runs out of patience as soon as it is idle: so a call is handed to it,
 * or brings it to life again, while it goes.
 */
#include "pool-case.h"

static void prepare(void)
{
    prepare_pool(1, 1, 1);
    submit(&call[0]);
}

static void *submitter(void *random)
{
    case_start(random);
    submit(&call[1]);
    await(&call[1], RUN);
    await(&call[0], RUN);
    assert(stop_if_last() == NULL);
    return case_end();
}

CASE_MAIN(prepare, check_pool, submitter, pool_thread0)
