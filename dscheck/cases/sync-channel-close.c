/* SPDX-License-Identifier: MIT */
/*
 * Channel with one place: one sends two items, one closes it, one receives until it is told that it is closed: it has had
 * what was sent.
 */
#include "channel-case.h"

static int sent, had;

static void prepare(void)
{
    open_channels(1);
    sent = 0;
    had = 0;
}

static void *sends(void *random)
{
    case_start(random);
    for (int item = 1; item <= 2; item++) {
        int rc = tn_channel_send(&channels[0], &item);
        assert(rc == 0 || rc == EPIPE);
        if (rc == 0)
            sent += item;
    }
    return case_end();
}

static void *closes(void *random)
{
    case_start(random);
    assert(tn_channel_close(&channels[0]) == 0);
    return case_end();
}

static void *receives(void *random)
{
    case_start(random);
    for (int item, rc; (rc = tn_channel_receive(&channels[0], &item)) != EPIPE; had += item)
        assert(rc == 0 && item > had);
    return case_end();
}

static void check(void)
{
    assert(sent == had && channels[0].waits.state == 0);
    nobody_waits();
}

CASE_MAIN(prepare, check, sends, closes, receives)
