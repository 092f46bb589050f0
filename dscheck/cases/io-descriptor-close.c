/* SPDX-License-Identifier: MIT */
/*
 * Closed under one that reads, while an event is on its way: the reader is told either, and the number's next owner
 * nothing of it.
 */
#include "descriptor-case.h"

static void *reader(void *random)
{
    case_start(random);
    int got = reads(0, TN_FOREVER);
    assert(got == 1 || got == -ECANCELED);
    return case_end();
}

static void *poller(void *random)
{
    case_start(random);
    comes(0);
    return case_end();
}

static void *closes(void *random)
{
    case_start(random);
    ends();
    return case_end();
}

static void next_owner(void)
{
    nobody_waits();
    assert(tn_way_generation(&way) == 1 && way.waits.state == 0);
}

CASE_MAIN(open_way, next_owner, reader, poller, closes)
