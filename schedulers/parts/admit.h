/* SPDX-License-Identifier: MIT
 *
 * full=refuse of a queue that all workers share: who is new needs room, and has it until it begins. Who is only back needs
 * none: else a crowd that keeps the queue filled, woken as fast as it is run, would keep all others out for ever.
 */
#ifndef TN_PARTS_ADMIT_H
#define TN_PARTS_ADMIT_H

#include "scheduler.h"

struct tn_admit {
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) fresh; /* spawned, and not yet begun; written by any */
};

/* In ready(), before the fibre is queued. False: it is new, and there is no room. Of several at once each may find the last. */
static inline bool tn_admit(struct tn_admit *a, struct tn_fibre *f, enum tn_why why, uint64_t room)
{
    bool fresh = why == TN_SPAWNED;
    if (fresh && atomic_load_explicit(&a->fresh, memory_order_relaxed) >= room) /* relaxed: a number only */
        return false;
    *tn_fibre_word(f) = fresh ? a : NULL;
    if (fresh)
        atomic_fetch_add_explicit(&a->fresh, 1, memory_order_relaxed); /* relaxed: a number only */
    return true;
}

/* In next(), with what was taken, or NULL. */
static inline void tn_admit_begins(struct tn_admit *a, struct tn_fibre *f)
{
    if (f != NULL && *tn_fibre_word(f) != NULL)
        atomic_fetch_sub_explicit(&a->fresh, 1, memory_order_relaxed); /* relaxed: a number only */
}

#endif
