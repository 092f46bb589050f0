/* SPDX-License-Identifier: MIT
 *
 * Either layout of fifo and lifo: their verbs, which hybrid has as well, and their table. Which way a call takes was settled when the cluster was
 * made (choices.h).
 */
#ifndef TN_PARTS_EITHER_H
#define TN_PARTS_EITHER_H

#include "global.h"
#include "local.h"
#include "more.h"
#include "steal.h"

/* ---- ready, next and steal ---- */

/* From the worker's own line, where it is read at each scheduling point; a constant where the build fixes all. */
static inline int local_way(struct tn_worker *me)
{
    (void)me; /* where it does */
    return ALL_PLAIN ? WAY_PLAIN : local_of(me)->way;
}

static __attribute__((noinline)) int other_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    const uint32_t way = ALL_PLAIN ? WAY_PLAIN : ((struct local_cluster *)f->cluster->sched)->way;
    return way == WAY_GLOBAL ? global_ready(me, f, why)
           : way == WAY_MORE ? more_ready(me, f, why)
                             : local_ready(NULL, f, why);
}

static int either_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    if (__builtin_expect(me == NULL || local_way(me) != WAY_PLAIN, 0))
        return other_ready(me, f, why);
    return local_ready(me, f, why);
}

/* Many at once, of timers and pollers: whoever is nobody's worker adds them under one lock. */
static void either_ready_n(struct tn_worker *me, struct tn_list *fibres, enum tn_why why)
{
    struct tn_fibre *first = tn_fibre_of(fibres->head);
    struct tn_link *l;
    if (me == NULL && LOCAL_LAYOUT(first->cluster) == LAYOUT_LOCAL && KNOB(first->cluster, place) == PLACE_WAKER)
        tn_locked_queue_push_list(&((struct local_cluster *)first->cluster->sched)->shared, fibres);
    while ((l = tn_list_pop_front(fibres)) != NULL)
        either_ready(me, tn_fibre_of(l), why);
}

static __attribute__((noinline)) struct tn_fibre *other_next(struct tn_worker *me, bool fair)
{
    return local_of(me)->way == WAY_GLOBAL ? global_next(me, fair) : more_next(me, fair);
}

static struct tn_fibre *either_next(struct tn_worker *me, bool fair)
{
    return __builtin_expect(local_way(me) != WAY_PLAIN, 0) ? other_next(me, fair) : local_next(me, fair);
}

static inline struct tn_fibre *either_pass(struct tn_worker *me, struct tn_fibre *f)
{
    return __builtin_expect(local_way(me) != WAY_PLAIN, 0) ? NULL : local_pass(me, f);
}

static struct tn_worker *either_victim(struct tn_worker *me, unsigned attempt)
{
    return LOCAL_LAYOUT(me->cluster) == LAYOUT_GLOBAL ? NULL : local_victim(me, attempt);
}

static enum tn_work either_may_have_work(struct tn_worker *me)
{
    return LOCAL_LAYOUT(me->cluster) == LAYOUT_GLOBAL ? global_may_have_work(me) : local_may_have_work(me);
}

static size_t either_queued(struct tn_cluster *cl, struct tn_worker *w)
{
    struct local_cluster *c = cl->sched;
    if (w == NULL)
        return tn_locked_queue_length(&c->shared) + tn_locked_queue_length(&c->yields) + pool_length(c);
    return local_length(w);
}

/* ---- life ---- */

static int either_cluster_init(struct tn_cluster *cl)
{
    struct local_cluster *c = cl->sched;
    if (!local_choices_fit(cl))
        return EINVAL;
    tn_locked_queue_init(&c->shared);
    tn_locked_queue_init(&c->yields);
    c->way = (uint32_t)local_way_of(cl);
    int rc = pool_init(cl);
    if (rc == 0 && (rc = request_init(cl)) != 0)
        pool_fini(c);
    return rc;
}

static void either_cluster_fini(struct tn_cluster *cl)
{
    pool_fini(cl->sched);
    request_fini(cl->sched);
}

