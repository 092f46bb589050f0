/* SPDX-License-Identifier: MIT */
/*
 * pool: a submitter is told to make a second thread, and finds only later that none can be had; meanwhile the first one may
 * have become idle, and must get the call.
 */
#include "pool-case.h"

static void prepare(void)
{
    prepare_pool(1, 2, CASE_FOREVER);
    pool.n = 1; /* it runs a call of somebody who is not in the case */
    record[0].pub.call = &call[0].pub;
    atomic_init(&record[0].life, BORN);
    atomic_init(&record[0].off, false);
    atomic_init(&records, 1);
}

static void *submits(void *random)
{
    case_start(random);
    submit_where(&call[1], true);
    await(&call[1], RUN);
    assert(stop_if_last() == NULL);
    return case_end();
}

CASE_MAIN(prepare, check_pool, submits, pool_thread0)
