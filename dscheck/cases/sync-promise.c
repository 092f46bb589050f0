/* SPDX-License-Identifier: MIT */
/*
 * promiseword: two wait, one keeps the promise: both have what it was kept with, whenever they come.
 */
#include "promise-case.h"

static int told; /* plain: written by who keeps it, before */

static void *waiter(struct tn_node *node)
{
    assert(get(&promise, node) == &told);
    assert(told == 7);
    return case_end();
}

static void *first(void *random)
{
    case_start(random);
    return waiter(&nodes[0]);
}

static void *second(void *random)
{
    case_start(random);
    return waiter(&nodes[1]);
}

static void *keeper(void *random)
{
    case_start(random);
    told = 7;
    assert(keep(&promise, &told));
    return case_end();
}

static void check(void)
{
    assert(atomic_load(&promise.word) == TN_PROMISE_FLAGS);
    told = 0;
}

CASE_MAIN(prepare, check, first, second, keeper)
