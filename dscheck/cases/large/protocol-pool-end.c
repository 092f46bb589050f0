/* SPDX-License-Identifier: MIT */
/* Large: no bound, and no end in sight.  A --budget explores a part, and the answer is *incomplete*: no proof. */
/*
 * pool: two submitters that wait for nothing, two patient threads, and then the end: each call is run or dropped, and no
 * thread stays asleep.
 */
#include "../pool-case.h"

static struct tn_call *dropped[2]; /* each submitter's own */

static void prepare(void)
{
    prepare_pool(2, 2, CASE_FOREVER);
    dropped[0] = dropped[1] = NULL;
}

static void *submit_two(void *random)
{
    case_start(random);
    submit(&call[0]);
    submit(&call[1]);
    dropped[0] = stop_if_last();
    return case_end();
}

static void *submit_one(void *random)
{
    case_start(random);
    submit(&call[2]);
    dropped[1] = stop_if_last();
    return case_end();
}

static void check(void)
{
    check_pool();
    for (int i = 0; i < 2; i++)
        for (struct tn_call *c = dropped[i]; c != NULL; c = c->next) {
            assert(((struct call *)(void *)c)->runs == 0);
            ((struct call *)(void *)c)->runs = 1;
        }
    for (int i = 0; i < CALLS; i++)
        assert(call[i].runs == 1);
}

CASE_MAIN(prepare, check, submit_two, submit_one, pool_thread0, pool_thread1)
