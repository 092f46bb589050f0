/* SPDX-License-Identifier: MIT
 *
 * layout=global: one queue for the whole cluster (003 §4.3 starts from it). fifo: the FAD+CAS ring, and behind it a
 * locked list for what does not fit in; lifo: a locked stack. Every yield goes to the cluster's yield queue, which
 * comes before the main one every YIELD_EVERY-th time, and every other time that next() is asked to be fair.
 *
 * Order of fifo: what lies in the list is newer than all in the ring, because nothing enters the ring while the
 * list holds anything (up to the races of several workers that look at the same time).
 */
#ifndef TN_PARTS_GLOBAL_H
#define TN_PARTS_GLOBAL_H

#define LOCAL_OWN_KNOBS(K)                                                                                \
    K(layout, "local|global", 0, 0, 1, "", "a queue for each worker, or one for the cluster", "003 §4.3") \
    K(capacity, NULL, 128, 1, 1 << 20, "fibres",                                                          \
      "size of a bounded queue (local: of each worker's open part), rounded up to a power of two", "003 §7.1.1")

#include "local.h"
#include "queues/mpmc_ring.h"

enum { LAYOUT_LOCAL, LAYOUT_GLOBAL };
enum { YIELD_EVERY = 8 };

static __attribute__((noinline)) int global_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    struct local_cluster *c = f->cluster->sched;
    if (why == TN_YIELDED || why == TN_YIELDED_HARD) {
        tn_locked_queue_push_back(&c->yields, &f->link);
        return 0;
    }
    if (why == TN_SPAWNED && me != NULL && KNOB(f->cluster, spawn) == SPAWN_CHILD)
        return TN_RUN_NOW;
    bool room = LOCAL_LIFO ? tn_locked_queue_length(&c->shared) < (size_t)KNOB(f->cluster, capacity)
                           : tn_locked_queue_length(&c->shared) == 0 && tn_mpmc_push(c->ring, f);
    if (!room && why == TN_SPAWNED && KNOB(f->cluster, full) == FULL_REFUSE)
        return EAGAIN;
    if (LOCAL_LIFO)
        tn_locked_queue_push_front(&c->shared, &f->link);
    else if (!room)
        tn_locked_queue_push_back(&c->shared, &f->link);
    if (!room && me != NULL)
        TN_COUNT_ADD(me, LOCAL_OVERFLOW, 1);
    return 0;
}

static __attribute__((noinline)) struct tn_fibre *global_next(struct tn_worker *me, bool fair)
{
    struct local_cluster *c = me->cluster->sched;
    struct local_worker *l = local_of(me);
    struct tn_link *f = NULL;
    if ((fair && (l->was_fair = !l->was_fair)) || ++l->ticks % YIELD_EVERY == 0)
        f = tn_locked_queue_pop_front(&c->yields);
    if (f == NULL && !LOCAL_LIFO)
        f = tn_mpmc_pop(c->ring);
    if (f == NULL)
        f = tn_locked_queue_pop_front(&c->shared);
    if (f == NULL)
        f = tn_locked_queue_pop_front(&c->yields);
    return tn_fibre_of(f);
}

static enum tn_work global_may_have_work(struct tn_worker *me)
{
    struct local_cluster *c = me->cluster->sched;
    return (!LOCAL_LIFO && tn_mpmc_length(c->ring) != 0) || tn_locked_queue_length(&c->shared) != 0 ||
                   tn_locked_queue_length(&c->yields) != 0
               ? TN_WORK_SOME
               : TN_WORK_NONE;
}

static int global_cluster_init(struct tn_cluster *cl)
{
    struct local_cluster *c = cl->sched;
    size_t capacity = local_round(KNOB(cl, capacity));
    c->ring = tn_sched_alloc(tn_mpmc_bytes(capacity));
    if (c->ring == NULL)
        return ENOMEM;
    tn_mpmc_init(c->ring, capacity);
    return 0;
}

static void global_drain(struct tn_cluster *cl, struct tn_list *out)
{
    struct local_cluster *c = cl->sched;
    void *f;
    while (c->ring != NULL && (f = tn_mpmc_pop(c->ring)) != NULL)
        tn_list_push_back(out, f);
}

/* ---- the verbs of both layouts ---- */

