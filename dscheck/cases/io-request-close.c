/* SPDX-License-Identifier: MIT */
/*
 * Closed under one that reads, or is about to ask for it, where nothing ever comes: the reader is told, and nothing is
 * asked for in its name any more.
 */
#include "request-case.h"

static void *reader(void *random)
{
    case_start(random);
    assert(reads(0, TN_FOREVER) == -ECANCELED);
    is_due();
    return case_end();
}

static void *closes(void *random)
{
    struct tn_claims claims = {NULL, NULL};
    case_start(random);
    struct tn_under_way under_way = tn_way_end(&way, &claims);
    if (under_way.request != NULL)
        withdraws(under_way.place, under_way.request);
    tn_claims_let_go(claims);
    return case_end();
}

static void *poller(void *random)
{
    case_start(random);
    makes();
    return case_end();
}

static void prepare(void)
{
    open_way();
    comes = false;
}

CASE_MAIN(prepare, nothing_is_left, reader, closes, poller)
