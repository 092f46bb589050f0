/* SPDX-License-Identifier: MIT */
/*
 * Two selects, each to send on and to receive from one and the same channel: they meet, and neither meets itself.
 */
#include "channel-case.h"

static int had[2];
static unsigned arm[2];

static void prepare(void)
{
    open_channels(0);
    memset(had, 0, sizeof(had));
}

static void *selects(unsigned me)
{
    int item = 1 + (int)me;
    assert(select_two(SEND(&channels[0], &item), RECEIVE(&channels[0], &had[me]), TN_FOREVER, &arm[me]) == 0);
    return case_end();
}

static void *one(void *random)
{
    case_start(random);
    return selects(0);
}

static void *two(void *random)
{
    case_start(random);
    return selects(1);
}

static void check(void)
{
    assert(arm[0] != arm[1]);
    assert(arm[0] == 0 ? had[1] == 1 && had[0] == 0 : had[0] == 2 && had[1] == 0);
    nobody_waits();
}

CASE_MAIN(prepare, check, one, two)
