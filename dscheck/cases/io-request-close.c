/* SPDX-License-Identifier: MIT */
/*
 * Closed under one that reads, or is about to ask for it, where nothing ever comes: the reader is told, and nothing is
 * asked for in its name any more. What the number's next owner asks for remains known, whenever the reader is told.
 */
#include "request-case.h"

static struct tn_under_way of_next_owner;

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
    struct tn_waitlist *l = tn_waitlist_lock(&way.waits);
    way.under_way = &of_next_owner;
    tn_waitlist_unlock(l);
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

static void check(void)
{
    assert(way.under_way == &of_next_owner);
    way.under_way = NULL;
    nothing_is_left();
}

CASE_MAIN(prepare, check, reader, closes, poller)
