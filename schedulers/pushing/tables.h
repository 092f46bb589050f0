/* SPDX-License-Identifier: MIT
 *
 * What pushing can be told, what it counts, and what it keeps.
 */
#ifndef TN_PUSHING_TABLES_H
#define TN_PUSHING_TABLES_H

#include "scheduler.h"
#include "parts/levels.h"
#include "parts/stuck.h"
#include "parts/victims.h"

#define TN_KNOB_OWNER pushing
#define PUSHING_KNOBS(K)                                                                                            \
    K(queue, "locked|node|stub|nemesis", 3, 0, 3, "", "a worker's queue", "000 §4.2")                               \
    K(fresh, "staging|push", 0, 0, 1, "", "a new fibre, or one from another cluster: for all, or for each in turn", \
      "000 §2.3.2")                                                                                                 \
    K(steal, "one|stuck", 0, 0, 1, "",                                                                              \
      "from whom a worker without work takes one: from any; only from one that reaches no scheduling point",        \
      "000 §3.2.2")                                                                                                 \
    K(levels, NULL, 1, 1, 63, "", "levels of priority, of each queue but that of the background", "000 §3.2.2")

enum { PUSHING_KNOBS(TN_KNOB_ENUM) };
static const struct tn_knob pushing_knobs[] = {PUSHING_KNOBS(TN_KNOB_ROW)};
#define KNOB(cl, k) TN_KNOB((cl)->knobs, TN_KNOB_OWNER, k)

enum { FRESH_STAGING, FRESH_PUSH };
enum { STEAL_ONE, STEAL_STUCK };
enum { STUCK_NS = 500000 };

enum { PUSHING_STAGED, PUSHING_RETURNED, PUSHING_BACKGROUND };
static const struct tn_counter_row pushing_counters[] = {
    [PUSHING_STAGED] = {"staged", "fibres that went through the staging queue"},
    [PUSHING_RETURNED] = {"returned", "fibres that went back to the worker that owns them, from another one"},
    [PUSHING_BACKGROUND] = {"background", "fibres taken from the background queue"},
};

struct pushing_worker {
    struct tn_levels queue;
    _Atomic(bool) here;
    _Alignas(TN_CACHE_LINE) struct tn_stuck stuck;
    /* owner only */
    struct tn_pushed_hand hand;
    uint32_t turn, fairs;
    bool over; /* this round has come to its last victim */
    struct tn_victim_walk walk;
};

struct pushing_cluster {
    struct tn_levels staging;
    struct tn_locked_queue background;
    struct tn_pushed_nodes nodes;
    _Alignas(TN_CACHE_LINE) _Atomic(uint32_t) turn; /* of those who are no workers of the cluster */
};

static inline struct pushing_worker *of(struct tn_worker *w)
{
    return w->sched;
}

static inline bool is_here(struct tn_worker *w)
{
    return atomic_load_explicit(&of(w)->here, memory_order_relaxed); /* relaxed: a hint, see Invariant */
}

static inline struct pushing_cluster *all_of(struct tn_cluster *cl)
{
    return cl->sched;
}

#endif
