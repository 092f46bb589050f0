/* SPDX-License-Identifier: MIT
 *
 * limbo: for test_limbo, as a plug-in. What is stolen is nowhere for a while, long enough for everybody else to have
 * looked in vain and gone to sleep: the moment of each theft that no test could wait for, made long.
 */
#include "scheduler.h"
#include "queues/locked.h"

enum { WHILE_NS = 5000000 };

struct limbo {
    struct tn_locked_queue shared;
    _Atomic(bool) over; /* the theft has been */
    _Atomic(tn_time) since;
};

static int limbo_init(struct tn_cluster *cl)
{
    tn_locked_queue_init(&((struct limbo *)cl->sched)->shared);
    return 0;
}

static int limbo_worker_init(struct tn_worker *me)
{
    tn_locked_queue_init(me->sched);
    return 0;
}

static int limbo_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    (void)why;
    struct limbo *l = f->cluster->sched;
    tn_locked_queue_push_back(me != NULL ? me->sched : &l->shared, &f->link);
    return 0;
}

static struct tn_fibre *limbo_next(struct tn_worker *me, bool fair)
{
    (void)fair;
    struct limbo *l = me->cluster->sched;
    struct tn_fibre *f = tn_fibre_of(tn_locked_queue_pop_front(me->sched));
    return f != NULL ? f : tn_fibre_of(tn_locked_queue_pop_front(&l->shared));
}

/* The first theft is of two at least, and a while after somebody has gone to sleep. */
static unsigned limbo_steal(struct tn_worker *me, struct tn_worker *victim)
{
    struct limbo *l = me->cluster->sched;
    struct tn_list taken = {0};
    struct tn_link *link;
    unsigned n = 0;
    if (!atomic_load(&l->over)) {
        bool asleep = tn_idle_count(me->cluster) != 0;
        if (!asleep || atomic_load(&l->since) == 0)
            atomic_store(&l->since, tn_now());
        if (!asleep || tn_now() - atomic_load(&l->since) < WHILE_NS || tn_locked_queue_length(victim->sched) < 2)
            return 0;
    }
    tn_locked_queue_pop_n(victim->sched, SIZE_MAX, &taken);
    while ((link = tn_list_pop_front(&taken)) != NULL) {
        tn_locked_queue_push_back(me->sched, link);
        n++;
    }
    atomic_store(&l->over, n != 0 || atomic_load(&l->over));
    return n;
}

/* Until then nobody finds what lies with another worker. */
static enum tn_work limbo_may_have_work(struct tn_worker *me)
{
    struct limbo *l = me->cluster->sched;
    size_t n = tn_locked_queue_length(&l->shared) + tn_locked_queue_length(me->sched);
    for (uint32_t i = 0; atomic_load(&l->over) && i < atomic_load(&me->cluster->used); i++)
        n += tn_locked_queue_length(me->cluster->workers[i]->sched);
    return n != 0 ? TN_WORK_SOME : TN_WORK_NONE;
}

static void limbo_drain(struct tn_cluster *cl, struct tn_list *out)
{
    tn_locked_queue_pop_n(&((struct limbo *)cl->sched)->shared, SIZE_MAX, out);
    for (uint32_t i = 0; i < atomic_load(&cl->used); i++)
        tn_locked_queue_pop_n(cl->workers[i]->sched, SIZE_MAX, out);
}

TN_SCHEDULER(limbo) = {
    .name = "limbo",
    .summary = "queues of workers, whose first theft takes a while",
    .cluster_size = sizeof(struct limbo),
    .worker_size = sizeof(struct tn_locked_queue),
    .cluster_init = limbo_init,
    .worker_init = limbo_worker_init,
    .ready = limbo_ready,
    .next = limbo_next,
    .steal = limbo_steal,
    .may_have_work = limbo_may_have_work,
    .drain = limbo_drain,
};
