/* SPDX-License-Identifier: MIT
 *
 * staged: pools of workers, one a stage, joined by bounded queues (003 §4.3.2, §4.4.6). A fibre waits in the queue of its
 * stage, which tn_stage() changes; the workers of that stage's pool take from it, `batch` fibres at a time.
 *
 *   pools          `split` says how they are at first; who finds another stage more than twice as loaded as his own (fibres
 *                  waiting for each worker, of equals the latest stage) goes over, one worker in `control` us
 *   empty pools    a stage that is nobody's is everybody's, before his own
 *   full           who works for a stage before a full one works for that instead of feeding it, so what is too much waits
 *                  where it came in and none of the work is in vain; with `refuse` a spawn into a full stage is refused.
 *                  Nobody waits for room, so nothing can lock up: what moves on enters all the same
 *   out of reach?  What a worker keeps of a batch, others of its pool take when they have nothing; if it has reached no
 *                  scheduling point for STUCK_NS anybody does, that or the next of its stage
 *
 * Invariant: a fibre given to ready() is in exactly one of the queue of a stage and a worker's batch. A worker that has left
 * keeps none, and counts for no stage: what was in its batch need not wait until it is taken for stuck.
 */
#include "parts/stage.h"
#include "parts/stuck.h"
#include "tables.h"

struct staged_worker {
    struct tn_locked_queue batch;
    _Atomic(uint32_t) pool; /* its stage; it alone writes */
    uint32_t fairs;         /* owner only: fair choices */
    struct tn_stuck stuck;
};

struct staged_cluster {
    struct tn_stage_pool stage[TN_STAGES_MAX];
    _Atomic(uint64_t) due; /* when the controller may move one again */
};

static struct staged_worker *of(struct tn_worker *w)
{
    return w->sched;
}

static struct tn_stage_pool *stage_of(struct tn_cluster *cl, uint32_t s)
{
    return &((struct staged_cluster *)cl->sched)->stage[s];
}

static uint32_t pool_of(struct tn_worker *w)
{
    return atomic_load_explicit(&of(w)->pool, memory_order_relaxed); /* relaxed: a hint, as in stage.h */
}

static bool is_full(struct tn_cluster *cl, uint32_t s)
{
    return tn_locked_queue_length(&stage_of(cl, s)->queue) >= (size_t)KNOB(cl, capacity);
}

/* ---- ready ---- */

/* One of the pool that sleeps; else nobody in particular, for those of the pool are awake. */
static int whom_to_wake(struct tn_cluster *cl, uint32_t s)
{
    uint32_t used = atomic_load_explicit(&cl->used, memory_order_acquire); /* U0 acquire */
    if (tn_stage_workers(stage_of(cl, s)) == 0)
        return 0;
    for (uint32_t i = 0; i < used; i++)
        if (pool_of(cl->workers[i]) == s && tn_worker_idle(cl->workers[i]))
            return TN_FOR(i);
    return TN_AWAITED;
}

/* Who enters the stage goes into the bounded queue; who was in it and yields or is woken does not count there. */
static int staged_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    struct tn_cluster *cl = f->cluster; /* f may be gone once it is in the queue */
    uint32_t s = *(uint32_t *)tn_fibre_state(f);
    struct tn_stage_pool *stage = stage_of(cl, s);
    bool enters = why == TN_SPAWNED || why == TN_STAGED || why == TN_MIGRATED, full = enters && is_full(cl, s);
    if (full && why == TN_SPAWNED && KNOB(cl, full) == FULL_REFUSE)
        return EAGAIN;
    if (me != NULL)
        TN_COUNT_ADD(me, STAGED_OVERFLOW, full);
    tn_locked_queue_push_back(enters ? &stage->queue : &stage->again, &f->link);
    return whom_to_wake(cl, s);
}

