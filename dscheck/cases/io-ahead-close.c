/* SPDX-License-Identifier: MIT */
/*
 * Closed under one that asks, while something is received: it has that or is told, and the number's next owner has nothing
 * of it, whenever it comes.
 */
#define THINGS 1 /* two are eight million executions, and more */

#include "ahead-case.h"

static void *reader(void *random)
{
    case_start(random);
    int thing = reads(0, TN_FOREVER);
    assert(thing == 1 || thing == -ECANCELED);
    return case_end();
}

static void *closes(void *random)
{
    struct tn_claims claims = {NULL, NULL};
    void *place;
    case_start(random);
    assert(tn_way_end(&way, &claims).request == NULL);
    tn_claims_let_go(claims);
    tn_ahead_drop(&ahead, &place);
    assert(reads(1, 1) == -ETIMEDOUT);
    is_due();
    return case_end();
}

static void *poller(void *random)
{
    case_start(random);
    receives();
    return case_end();
}

static void check(void)
{
    assert(ahead.first == NULL && atomic_load_explicit(&gone, memory_order_relaxed) == THINGS);
}

CASE_MAIN(open_way, check, reader, closes, poller)
