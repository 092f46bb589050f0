/* SPDX-License-Identifier: MIT */
/*
 * pool: calls that nobody waits for, a patient thread, and then the end: each call is run or dropped, and the thread does not
 * stay asleep.
 */
#include "pool-case.h"

enum { ENDED = 2 };
static struct tn_call *dropped;

static void prepare(void)
{
    prepare_pool(1, 1, CASE_FOREVER);
    dropped = NULL;
}

static void *submitter(void *random)
{
    case_start(random);
    for (int i = 0; i < ENDED; i++)
        submit(&call[i]);
    dropped = stop_if_last();
    return case_end();
}

static void check(void)
{
    check_pool();
    for (struct tn_call *c = dropped; c != NULL; c = c->next) {
        assert(((struct call *)(void *)c)->runs == 0);
        ((struct call *)(void *)c)->runs = 1;
    }
    for (int i = 0; i < ENDED; i++)
        assert(call[i].runs == 1);
}

CASE_MAIN(prepare, check, submitter, pool_thread0)
