/* SPDX-License-Identifier: MIT
 *
 * What the rest of the core knows of preemption (preempt.c): whoever was preempted on a worker goes on there and nowhere
 * else. Empty in builds without.
 */
#ifndef TN_PREEMPTED_H
#define TN_PREEMPTED_H

#include "internal.h"

#if TN_PREEMPTION

/* Before a cluster's first worker; `room` is what its stacks have. Errors, with a line said: as tn_ticks_ready; EINVAL. */
int preempt_ready(size_t room);

/* Bytes of each stack on top of what was asked for. */
static inline size_t preempt_room(void)
{
    return tn_ticks_room();
}

static inline void preempt_begin(struct worker *w, int64_t us)
{
    if (us != 0 && tn_ticks_begin(&w->ticks_of, (tn_time)us * 1000) != 0)
        tn_message("tenter: no timer for a worker, whose fibres are not preempted: see ulimit -i");
}

static inline void preempt_end(struct worker *w)
{
    tn_ticks_end(&w->ticks_of);
}

/* A fibre runs on w, whose ticks were paused if it was idle. */
static inline void preempt_runs(struct worker *w)
{
    if (w->ticks_of.paused)
        tn_ticks_resume(&w->ticks_of);
}

/* relaxed: ready() publishes the fibre */
static inline void preempt_born(struct fibre *f)
{
    atomic_store_explicit(&f->preempt_masked, false, memory_order_relaxed);
    atomic_store_explicit(&f->preempt_due, false, memory_order_relaxed);
}

static inline size_t preempted_count(const struct worker *w)
{
    return w->preempted.count;
}

static inline void preempted_keep(struct worker *w, struct fibre *f)
{
    tn_list_push_back(&w->preempted, &f->pub.link);
}

/* Whoever was preempted on w longest ago, or NULL. */
static inline struct fibre *preempted_next(struct worker *w)
{
    struct tn_link *l = tn_list_pop_front(&w->preempted);
    return l != NULL ? fibre_of(tn_fibre_of(l)) : NULL;
}

/* Every second fair choice is one among those. */
static inline struct fibre *preempted_turn(struct worker *w)
{
    return preempted_count(w) != 0 && (w->preempt_turn = !w->preempt_turn) ? preempted_next(w) : NULL;
}

#else

static inline int preempt_ready(size_t room)
{
    (void)room;
    return 0;
}
static inline size_t preempt_room(void)
{
    return 0;
}
static inline void preempt_begin(struct worker *w, int64_t us)
{
    (void)w, (void)us;
}
static inline void preempt_end(struct worker *w)
{
    (void)w;
}
static inline void preempt_runs(struct worker *w)
{
    (void)w;
}
static inline void preempt_born(struct fibre *f)
{
    (void)f;
}
static inline size_t preempted_count(const struct worker *w)
{
    (void)w;
    return 0;
}
static inline void preempted_keep(struct worker *w, struct fibre *f)
{
    (void)w, (void)f;
}
static inline struct fibre *preempted_next(struct worker *w)
{
    (void)w;
    return NULL;
}
static inline struct fibre *preempted_turn(struct worker *w)
{
    (void)w;
    return NULL;
}

#endif

#endif