static int staged_stage(struct tn_worker *me, struct tn_fibre *f, unsigned stage)
{
    uint32_t *s = tn_fibre_state(f);
    (void)me; /* where the build fixes the number */
    if (stage >= KNOB(me->cluster, stages))
        return EINVAL;
    if (*s == stage)
        return TN_RUN_NOW;
    *s = stage;
    return 0;
}

/* ---- the controller ---- */

static bool control(struct tn_worker *me)
{
    struct staged_cluster *c = me->cluster->sched;
    uint32_t own = pool_of(me), best = own;
    if (KNOB(me->cluster, control) != 0)
        best = tn_stages_move(c->stage, (uint32_t)KNOB(me->cluster, stages), own,
                              (uint64_t)KNOB(me->cluster, capacity), &c->due, (uint64_t)KNOB(me->cluster, control));
    atomic_store_explicit(&of(me)->pool, best, memory_order_relaxed); /* relaxed: a hint */
    TN_COUNT_ADD(me, STAGED_MOVED, best != own);
    return best != own;
}

/* The first of a batch; the rest is kept. */
static struct tn_fibre *take(struct tn_worker *me, uint32_t s)
{
    struct tn_list got = {0};
    if (tn_stage_take(stage_of(me->cluster, s), (size_t)KNOB(me->cluster, batch), &got) == 0)
        return NULL;
    TN_COUNT_ADD(me, STAGED_BATCHES, 1);
    struct tn_link *first = tn_list_pop_front(&got);
    tn_locked_queue_push_list(&of(me)->batch, &got);
    return tn_fibre_of(first);
}

/* From the latest stage that has something and is nobody's or, if `full`, is full and comes after one's own. */
static struct tn_fibre *take_elsewhere(struct tn_worker *me, bool full)
{
    struct tn_fibre *f = NULL;
    for (uint32_t s = (uint32_t)KNOB(me->cluster, stages); s-- > 0 && f == NULL;)
        if (full ? s > pool_of(me) && is_full(me->cluster, s) : tn_stage_workers(stage_of(me->cluster, s)) == 0)
            f = take(me, s);
    return f;
}

/* Each second fair choice looks at its own stage before those that come first otherwise. */
static struct tn_fibre *staged_next(struct tn_worker *me, bool fair)
{
    struct tn_fibre *f = NULL;
    bool own = fair && (++of(me)->fairs & 1) != 0;
    tn_stuck_turn(&of(me)->stuck);
    if (fair)
        control(me);
    f = own ? NULL : take_elsewhere(me, true);
    TN_COUNT_ADD(me, STAGED_HELPED, f != NULL);
    f = f != NULL ? f : tn_fibre_of(tn_locked_queue_pop_front(&of(me)->batch));
    f = f != NULL || own ? f : take_elsewhere(me, false);
    f = f != NULL ? f : take(me, pool_of(me));
    f = f != NULL || !own ? f : take_elsewhere(me, false);
    return f != NULL || !control(me) ? f : take(me, pool_of(me));
}

static unsigned staged_steal(struct tn_worker *me, struct tn_worker *victim)
{
    struct staged_worker *v = of(victim);
    struct tn_stage_pool *stage = stage_of(me->cluster, pool_of(victim));
    size_t batch = tn_locked_queue_length(&v->batch);
    bool same = pool_of(me) == pool_of(victim);
    struct tn_list got = {0};
    if (batch + tn_stage_waiting(stage) == 0 || (!same && !tn_stuck_since(&v->stuck, STUCK_NS)))
        return 0;
    if (tn_locked_queue_pop_n(&v->batch, same ? (batch + 1) / 2 : 1, &got) == 0 && !same)
        tn_stage_take(stage, 1, &got);
    unsigned n = (unsigned)got.count;
    TN_COUNT_ADD(me, STAGED_FREED, same ? 0 : n);
    tn_locked_queue_push_list(&of(me)->batch, &got);
    return n;
}