static int either_worker_init(struct tn_worker *me)
{
    struct local_worker *l = local_of(me);
    size_t capacity = local_round(KNOB(me->cluster, capacity));
    tn_locked_queue_init(&l->inbox);
    l->way = (uint8_t)((struct local_cluster *)me->cluster->sched)->way;
    l->limit = KNOB(me->cluster, private) != 0 ? (uint32_t)local_round(KNOB(me->cluster, private)) : 0;
    l->open = open_make(capacity);
    l->slot = tn_sched_alloc((l->limit + 1) * sizeof *l->slot);
    bool chain = KNOB(me->cluster, full) == FULL_CHAIN;
    l->chain = chain ? tn_sched_alloc(sizeof *l->chain) : NULL;
    int rc = l->open == NULL || l->slot == NULL || (chain && l->chain == NULL) ? ENOMEM : 0;
    if (rc == 0 && KNOB(me->cluster, victims) == VICTIMS_TOPOLOGY)
        rc = tn_near_init(me, &l->near);
    if (rc != 0) {
        tn_sched_free(l->open, OPEN(bytes)(capacity));
        tn_sched_free(l->slot, (l->limit + 1) * sizeof *l->slot);
        tn_sched_free(l->chain, sizeof *l->chain);
        return rc;
    }
    if (chain)
        l->chain->capacity = capacity;
    atomic_init(&l->shown, l->open);
    return 0;
}

static void either_worker_fini(struct tn_worker *me)
{
    struct local_worker *l = local_of(me);
    resize_fini(l);
    tn_near_fini(me, &l->near);
    open_free(l->open);
    tn_sched_free(l->slot, (l->limit + 1) * sizeof *l->slot);
}

/* Private work and the inbox go to the shared queue; the open part stays, for thieves. */
static void either_worker_leave(struct tn_worker *me)
{
    struct local_worker *l = local_of(me);
    struct local_cluster *c = me->cluster->sched;
    struct tn_list left = {0};
    uint32_t turn = tn_biased_enter(&l->lock);
    while (l->head != l->tail)
        tn_list_push_back(&left, l->slot[l->head++ & (l->limit - 1)]);
    tn_list_append(&left, &l->soft);
    local_publish(l);
    tn_biased_leave(&l->lock, turn);
    tn_locked_queue_pop_n(&l->inbox, SIZE_MAX, &left);
    tn_locked_queue_push_list(&c->shared, &left);
}

static void either_drain(struct tn_cluster *cl, struct tn_list *out)
{
    struct local_cluster *c = cl->sched;
    struct tn_link *link;
    uint32_t used = atomic_load_explicit(&cl->used, memory_order_acquire); /* U0 acquire */
    while ((link = pool_pop(c, 0)) != NULL)
        tn_list_push_back(out, link);
    tn_locked_queue_pop_n(&c->shared, SIZE_MAX, out);
    tn_locked_queue_pop_n(&c->yields, SIZE_MAX, out);
    for (uint32_t i = 0; i < used; i++) {
        struct local_worker *l = local_of(cl->workers[i]);
        void *f;
        while (l->head != l->tail)
            tn_list_push_back(out, l->slot[l->head++ & (l->limit - 1)]);
        tn_list_append(out, &l->soft);
        while ((f = OPEN(pop)(l->open)) != NULL)
            tn_list_push_back(out, f);
        while (chain_steal(l, 1, &f, 0) != 0)
            tn_list_push_back(out, f);
        tn_locked_queue_pop_n(&l->inbox, SIZE_MAX, out);
    }
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
        .worker_fini = either_worker_fini,                              \
        .worker_leave = either_worker_leave,                            \
        .ready = either_ready,                                          \
        .ready_n = either_ready_n,                                      \
        .next = either_next,                                            \
        .pass = either_pass,                                            \
        .passed = local_passed,                                         \
        .steal = local_steal,                                           \
        .victim = either_victim,                                        \
        .may_have_work = either_may_have_work,                          \
        .queued = either_queued,                                        \
        .drain = either_drain,                                          \
    }

#endif
