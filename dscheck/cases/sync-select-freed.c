/* SPDX-License-Identifier: MIT */
/*
 * Select over a promise and a channel: who is told that the promise is kept frees it, whatever else it waited for; what is
 * sent on the channel meanwhile is refused or received.
 */
#include "channel-case.h"

#include "sync/promise.c"

static tn_promise *shared;
static int had, sent;

static void prepare(void)
{
    open_channels(0);
    shared = calloc(1, sizeof(*shared));
    assert(shared != NULL);
    had = 0;
    sent = 0;
}

static void *selects(void *random)
{
    tn_promise *p = shared;
    unsigned which;
    case_start(random);
    assert(select_two(RECEIVE(&channels[0], &had), (struct tn_arm)TN_KEPT(p), TN_FOREVER, &which) == 0);
    if (which == 0)
        tn_promise_get(p);
    assert((which == 0) == (had == 7));
    free(p);
    return case_end();
}

static void *keeps(void *random)
{
    tn_promise *p = shared;
    case_start(random);
    assert(tn_promise_set(p, NULL) == 0);
    return case_end();
}

static void *sends(void *random)
{
    int item = 7;
    case_start(random);
    sent = tn_channel_trysend(&channels[0], &item) == 0 ? item : 0;
    return case_end();
}

static void check(void)
{
    assert(sent == had);
    nobody_waits();
    shared = NULL;
}

CASE_MAIN(prepare, check, selects, keeps, sends)
