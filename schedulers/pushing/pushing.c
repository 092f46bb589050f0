/* SPDX-License-Identifier: MIT
 *
 * pushing: a queue for each worker, into which others push, and a staging queue for the cluster (000 §2.3.2, §3.2.2). Oldest
 * first throughout. A fibre has affinity to the worker in whose queue it was put first, and returns there when it is woken
 * or yields, also after another one has stolen it (transient stealing).
 *
 *   fresh=      where a fibre goes that is new, or comes from another cluster
 *   staging     the cluster's queue, where all take from it: work sharing. Who takes it becomes its owner
 *   push        the next worker's queue, in turn: work pushing
 *
 *   queue=      a worker's queue, see parts/pushed.h; levels= so many of them, see parts/levels.h, as of the staging queue
 *
 * A fibre that was spawned for the background (tn_attr) is in the cluster's background queue whenever it is ready. A worker
 * takes from there when it has found nothing in its queue and the staging queue nor with any victim: it is its own last
 * victim. So that these fibres get on among themselves, a fair choice with both queues empty looks there as well.
 *
 * Invariant: a fibre given to ready() is in exactly one queue, of a worker or of the cluster, until next(), steal() or
 * drain() takes it out. A worker that has left still has a queue, which anybody empties: who pushes may have seen it there.
 */
#include "pushing/tables.h"

static int stage(struct tn_worker *me, struct tn_fibre *f)
{
    if (me != NULL)
        TN_COUNT_ADD(me, PUSHING_STAGED, 1);
    tn_levels_push(&all_of(f->cluster)->staging, NULL, f);
    return 0;
}

static int push(struct tn_worker *me, struct tn_worker *to, struct tn_fibre *f)
{
    if (tn_levels_push(&of(to)->queue, me != NULL ? &of(me)->hand : NULL, f))
        return TN_FOR(to->index);
    return stage(me, f); /* no memory for a node: what is ready may not be refused for that */
}

static bool is_empty(struct tn_worker *w)
{
    return tn_levels_empty(&of(w)->queue);
}

static struct tn_fibre *pop(struct tn_worker *me, struct tn_worker *from, bool last)
{
    return tn_levels_pop(&of(from)->queue, &of(me)->hand, last);
}

/* ---- ready ---- */

/* The next worker that is there, in the turn of who asks. */
static struct tn_worker *next_worker(struct tn_worker *me, struct tn_cluster *cl)
{
    struct pushing_cluster *c = all_of(cl);
    uint32_t used = atomic_load_explicit(&cl->used, memory_order_acquire); /* U0 acquire */
    for (uint32_t i = 0; i < used; i++) {
        uint32_t turn = me != NULL
                            ? of(me)->turn++
                            : atomic_fetch_add_explicit(&c->turn, 1, memory_order_relaxed); /* relaxed: a number */
        if (is_here(cl->workers[turn % used]))
            return cl->workers[turn % used];
    }
    return NULL;
}

static int pushing_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    struct tn_cluster *cl = f->cluster;
    uint32_t *owner = tn_fibre_state(f); /* index + 1 */
    if (f->background) {
        tn_locked_queue_push_back(&all_of(cl)->background, &f->link);
        return 0;
    }
    struct tn_worker *to = *owner != 0 && why != TN_YIELDED_HARD ? cl->workers[*owner - 1] : NULL;
    if (to != NULL && is_here(to)) {
        if (me != NULL)
            TN_COUNT_ADD(me, PUSHING_RETURNED, to != me);
        return push(me, to, f);
    }
    if (KNOB(cl, fresh) == FRESH_PUSH && why != TN_YIELDED_HARD && (to = next_worker(me, cl)) != NULL) {
        *owner = to->index + 1;
        return push(me, to, f);
    }
    return stage(me, f);
}

/* ---- next ---- */

static struct tn_fibre *staged(struct tn_worker *me, bool last)
{
    struct tn_fibre *f = tn_levels_pop(&all_of(me->cluster)->staging, NULL, last);
    if (f != NULL && *(uint32_t *)tn_fibre_state(f) == 0)
        *(uint32_t *)tn_fibre_state(f) = me->index + 1;
    return f;
}

static struct tn_fibre *from_background(struct tn_worker *me)
{
    struct tn_fibre *f = tn_fibre_of(tn_locked_queue_pop_front(&all_of(me->cluster)->background));
    TN_COUNT_ADD(me, PUSHING_BACKGROUND, f != NULL);
    return f;
}

/* Every other fair choice looks into the staging queue before the own. Every fourth of both sorts takes the least urgent level
 * first; not each: what yields hard would hide there what is more urgent. */
static struct tn_fibre *pushing_next(struct tn_worker *me, bool fair)
{
    struct tn_fibre *f = NULL;
    tn_stuck_turn(&of(me)->stuck);
    uint32_t turn = fair ? of(me)->fairs++ : 1;
    bool last = fair && turn % 8 >= 6;
    if (turn % 2 == 0)
        f = staged(me, last);
    f = f != NULL ? f : pop(me, me, last);
    f = f != NULL ? f : staged(me, last);
    return f == NULL && fair ? from_background(me) : f;
}

/* ---- stealing ---- */

