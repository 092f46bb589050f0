/* SPDX-License-Identifier: MIT */
/*
 * Promise: two keep it, one waits: one of them is refused, and the value is the other's, for good.
 */
#include "list-case.h"

#include "sync/promise.c"

static tn_promise promise;
static int values[2], kept_by[2];
static void *got;

static void prepare(void)
{
    tn_promise_init(&promise);
}

static void *waits(void *random)
{
    case_start(random);
    got = tn_promise_get(&promise);
    assert(got == promise.value);
    return case_end();
}

static void *keeps(int i)
{
    kept_by[i] = tn_promise_set(&promise, &values[i]) == 0;
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
    assert(kept_by[0] + kept_by[1] == 1);
    assert(got == &values[kept_by[0] ? 0 : 1]);
}

CASE_MAIN(prepare, check, waits, one, other)
