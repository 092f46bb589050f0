/* SPDX-License-Identifier: MIT */
/*
 * Room to spawn: two are there when the queue has one place again; one gives up at whatever moment, or has its fibre, which
 * runs at once. The other one has its own in either case.
 */
#include "room-case.h"

static void *spawns(void *random)
{
    case_start(random);
    assert(tn_room_wait(&room, again, NULL, TN_FOREVER) == 0);
    return case_end();
}

static void *late(void *random)
{
    case_start(random);
    int rc = tn_room_wait(&room, again, NULL, 0);
    assert(rc == 0 || rc == ETIMEDOUT);
    if (rc == 0)
        takes();
    return case_end();
}

static void *works(void *random)
{
    case_start(random);
    takes();
    return case_end();
}

CASE_MAIN(begin, check, spawns, late, works)
