/* SPDX-License-Identifier: MIT */
/* Large: no bound, and no end in sight.  A --budget explores a part, and the answer is *incomplete*: no proof. */
/*
 * pool: two submitters, one thread at most, which runs out of patience as soon as it is idle: so calls are handed to it,
 * wait for it, and bring it to life again, while it goes.
 */
#include "../pool-case.h"

static void prepare(void)
{
    prepare_pool(2, 1, 1);
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

static void *submit_one(void *random)
{
    case_start(random);
    submit(&call[2]);
    await(&call[2], RUN);
    assert(stop_if_last() == NULL);
    return case_end();
}

CASE_MAIN(prepare, check_pool, submit_two, submit_one, pool_thread0)
