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
 *   queue=      a worker's queue, see parts/pushed.h: a list under a lock; the stub queue with nodes; the same, intrusive;
 *               that of Nemesis
 *
 * Without an argument this is the default of 000 §3.2, but for its background queue and its levels of priority: staging
 * queue, Nemesis queues with a lock for thieves, who try the longest busy first, transient stealing. With idle=block of the
 * core, workers block when idle.
 *
 * Invariant: a fibre given to ready() is in exactly one queue, a worker's or the staging one, until next(), steal() or
 * drain() takes it out. A worker that has left still has a queue, which anybody empties: who pushes may have seen it there.
 */
#define TN_KNOB_OWNER pushing
#include "parts/pushed.h"
#include "parts/stuck.h"
#include "parts/victims.h"

#define PUSHING_KNOBS(K)                                                                                            \
    K(queue, "locked|node|stub|nemesis", 3, 0, 3, "", "a worker's queue", "000 §4.2")                               \
    K(fresh, "staging|push", 0, 0, 1, "", "a new fibre, or one from another cluster: for all, or for each in turn", \
      "000 §2.3.2")                                                                                                 \
    K(steal, "one|stuck", 0, 0, 1, "",                                                                              \
      "from whom a worker without work takes one: from any; only from one that reaches no scheduling point",        \
      "000 §3.2.2")

enum { PUSHING_KNOBS(TN_KNOB_ENUM) };
static const struct tn_knob pushing_knobs[] = {PUSHING_KNOBS(TN_KNOB_ROW)};
#define KNOB(cl, k) TN_KNOB((cl)->knobs, TN_KNOB_OWNER, k)

enum { FRESH_STAGING, FRESH_PUSH };
enum { STEAL_ONE, STEAL_STUCK };
enum { STUCK_NS = 500000 };
#define KIND(cl) ((enum tn_pushed_kind)KNOB(cl, queue))

enum { PUSHING_STAGED, PUSHING_RETURNED };
static const struct tn_counter_row pushing_counters[] = {
    [PUSHING_STAGED] = {"staged", "fibres that went through the staging queue"},
    [PUSHING_RETURNED] = {"returned", "fibres that went back to the worker that owns them, from another one"},
};

struct pushing_worker {
    struct tn_pushed queue;
    _Atomic(bool) here;
    struct tn_stuck stuck;
    /* owner only */
    struct tn_mpsc_node *free;
    uint32_t turn, fairs;
    struct tn_victim_walk walk;
};

struct pushing_cluster {
    struct tn_locked_queue staging;
    struct tn_pushed_nodes nodes;
    _Alignas(TN_CACHE_LINE) _Atomic(uint32_t) turn; /* of those who are no workers of the cluster */
};

static struct pushing_worker *of(struct tn_worker *w)
{
    return w->sched;
}

static bool is_here(struct tn_worker *w)
{
    return atomic_load_explicit(&of(w)->here, memory_order_relaxed); /* relaxed: a hint, see Invariant */
}

static int push(struct tn_worker *me, struct tn_worker *to, struct tn_fibre *f)
{
    struct pushing_cluster *c = to->cluster->sched;
    if (tn_pushed_push(&of(to)->queue, KIND(to->cluster), &c->nodes, me != NULL ? &of(me)->free : NULL, f))
        return TN_FOR(to->index);
    tn_locked_queue_push_back(&c->staging,
                              &f->link); /* no memory for a node: what is ready may not be refused for that */
    return 0;
}

static bool is_empty(struct tn_worker *w)
{
    return tn_pushed_empty(&of(w)->queue, KIND(w->cluster));
}

static struct tn_fibre *pop(struct tn_worker *me, struct tn_worker *from)
{
    return tn_pushed_pop(&of(from)->queue, KIND(from->cluster), &of(me)->free);
}

/* ---- ready ---- */

/* The next worker that is there, in the turn of who asks. */
static struct tn_worker *next_worker(struct tn_worker *me, struct tn_cluster *cl)
{
    struct pushing_cluster *c = cl->sched;
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
    struct pushing_cluster *c = cl->sched;
    uint32_t *owner = tn_fibre_state(f); /* index + 1 */
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
    if (me != NULL)
        TN_COUNT_ADD(me, PUSHING_STAGED, 1);
    tn_locked_queue_push_back(&c->staging, &f->link);
    return 0;
}

