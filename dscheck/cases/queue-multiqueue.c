/* SPDX-License-Identifier: MIT */
/* multiqueue: two queues with buffers of one, two threads that push and take; whoever finds the lock of one taken goes to the
 * other, or waits. */
#include "multiqueue-case.h"

static void prepare(void)
{
    multi_fresh(2, 1);
    multi_push(0, 0, 2); /* so that each has a heap */
    multi_push(0, 1, 1);
}

static void *pusher(void *random)
{
    case_start(random);
    multi_push(0, 2, 0);
    multi_pop(0);
    return NULL;
}

static void *popper(void *random)
{
    case_start(random);
    multi_pop(1);
    multi_push(1, 3, 1);
    return NULL;
}

static void check(void)
{
    multi_check(2, 4);
}

CASE_MAIN(prepare, check, pusher, popper)
