/* SPDX-License-Identifier: MIT */
/*
 * Rendezvous: who has received frees the channel, whichever of both had to wait.
 */
#include "channel-case.h"

static tn_channel *shared;

static void prepare(void)
{
    shared = calloc(1, sizeof(*shared));
    assert(shared != NULL && tn_channel_init(shared, NULL, sizeof(int), 0) == 0);
}

static void *sends(void *random)
{
    tn_channel *c = shared;
    int item = 7;
    case_start(random);
    assert(tn_channel_send(c, &item) == 0);
    return case_end();
}

static void *receives(void *random)
{
    tn_channel *c = shared;
    int item = 0;
    case_start(random);
    assert(tn_channel_receive(c, &item) == 0 && item == 7);
    free(c);
    return case_end();
}

static void check(void)
{
    shared = NULL;
}

CASE_MAIN(prepare, check, sends, receives)
