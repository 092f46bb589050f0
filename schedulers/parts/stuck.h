/* SPDX-License-Identifier: MIT
 *
 * Has a worker reached no scheduling point for some time? Its owner counts them; all who look share one observation, so
 * that none of them has to wait for as long as that itself. Owner and lookers write different lines.
 */
#ifndef TN_PARTS_STUCK_H
#define TN_PARTS_STUCK_H

#include "scheduler.h"

struct tn_stuck {
    _Atomic(uint32_t) turn;                         /* owner writes */
    _Alignas(TN_CACHE_LINE) _Atomic(uint32_t) seen; /* lookers write */
    _Atomic(uint64_t) seen_at;
};

/* Owner: at each scheduling point. */
static inline void tn_stuck_turn(struct tn_stuck *s)
{
    /* relaxed: own, and others only compare it */
    atomic_store_explicit(&s->turn, atomic_load_explicit(&s->turn, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* Anyone: was it at no scheduling point for `ns`? The first look only begins to measure. */
static inline bool tn_stuck_since(struct tn_stuck *s, int64_t ns)
{
    uint32_t turn = atomic_load_explicit(&s->turn, memory_order_relaxed); /* relaxed: compared only */
    tn_time now = tn_now();
    if (atomic_load_explicit(&s->seen, memory_order_acquire) == turn)                          /* H1 acquire */
        return (int64_t)(now - atomic_load_explicit(&s->seen_at, memory_order_relaxed)) >= ns; /* relaxed: H1 */
    atomic_store_explicit(&s->seen_at, now, memory_order_relaxed);                             /* relaxed: H1 */
    atomic_store_explicit(&s->seen, turn, memory_order_release);                               /* H1 release */
    return false;
}

#endif
