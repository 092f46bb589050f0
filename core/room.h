/* SPDX-License-Identifier: MIT
 *
 * Spawners that wait for room in a module that is full (TN_FULL_WAIT), one such place a cluster: sync/room.c.
 */
#ifndef TN_ROOM_H
#define TN_ROOM_H

#include "tenter_sync.h"

struct tn_room {
    struct tn_waits spawners; /* its number: how often they were told */
    _Atomic(uint32_t) wanted; /* how many are at it, waiting or trying again */
};

/* By a spawner that was refused: again(arg) tries once more, EAGAIN for no room. What it returns, or ETIMEDOUT, ECANCELED,
 * ENOMEM: it came to the end of the wait. */
int tn_room_wait(struct tn_room *r, int (*again)(void *), void *arg, tn_time deadline);
/* Somebody may be at it. */
void tn_room_tell(struct tn_room *r);

/* There is room now, or may be. */
static inline void tn_room_made(struct tn_room *r)
{
    /* relaxed: who parks asks behind its heavy fence, and for all others it is a hint */
    if (__builtin_expect(atomic_load_explicit(&r->wanted, memory_order_relaxed) != 0, 0))
        tn_room_tell(r);
}

#endif
