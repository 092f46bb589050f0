/* SPDX-License-Identifier: MIT
 *
 * When the poller's thread polls, if it does so only while a worker is idle (000 §3.4.3, opportunistic). Nothing in here
 * calls the operating system, so that the explorer takes this file as it is.
 *
 * Proof. 1. A worker counts itself before it announces that it is idle, and until it is so no more: while one is idle the
 * count is not 0. 2. The thread sleeps on the count itself, and only while that is 0. 3. Whoever makes it 1 wakes the thread.
 */
#ifndef TN_POLLERS_OPPORTUNITY_H
#define TN_POLLERS_OPPORTUNITY_H

#include "platform.h"

struct tn_opportunity {
    _Atomic(uint32_t) idle; /* workers */
};

static inline void tn_opportunity_idle(struct tn_opportunity *o)
{
    uint32_t before = atomic_fetch_add_explicit(&o->idle, 1, memory_order_relaxed); /* relaxed: the count is all */
    if (before == 0)
        tn_unpark(&o->idle, 1);
}

static inline void tn_opportunity_busy(struct tn_opportunity *o)
{
    atomic_fetch_sub_explicit(&o->idle, 1, memory_order_relaxed); /* relaxed: so too */
}

/* By the thread: wait until a worker is idle. False: none was until `deadline`. */
static inline bool tn_opportunity_await(struct tn_opportunity *o, tn_time deadline)
{
    while (atomic_load_explicit(&o->idle, memory_order_relaxed) == 0) /* relaxed: so too */
        if (tn_park(&o->idle, 0, deadline) != 0)
            return false;
    return true;
}

#endif
