/* SPDX-License-Identifier: MIT */
/*
 * A select that may give up at whatever moment: one closes the one channel, one sends on the other if somebody waits there. What
 * was sent was received, and it is told of the closing by the arm that it is of.
 */
#include "channel-case.h"

static int had, sent;

static void prepare(void)
{
    open_channels(0);
    had = 0;
    sent = 0;
}

static void *selects(void *random)
{
    unsigned which;
    int item = 5;
    case_start(random);
    int rc = select_two(SEND(&channels[0], &item), RECEIVE(&channels[1], &had), 0, &which);
    assert(rc == 0 ? which == 1 && had == 7 : rc == EPIPE ? which == 0 : which == 2);
    assert(rc == 0 || had == 0);
    return case_end();
}

static void *closes(void *random)
{
    case_start(random);
    assert(tn_channel_close(&channels[0]) == 0);
    return case_end();
}

static void *sends(void *random)
{
    int item = 7;
    case_start(random);
    int rc = tn_channel_trysend(&channels[1], &item);
    assert(rc == 0 || rc == EAGAIN);
    sent = rc == 0 ? item : 0;
    return case_end();
}

static void check(void)
{
    assert(sent == had);
    nobody_waits();
}

CASE_MAIN(prepare, check, selects, closes, sends)