static enum tn_work staged_may_have_work(struct tn_worker *me)
{
    struct tn_cluster *cl = me->cluster;
    enum tn_work work = TN_WORK_NONE;
    for (uint32_t s = 0; s < KNOB(cl, stages) && work != TN_WORK_SOME; s++)
        if (tn_stage_waiting(stage_of(cl, s)) != 0)
            work = s == pool_of(me) || tn_stage_workers(stage_of(cl, s)) == 0 ? TN_WORK_SOME : TN_WORK_HELD;
    uint32_t used = atomic_load_explicit(&cl->used, memory_order_acquire); /* U0 acquire */
    for (uint32_t i = 0; i < used && work != TN_WORK_SOME; i++)
        if (tn_locked_queue_length(&of(cl->workers[i])->batch) != 0)
            work = pool_of(cl->workers[i]) == pool_of(me) ? TN_WORK_SOME : TN_WORK_HELD;
    return work;
}

static size_t staged_queued(struct tn_cluster *cl, struct tn_worker *w)
{
    size_t n = w != NULL ? tn_locked_queue_length(&of(w)->batch) : 0;
    for (uint32_t s = 0; s < KNOB(cl, stages) && w == NULL; s++)
        n += tn_stage_waiting(stage_of(cl, s));
    return n;
}

static int staged_cluster_init(struct tn_cluster *cl)
{
    for (uint32_t s = 0; s < TN_STAGES_MAX; s++)
        tn_stage_init(stage_of(cl, s));
    return tn_stage_choices_fit(KNOB(cl, split), KNOB(cl, stages), CONTROL_GIVEN(cl)) ? 0 : EINVAL;
}

static int staged_worker_init(struct tn_worker *me)
{
    tn_locked_queue_init(&of(me)->batch);
    return 0;
}

static void staged_worker_join(struct tn_worker *me)
{
    struct tn_cluster *cl = me->cluster;
    (void)cl; /* where the build fixes all */
    uint32_t s = KNOB(cl, split) != 0     ? tn_stage_of_split(KNOB(cl, split), me->index)
                 : KNOB(cl, control) != 0 ? 0
                                          : me->index % (uint32_t)KNOB(cl, stages);
    atomic_store_explicit(&of(me)->pool, s, memory_order_relaxed); /* relaxed: a hint */
    tn_stage_enter(stage_of(me->cluster, s));
}

static void staged_worker_leave(struct tn_worker *me)
{
    struct tn_link *l;
    tn_stage_quit(stage_of(me->cluster, pool_of(me)));
    while ((l = tn_locked_queue_pop_front(&of(me)->batch)) != NULL)
        tn_locked_queue_push_back(&stage_of(me->cluster, *(uint32_t *)tn_fibre_state(tn_fibre_of(l)))->queue, l);
}

static void staged_drain(struct tn_cluster *cl, struct tn_list *out)
{
    uint32_t used = atomic_load_explicit(&cl->used, memory_order_acquire); /* U0 acquire */
    for (uint32_t s = 0; s < KNOB(cl, stages); s++)
        tn_stage_drain(stage_of(cl, s), out);
    for (uint32_t i = 0; i < used; i++)
        tn_locked_queue_pop_n(&of(cl->workers[i])->batch, SIZE_MAX, out);
}

TN_SCHEDULER(staged) = {
    .name = "staged",
    .summary = "a queue and a pool of workers for each stage; a controller moves workers",
    .cluster_size = sizeof(struct staged_cluster),
    .worker_size = sizeof(struct staged_worker),
    .fibre_size = sizeof(uint32_t),
    .knobs = staged_knobs,
    .n_knobs = sizeof staged_knobs / sizeof staged_knobs[0],
    .counters = staged_counters,
    .n_counters = sizeof staged_counters / sizeof staged_counters[0],
    .cluster_init = staged_cluster_init,
    .worker_init = staged_worker_init,
    .worker_join = staged_worker_join,
    .worker_leave = staged_worker_leave,
    .ready = staged_ready,
    .next = staged_next,
    .stage = staged_stage,
    .steal = staged_steal,
    .may_have_work = staged_may_have_work,
    .queued = staged_queued,
    .drain = staged_drain,
};
