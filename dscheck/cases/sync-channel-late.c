/* SPDX-License-Identifier: MIT */
/*
 * Rendezvous: one sends and may give up at whatever moment, another sends, one item is received, and then the channel is closed:
 * who was told that it has sent is the one whose item was received.
 */
#include "channel-case.h"

static int had, sent;

static void prepare(void)
{
    open_channels(0);
    had = 0;
    sent = 0;
}

static _Atomic(int) all_sent;

static void *late(void *random)
{
    int item = 1;
    case_start(random);
    int rc = tn_channel_send_until(&channels[0], &item, 0, NULL);
    assert(rc == 0 || rc == ETIMEDOUT || rc == EPIPE);
    if (rc == 0)
        atomic_fetch_add(&all_sent, 1);
    return case_end();
}

static void *sends(void *random)
{
    int item = 2;
    case_start(random);
    int rc = tn_channel_send(&channels[0], &item);
    assert(rc == 0 || rc == EPIPE);
    if (rc == 0)
        atomic_fetch_add(&all_sent, 2);
    return case_end();
}

static void *receives(void *random)
{
    case_start(random);
    assert(tn_channel_receive(&channels[0], &had) == 0);
    assert(tn_channel_close(&channels[0]) == 0);
    return case_end();
}

static void check(void)
{
    sent = atomic_exchange(&all_sent, 0);
    assert(sent == had && (had == 1 || had == 2));
    nobody_waits();
}

CASE_MAIN(prepare, check, late, sends, receives)
