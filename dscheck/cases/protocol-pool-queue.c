/* SPDX-License-Identifier: MIT */
/* pool: one patient thread at most, which has been made for a call: another call waits for it, or finds it idle. */
#include "pool-case.h"

static void prepare(void)
{
    prepare_pool(1, 1, CASE_FOREVER);
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
