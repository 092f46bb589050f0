/* SPDX-License-Identifier: MIT
 *
 * Has a worker reached no scheduling point for some time? Its owner counts them; all who look share one observation, so
 * that none of them has to wait for as long as that itself. Owner and lookers write different lines.
 */
#ifndef TN_PARTS_STUCK_H
#define TN_PARTS_STUCK_H

#include "scheduler.h"

/* Since when the owner has not moved; lookers write. */
struct tn_stuck_seen {
    _Alignas(TN_CACHE_LINE) _Atomic(uint32_t) turn;
    _Atomic(uint64_t) at;
};

struct tn_stuck {
    _Atomic(uint32_t) turn; /* owner writes */
    struct tn_stuck_seen seen;
};

/* Owner: at each scheduling point. */
static inline void tn_stuck_turn(struct tn_stuck *s)
{
    /* relaxed: own, and others only compare it */
    atomic_store_explicit(&s->turn, atomic_load_explicit(&s->turn, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* Anyone: was `turn` the owner's for `ns`? The first look only begins to measure. */
static inline bool tn_stuck_at(struct tn_stuck_seen *seen, uint32_t turn, int64_t ns)
{
    tn_time now = tn_now();
    if (atomic_load_explicit(&seen->turn, memory_order_acquire) == turn)                     /* H0 acquire */
        return (int64_t)(now - atomic_load_explicit(&seen->at, memory_order_relaxed)) >= ns; /* relaxed: H0 */
    atomic_store_explicit(&seen->at, now, memory_order_relaxed);                             /* relaxed: H0 */
    atomic_store_explicit(&seen->turn, turn, memory_order_release);                          /* H0 release */
    return false;
}

/* Anyone: was it at no scheduling point for `ns`? */
static inline bool tn_stuck_since(struct tn_stuck *s, int64_t ns)
{
    return tn_stuck_at(&s->seen, atomic_load_explicit(&s->turn, memory_order_relaxed),
                       ns); /* relaxed: compared only */
}

#endif