/* From the worker's own line, where it is read at each scheduling point; a constant where the build fixes it. */
static inline bool local_is_global(struct tn_worker *me)
{
    (void)me; /* where the layout is fixed */
    const int64_t layout = TN_KNOB_FIX_(TN_KNOB_OWNER, layout, local_of(me)->global);
    return layout == LAYOUT_GLOBAL;
}

static int either_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    bool global = me != NULL ? local_is_global(me) : KNOB(f->cluster, layout) == LAYOUT_GLOBAL;
    return __builtin_expect(global, 0) ? global_ready(me, f, why) : local_ready(me, f, why);
}

/* Many at once, of timers and pollers: whoever is nobody's worker adds them under one lock. */
static void either_ready_n(struct tn_worker *me, struct tn_list *fibres, enum tn_why why)
{
    struct tn_fibre *first = tn_fibre_of(fibres->head);
    struct tn_link *l;
    if (me == NULL && KNOB(first->cluster, layout) == LAYOUT_LOCAL && KNOB(first->cluster, place) == PLACE_WAKER)
        tn_locked_queue_push_list(&((struct local_cluster *)first->cluster->sched)->shared, fibres);
    while ((l = tn_list_pop_front(fibres)) != NULL)
        either_ready(me, tn_fibre_of(l), why);
}

static struct tn_fibre *either_next(struct tn_worker *me, bool fair)
{
    return __builtin_expect(local_is_global(me), 0) ? global_next(me, fair) : local_next(me, fair);
}

static struct tn_worker *either_victim(struct tn_worker *me, unsigned attempt)
{
    return KNOB(me->cluster, layout) == LAYOUT_GLOBAL ? NULL : local_victim(me, attempt);
}

static enum tn_work either_may_have_work(struct tn_worker *me)
{
    return KNOB(me->cluster, layout) == LAYOUT_GLOBAL ? global_may_have_work(me) : local_may_have_work(me);
}

static size_t either_queued(struct tn_cluster *cl, struct tn_worker *w)
{
    struct local_cluster *c = cl->sched;
    if (w == NULL)
        return tn_locked_queue_length(&c->shared) + tn_locked_queue_length(&c->yields) +
               (c->ring != NULL ? tn_mpmc_length(c->ring) : 0);
    struct local_worker *l = local_of(w);
    return OPEN(length)(l->open) + tn_locked_queue_length(&l->inbox) +
           atomic_load_explicit(&l->held, memory_order_relaxed); /* relaxed: a hint */
}

static int either_cluster_init(struct tn_cluster *cl)
{
    local_cluster_init(cl);
    return !LOCAL_LIFO && KNOB(cl, layout) == LAYOUT_GLOBAL ? global_cluster_init(cl) : 0;
}

static int either_worker_init(struct tn_worker *me)
{
    local_of(me)->global = KNOB(me->cluster, layout) == LAYOUT_GLOBAL;
    return local_worker_init(me);
}

static void either_cluster_fini(struct tn_cluster *cl)
{
    struct local_cluster *c = cl->sched;
    if (c->ring != NULL)
        tn_sched_free(c->ring, tn_mpmc_bytes(tn_mpmc_capacity(c->ring)));
}

static void either_drain(struct tn_cluster *cl, struct tn_list *out)
{
    local_drain(cl, out);
    global_drain(cl, out);
}

#define EITHER_TABLE(id, text)                                          \
    TN_SCHEDULER(id) = {                                                \
        .name = #id,                                                    \
        .summary = text,                                                \
        .cluster_size = sizeof(struct local_cluster),                   \
        .worker_size = sizeof(struct local_worker),                     \
        .knobs = local_knobs,                                           \
        .n_knobs = sizeof local_knobs / sizeof local_knobs[0],          \
        .counters = local_counters,                                     \
        .n_counters = sizeof local_counters / sizeof local_counters[0], \
        .cluster_init = either_cluster_init,                            \
        .cluster_fini = either_cluster_fini,                            \
        .worker_init = either_worker_init,                              \
        .worker_fini = local_worker_fini,                               \
        .worker_leave = local_worker_leave,                             \
        .ready = either_ready,                                          \
        .ready_n = either_ready_n,                                      \
        .next = either_next,                                            \
        .steal = local_steal,                                           \
        .victim = either_victim,                                        \
        .may_have_work = either_may_have_work,                          \
        .queued = either_queued,                                        \
        .drain = either_drain,                                          \
    }

#endif