/* What is taken keeps its owner: it only runs here this time. A busy worker comes by as well (scheduler.h): the background
 * is not for him. */
static unsigned pushing_steal(struct tn_worker *me, struct tn_worker *victim)
{
    struct tn_fibre *f = NULL;
    if (victim == me) {
        if (is_empty(me) && tn_levels_empty(&all_of(me->cluster)->staging) && (f = from_background(me)) != NULL)
            push(me, me, f);
        return f != NULL;
    }
    if (is_empty(victim) ||
        (KNOB(me->cluster, steal) == STEAL_STUCK && is_here(victim) && !tn_stuck_since(&of(victim)->stuck, STUCK_NS)))
        return 0;
    if ((f = pop(me, victim, false)) != NULL)
        push(me, me, f);
    return f != NULL;
}

static struct tn_worker *pushing_victim(struct tn_worker *me, unsigned attempt)
{
    uint32_t used = atomic_load_explicit(&me->cluster->used, memory_order_acquire); /* U0 acquire */
    bool over = attempt != 0 && of(me)->over;
    struct tn_worker *w = over ? NULL : tn_victim_busy(me, used, attempt, &of(me)->walk);
    of(me)->over = w == NULL;
    return w == NULL && !over ? me : w;
}

static enum tn_work pushing_may_have_work(struct tn_worker *me)
{
    struct pushing_cluster *c = all_of(me->cluster);
    if (!tn_levels_empty(&c->staging) || tn_locked_queue_length(&c->background) != 0 || !is_empty(me))
        return TN_WORK_SOME;
    enum tn_work work = TN_WORK_NONE;
    uint32_t used = atomic_load_explicit(&me->cluster->used, memory_order_acquire); /* U0 acquire */
    for (uint32_t i = 0; i < used && work != TN_WORK_SOME; i++)
        if (!is_empty(me->cluster->workers[i]))
            work = KNOB(me->cluster, steal) == STEAL_STUCK && is_here(me->cluster->workers[i]) ? TN_WORK_HELD
                                                                                               : TN_WORK_SOME;
    return work;
}

/* ---- life ---- */

static int pushing_cluster_init(struct tn_cluster *cl)
{
    tn_locked_queue_init(&all_of(cl)->background);
    return tn_levels_init(&all_of(cl)->staging, (uint32_t)KNOB(cl, levels), TN_PUSHED_LOCKED, NULL);
}

static void pushing_cluster_fini(struct tn_cluster *cl)
{
    tn_levels_fini(&all_of(cl)->staging);
    tn_pushed_nodes_fini(&all_of(cl)->nodes);
}

static int pushing_worker_init(struct tn_worker *me)
{
    return tn_levels_init(&of(me)->queue, (uint32_t)KNOB(me->cluster, levels),
                          (enum tn_pushed_kind)KNOB(me->cluster, queue), &all_of(me->cluster)->nodes);
}

static void pushing_worker_fini(struct tn_worker *me)
{
    tn_levels_fini(&of(me)->queue);
}

static void pushing_worker_join(struct tn_worker *me)
{
    atomic_store_explicit(&of(me)->here, true, memory_order_relaxed); /* relaxed: a hint */
}

static void pushing_worker_leave(struct tn_worker *me)
{
    struct tn_fibre *f;
    atomic_store_explicit(&of(me)->here, false, memory_order_relaxed); /* relaxed: a hint */
    while ((f = pop(me, me, false)) != NULL)
        stage(me, f);
}

static void pushing_drain(struct tn_cluster *cl, struct tn_list *out)
{
    struct pushing_cluster *c = all_of(cl);
    uint32_t used = atomic_load_explicit(&cl->used, memory_order_acquire); /* U0 acquire */
    struct tn_fibre *f;
    tn_locked_queue_pop_n(&c->background, SIZE_MAX, out);
    while ((f = tn_levels_pop(&c->staging, NULL, false)) != NULL)
        tn_list_push_back(out, &f->link);
    for (uint32_t i = 0; i < used; i++)
        while ((f = pop(cl->workers[i], cl->workers[i], false)) != NULL)
            tn_list_push_back(out, &f->link);
}

TN_SCHEDULER(pushing) = {
    .name = "pushing",
    .summary = "a queue for each worker, into which others push, one for all, one for the background; preset=fibre: "
               "that of 000",
    .cluster_size = sizeof(struct pushing_cluster),
    .worker_size = sizeof(struct pushing_worker),
    .fibre_size = sizeof(uint32_t),
    .knobs = pushing_knobs,
    .n_knobs = sizeof pushing_knobs / sizeof pushing_knobs[0],
    .counters = pushing_counters,
    .n_counters = sizeof pushing_counters / sizeof pushing_counters[0],
    .cluster_init = pushing_cluster_init,
    .cluster_fini = pushing_cluster_fini,
    .worker_init = pushing_worker_init,
    .worker_fini = pushing_worker_fini,
    .worker_join = pushing_worker_join,
    .worker_leave = pushing_worker_leave,
    .ready = pushing_ready,
    .next = pushing_next,
    .steal = pushing_steal,
    .victim = pushing_victim,
    .may_have_work = pushing_may_have_work,
    .drain = pushing_drain,
};
