/* SPDX-License-Identifier: MIT */
/*
 * promiseword: who gets the value frees the promise, and looks first or does not: who keeps it has done its last to it.
 */
#include "promise-case.h"

static struct tn_promiseword *shared;

static void fresh(void)
{
    prepare();
    shared = calloc(1, sizeof(*shared));
    assert(shared != NULL);
}

static void *waiter(void *random)
{
    struct tn_promiseword *p = shared;
    case_start(random);
    assert((tn_promiseword_kept(p) ? p->value : get(p, &nodes[0])) == &shared);
    free(p);
    return case_end();
}

static void *keeper(void *random)
{
    struct tn_promiseword *p = shared;
    case_start(random);
    assert(keep(p, &shared));
    return case_end();
}

static void check(void)
{
    shared = NULL;
}

CASE_MAIN(fresh, check, waiter, keeper)
