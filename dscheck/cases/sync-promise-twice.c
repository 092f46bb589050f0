/* SPDX-License-Identifier: MIT */
/*
 * promiseword: two keep the same promise, one waits: one of them is refused, and the value is the other's.
 */
#include "promise-case.h"

static int values[2], kept[2];
static void *got;

static void *waiter(void *random)
{
    case_start(random);
    got = get(&promise, &nodes[0]);
    assert(got == promise.value); /* for good */
    return case_end();
}

static void *keeps(int i)
{
    kept[i] = keep(&promise, &values[i]);
    return case_end();
}

static void *one(void *random)
{
    case_start(random);
    return keeps(0);
}

static void *other(void *random)
{
    case_start(random);
    return keeps(1);
}

static void check(void)
{
    assert(kept[0] + kept[1] == 1);
    assert(got == &values[kept[0] ? 0 : 1]);
}

CASE_MAIN(prepare, check, waiter, one, other)
