/* SPDX-License-Identifier: MIT */
/*
 * Select: one waits to receive from either of two, and then receives from the other one; each has a sender: of its two nodes
 * one is claimed, and the other sender is not told that it has sent.
 */
#include "channel-case.h"

static int had;

static void prepare(void)
{
    open_channels(0);
    had = 0;
}

static void *selects(void *random)
{
    int first = 0, second = 0;
    unsigned which;
    case_start(random);
    assert(select_two(RECEIVE(&channels[0], &first), RECEIVE(&channels[1], &first), TN_FOREVER, &which) == 0);
    assert(first == 1 << which);
    assert(tn_channel_receive(&channels[1 - which], &second) == 0);
    had = first + second;
    return case_end();
}

static void *sends(int i)
{
    int item = 1 << i;
    assert(tn_channel_send(&channels[i], &item) == 0);
    return case_end();
}

static void *one(void *random)
{
    case_start(random);
    return sends(0);
}

static void *two(void *random)
{
    case_start(random);
    return sends(1);
}

static void check(void)
{
    assert(had == 3);
    nobody_waits();
}

CASE_MAIN(prepare, check, selects, one, two)
