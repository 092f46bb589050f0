/* SPDX-License-Identifier: MIT */
/*
 * Room to spawn: one finds the queue full while a worker takes what is there, and asks who waits before it sleeps. It has its
 * fibre.
 */
#include "room-case.h"

static void *spawns(void *random)
{
    case_start(random);
    assert(tn_room_wait(&room, again, NULL, TN_FOREVER) == 0);
    return case_end();
}

static void *works(void *random)
{
    case_start(random);
    takes();
    return case_end();
}

CASE_MAIN(begin, check, spawns, works)
