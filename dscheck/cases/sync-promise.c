/* SPDX-License-Identifier: MIT */
/*
 * Promise: two wait, one of which may give up at whatever moment, one keeps it: who is told has what it was kept with,
 * whenever it comes.
 */
#include "list-case.h"

#include "sync/promise.c"

static tn_promise promise;
static int told; /* plain: written by who keeps it, before */

static void prepare(void)
{
    tn_promise_init(&promise);
    told = 0;
}

static void *waits(void *random)
{
    void *value = NULL;
    case_start(random);
    assert(tn_promise_get_until(&promise, &value, TN_FOREVER, NULL) == 0 && value == &told && told == 7);
    return case_end();
}

static void *late(void *random)
{
    void *value = NULL;
    case_start(random);
    int rc = tn_promise_get_until(&promise, &value, 0, NULL);
    assert(rc == 0 ? value == &told && told == 7 : rc == ETIMEDOUT && value == NULL);
    return case_end();
}

static void *keeps(void *random)
{
    case_start(random);
    told = 7;
    assert(tn_promise_set(&promise, &told) == 0);
    return case_end();
}

static void check(void)
{
    assert(promise.waits.state == 1 && promise.waits.ring == NULL);
}

CASE_MAIN(prepare, check, waits, late, keeps)