/* ---- next ---- */

static struct tn_fibre *staged(struct tn_worker *me)
{
    struct tn_fibre *f =
        tn_fibre_of(tn_locked_queue_pop_front(&((struct pushing_cluster *)me->cluster->sched)->staging));
    if (f != NULL && *(uint32_t *)tn_fibre_state(f) == 0)
        *(uint32_t *)tn_fibre_state(f) = me->index + 1;
    return f;
}

/* Every other fair choice looks into the staging queue first. */
static struct tn_fibre *pushing_next(struct tn_worker *me, bool fair)
{
    struct tn_fibre *f = NULL;
    tn_stuck_turn(&of(me)->stuck);
    if (fair && (++of(me)->fairs & 1) != 0)
        f = staged(me);
    f = f != NULL ? f : pop(me, me);
    return f != NULL ? f : staged(me);
}

/* ---- stealing ---- */

/* What is taken keeps its owner: it only runs here this time. */
static unsigned pushing_steal(struct tn_worker *me, struct tn_worker *victim)
{
    if (is_empty(victim) ||
        (KNOB(me->cluster, steal) == STEAL_STUCK && is_here(victim) && !tn_stuck_since(&of(victim)->stuck, STUCK_NS)))
        return 0;
    struct tn_fibre *f = pop(me, victim);
    if (f == NULL)
        return 0;
    push(me, me, f);
    return 1;
}

static struct tn_worker *pushing_victim(struct tn_worker *me, unsigned attempt)
{
    uint32_t used = atomic_load_explicit(&me->cluster->used, memory_order_acquire); /* U0 acquire */
    return tn_victim_busy(me, used, attempt, &of(me)->walk);
}

static enum tn_work pushing_may_have_work(struct tn_worker *me)
{
    struct pushing_cluster *c = me->cluster->sched;
    if (tn_locked_queue_length(&c->staging) != 0 || !is_empty(me))
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
    tn_locked_queue_init(&((struct pushing_cluster *)cl->sched)->staging);
    return 0;
}

static void pushing_cluster_fini(struct tn_cluster *cl)
{
    tn_pushed_nodes_fini(&((struct pushing_cluster *)cl->sched)->nodes);
}

static int pushing_worker_init(struct tn_worker *me)
{
    return tn_pushed_init(&of(me)->queue, KIND(me->cluster), &((struct pushing_cluster *)me->cluster->sched)->nodes);
}

static void pushing_worker_join(struct tn_worker *me)
{
    atomic_store_explicit(&of(me)->here, true, memory_order_relaxed); /* relaxed: a hint */
}

static void pushing_worker_leave(struct tn_worker *me)
{
    struct pushing_cluster *c = me->cluster->sched;
    struct tn_fibre *f;
    atomic_store_explicit(&of(me)->here, false, memory_order_relaxed); /* relaxed: a hint */
    while ((f = pop(me, me)) != NULL)
        tn_locked_queue_push_back(&c->staging, &f->link);
}

static void pushing_drain(struct tn_cluster *cl, struct tn_list *out)
{
    uint32_t used = atomic_load_explicit(&cl->used, memory_order_acquire); /* U0 acquire */
    struct tn_fibre *f;
    tn_locked_queue_pop_n(&((struct pushing_cluster *)cl->sched)->staging, SIZE_MAX, out);
    for (uint32_t i = 0; i < used; i++)
        while ((f = pop(cl->workers[i], cl->workers[i])) != NULL)
            tn_list_push_back(out, &f->link);
}

TN_SCHEDULER(pushing) = {
    .name = "pushing",
    .summary = "a queue for each worker, into which others push, and a staging queue: the default of 000",
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
    .worker_join = pushing_worker_join,
    .worker_leave = pushing_worker_leave,
    .ready = pushing_ready,
    .next = pushing_next,
    .steal = pushing_steal,
    .victim = pushing_victim,
    .may_have_work = pushing_may_have_work,
    .drain = pushing_drain,
};
