/* SPDX-License-Identifier: MIT */
/*
 * What the cases on core/sync/room.c share: a module of one place that refuses.
 */
#ifndef ROOM_CASE_H
#define ROOM_CASE_H

#include "list-case.h"

#include "sync/room.c"

static struct tn_room room;
static _Atomic(bool) full;

static void begin(void)
{
    room = (struct tn_room){0};
    atomic_init(&full, true);
}

/* A spawn. */
static int again(void *arg)
{
    (void)arg;
    return atomic_exchange_explicit(&full, true, memory_order_relaxed) ? EAGAIN : 0; /* relaxed: the fences do */
}

/* What was in the queue runs, and its worker finds nothing more. */
static void takes(void)
{
    atomic_store_explicit(&full, false, memory_order_relaxed); /* relaxed: a heavy fence follows */
    tn_fence_heavy();
    tn_room_made(&room);
}

static void check(void)
{
    assert(room.spawners.ring == NULL && atomic_load(&room.wanted) == 0);
}

#endif
