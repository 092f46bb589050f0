/* SPDX-License-Identifier: MIT */
/*
 * Promise: who gets the value frees the promise, and looks first or does not: who keeps it has done its last to it.
 */
#include "list-case.h"

#include "sync/promise.c"

static tn_promise *shared;

static void prepare(void)
{
    shared = calloc(1, sizeof(*shared));
    assert(shared != NULL);
}

static void *waits(void *random)
{
    tn_promise *p = shared;
    case_start(random);
    assert(tn_promise_get(p) == &shared);
    free(p);
    return case_end();
}

static void *keeps(void *random)
{
    tn_promise *p = shared;
    case_start(random);
    assert(tn_promise_set(p, &shared) == 0);
    return case_end();
}

static void check(void)
{
    shared = NULL;
}

CASE_MAIN(prepare, check, waits, keeps)
