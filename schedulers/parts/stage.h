/* SPDX-License-Identifier: MIT
 *
 * A queue that a pool of workers serves: how many fibres wait in it, how many workers the pool has. Both numbers are hints: what
 * depends on them is decided under the queue's lock, or is looked at again behind the fences of parking.
 */
#ifndef TN_PARTS_STAGE_H
#define TN_PARTS_STAGE_H

#include "scheduler.h"
#include "queues/locked.h"

struct tn_stage_pool {
    struct tn_locked_queue queue;
    _Alignas(TN_CACHE_LINE) _Atomic(uint32_t) workers; /* changes when one enters or quits; all read it */
};

static inline uint64_t tn_stage_waiting(struct tn_stage_pool *s)
{
    return tn_locked_queue_length(&s->queue);
}

static inline uint64_t tn_stage_workers(struct tn_stage_pool *s)
{
    return atomic_load_explicit(&s->workers, memory_order_relaxed); /* relaxed: a hint */
}

static inline void tn_stage_enter(struct tn_stage_pool *s)
{
    atomic_fetch_add_explicit(&s->workers, 1, memory_order_relaxed); /* relaxed: a hint */
}

static inline void tn_stage_quit(struct tn_stage_pool *s)
{
    atomic_fetch_sub_explicit(&s->workers, 1, memory_order_relaxed); /* relaxed: a hint */
}

/* At most `most` fibres, and no more than one worker's share of what waits: the first is returned, the others go to `rest`. */
static inline struct tn_fibre *tn_stage_take(struct tn_stage_pool *s, uint64_t most, struct tn_locked_queue *rest)
{
    uint64_t n = tn_stage_waiting(s), workers = tn_stage_workers(s);
    struct tn_list got = {0};
    n = workers > 1 ? (n + workers - 1) / workers : n;
    if (tn_locked_queue_pop_n(&s->queue, (size_t)(n < most ? n : most), &got) == 0)
        return NULL;
    struct tn_link *first = tn_list_pop_front(&got);
    tn_locked_queue_push_list(rest, &got);
    return tn_fibre_of(first);
}

#endif
