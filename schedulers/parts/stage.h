/* SPDX-License-Identifier: MIT
 *
 * Stages: each a queue that a pool of workers serves, and how workers are spread over them. The numbers are hints: what
 * depends on them is decided under a queue's lock, or is looked at again behind the fences of parking.
 *
 * Who enters a stage waits in its queue, which a module may bound; who is back (has yielded, was woken) in `again`, which
 * takes turns with it. So a crowd that yields does not fill the stage for others.
 */
#ifndef TN_PARTS_STAGE_H
#define TN_PARTS_STAGE_H

#include "scheduler.h"
#include "queues/locked.h"

enum { TN_STAGES_MAX = 9 };

struct tn_stage_pool {
    struct tn_locked_queue queue, again;
    _Alignas(TN_CACHE_LINE) _Atomic(uint32_t) workers; /* changes when one enters or quits; all read it */
    _Atomic(uint32_t) turn;                            /* of queue and again; written by whoever takes */
};

static inline void tn_stage_init(struct tn_stage_pool *s)
{
    tn_locked_queue_init(&s->queue);
    tn_locked_queue_init(&s->again);
}

static inline uint64_t tn_stage_waiting(struct tn_stage_pool *s)
{
    return tn_locked_queue_length(&s->queue) + tn_locked_queue_length(&s->again);
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

/* Move at most `most` fibres to `got`, and no more than one worker's share of what waits. Returns how many. */
static inline size_t tn_stage_take(struct tn_stage_pool *s, size_t most, struct tn_list *got)
{
    uint32_t turn = atomic_load_explicit(&s->turn, memory_order_relaxed); /* relaxed: a turn more or less is none */
    atomic_store_explicit(&s->turn, turn + 1, memory_order_relaxed);      /* relaxed: the same */
    for (uint32_t i = 0; i < 2 && got->count == 0; i++) {
        struct tn_locked_queue *q = (turn + i) & 1 ? &s->again : &s->queue;
        size_t n = tn_locked_queue_length(q), workers = (size_t)tn_stage_workers(s);
        n = workers > 1 ? (n + workers - 1) / workers : n;
        tn_locked_queue_pop_n(q, n < most ? n : most, got);
    }
    return got->count;
}

static inline void tn_stage_drain(struct tn_stage_pool *s, struct tn_list *out)
{
    tn_locked_queue_pop_n(&s->queue, SIZE_MAX, out);
    tn_locked_queue_pop_n(&s->again, SIZE_MAX, out);
}

/* Of n stages the one with most waiting for each worker, where a queue counts as no longer than `bound`, and of equals the
 * latest; but `own` unless it is more than twice as loaded as that, and unless `own` would lose its only worker while
 * something waits there. */
static inline uint32_t tn_stages_most_loaded(struct tn_stage_pool *stage, uint32_t n, uint32_t own, uint64_t bound)
{
    uint64_t load[TN_STAGES_MAX] = {0}, workers[TN_STAGES_MAX] = {0};
    uint32_t best = own;
    for (uint32_t s = 0; s < n; s++) {
        load[s] = tn_stage_waiting(&stage[s]) < bound ? tn_stage_waiting(&stage[s]) : bound;
        workers[s] = tn_stage_workers(&stage[s]);
    }
    for (uint32_t s = 0; s < n; s++)
        if (load[s] != 0 && load[s] * workers[best] >= load[best] * workers[s])
            best = s;
    bool more = load[best] * workers[own] > 2 * (load[own] + workers[own]) * workers[best];
    return more && (workers[own] > 1 || load[own] == 0) ? best : own;
}

/* The controller, for a worker of `own`: the stage that it goes over to, or `own`; one worker in `us` microseconds, of which
 * *due keeps count. */
static inline uint32_t tn_stages_move(struct tn_stage_pool *stage, uint32_t n, uint32_t own, uint64_t bound,
                                      _Atomic(uint64_t) *due, uint64_t us)
{
    uint32_t best = tn_stages_most_loaded(stage, n, own, bound);
    if (best == own)
        return own;
    uint64_t now = tn_now(), was = atomic_load_explicit(due, memory_order_relaxed); /* relaxed: a time only */
    if (now < was ||
        !atomic_compare_exchange_strong_explicit(due, &was, now + us * 1000, memory_order_relaxed, /* relaxed: a */
                                                 memory_order_relaxed)) /* turn only; relaxed: gives up */
        return own;
    tn_stage_enter(&stage[best]);
    tn_stage_quit(&stage[own]);
    return best;
}

/* Has `split` no more digits than there are stages, and a controller a choice? One line says if not. */
static inline bool tn_stage_choices_fit(int64_t split, int64_t stages, bool control_given)
{
    int64_t digits = 0;
    for (int64_t rest = split; rest != 0; rest /= 10)
        digits++;
    if (digits > stages)
        tn_message("tenter: split=%lld has %lld digits, there are stages=%lld", (long long)split, (long long)digits,
                   (long long)stages);
    else if (control_given && stages == 1)
        tn_message("tenter: scheduler staged: control has no effect here, it needs stages=2 or more");
    return digits <= stages && !(control_given && stages == 1);
}

/* The digits of `split` say how many workers belong to each stage: to which the i-th worker does, and so on from the start. */
static inline uint32_t tn_stage_of_split(int64_t split, uint32_t i)
{
    int64_t digit = 1;
    uint32_t s = 0, n = 0;
    for (int64_t rest = split; rest != 0; rest /= 10, digit *= 10)
        n += (uint32_t)(rest % 10);
    for (i %= n, digit /= 10; i >= split / digit % 10; digit /= 10, s++)
        i -= (uint32_t)(split / digit % 10);
    return s;
}

#endif
