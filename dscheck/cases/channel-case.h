/* SPDX-License-Identifier: MIT */
/*
 * What the cases on core/sync/channel.c and core/sync/select.c share: two channels of one number each.
 */
#ifndef CHANNEL_CASE_H
#define CHANNEL_CASE_H

#include "list-case.h"

#include "sync/channel.c"
#include "sync/select.c"

static tn_channel channels[2]; /* in the order of their addresses */
static int places[2];

static inline void open_channels(unsigned capacity)
{
    for (int i = 0; i < 2; i++)
        assert(tn_channel_init(&channels[i], capacity > 0 ? &places[i] : NULL, sizeof(int), capacity) == 0);
}

static inline void nobody_waits(void)
{
    for (int i = 0; i < 2; i++)
        assert(channels[i].waits.ring == NULL && channels[i].senders == NULL && channels[i].waits.lock == 0);
}

/* Of two arms on both channels. */
static inline int select_two(struct tn_arm first, struct tn_arm second, tn_time deadline, unsigned *which)
{
    struct tn_arm arms[2] = {first, second};
    int rc = tn_select(arms, 2, which, deadline, NULL);
    assert(rc == 0 ? *which < 2 : rc == ETIMEDOUT && *which == 2);
    return rc == 0 ? arms[*which].rc : rc;
}

#define SEND(channel, from)    ((struct tn_arm)TN_SEND(channel, from))
#define RECEIVE(channel, into) ((struct tn_arm)TN_RECEIVE(channel, into))

#endif
