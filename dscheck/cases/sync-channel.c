/* SPDX-License-Identifier: MIT */
/*
 * Channel with one place: two send, one receives both: each item once, whoever has to wait.
 */
#include "channel-case.h"

static int had; /* bits */

static void prepare(void)
{
    open_channels(1);
    had = 0;
}

static void *sends(int item)
{
    assert(tn_channel_send(&channels[0], &item) == 0);
    return case_end();
}

static void *one(void *random)
{
    case_start(random);
    return sends(1);
}

static void *two(void *random)
{
    case_start(random);
    return sends(2);
}

static void *receives(void *random)
{
    case_start(random);
    for (int i = 0; i < 2; i++) {
        int item = 0;
        assert(tn_channel_receive(&channels[0], &item) == 0);
        had |= item;
    }
    return case_end();
}

static void check(void)
{
    assert(had == 3 && channels[0].waits.state == 0);
    nobody_waits();
}

CASE_MAIN(prepare, check, one, two, receives)
