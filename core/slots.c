/* SPDX-License-Identifier: MIT
 *
 * The workers of a cluster, in slots that are never given back: their threads join, leave, and are started when there
 * is work for them. A cluster's `life` lock is held while a thread is made or told to leave.
 */
#include "internal.h"

/* A slot that was never used: memory for worker and module state, before others can see it. */
static int slot_make(struct cluster *cl, uint32_t i)
{
    struct worker *w = tn_sched_alloc(sizeof *w);
    if (w == NULL)
        return ENOMEM;
    w->pub.cluster = &cl->pub;
    w->pub.index = i;
    w->pub.random = cl->rt->seed + i * UINT64_C(0x9e3779b97f4a7c15);
    w->chances = ~w->pub.random;
    w->pub.counts = w->counts + COUNT_CORE;
    if (cl->sched->worker_size != 0) {
        w->pub.sched = tn_sched_alloc(cl->sched->worker_size);
        if (w->pub.sched == NULL) {
            tn_sched_free(w, sizeof *w);
            return ENOMEM;
        }
    }
    int rc = cl->sched->worker_init != NULL ? module_answer(cl->sched, cl->sched->worker_init(&w->pub)) : 0;
    if (rc != 0) {
        tn_sched_free(w->pub.sched, cl->sched->worker_size);
        tn_sched_free(w, sizeof *w);
        return rc;
    }
    cl->pub.workers[i] = &w->pub;
    atomic_store_explicit(&cl->pub.used, i + 1, memory_order_release); /* U0 release: the slot is complete */
    return 0;
}

TN_MODULE_API int tn_distances(struct tn_worker *me, uint8_t *to)
{
    unsigned first = cluster_of(me->cluster)->first_cpu;
    for (uint32_t i = 0; i < me->cluster->slots; i++) {
        int distance = tn_processor_distance(first + me->index, first + i);
        if (distance == -ENOMEM)
            return ENOMEM;
        if (distance < 0) {
            tn_message(
                "tenter: neither hwloc nor /sys says how far apart the processors are: choose victims otherwise");
            return ENOTSUP;
        }
        to[i] = (uint8_t)distance;
    }
    return 0;
}

/* Give an unborn worker its thread. Called with its slot off the idle list. */
int worker_start(struct worker *w)
{
    struct cluster *cl = cluster_of(w->pub.cluster);
    tn_spinlock_lock(&cl->life); /* held while the thread is made: who ends the cluster sees all of them or none */
    int rc = cl->ending ? EAGAIN : tn_thread_create(&w->thread, worker_main, w);
    w->state = rc == 0 ? WORKER_RUNS : WORKER_EMPTY;
    cl->active -= rc != 0;
    tn_spinlock_unlock(&cl->life);
    return rc;
}

/* Called by who has turned the keeper's word from NONE to AWAKE. */
void keeper_start(struct cluster *cl)
{
    tn_spinlock_lock(&cl->life); /* as in worker_start */
    uint32_t awake = TN_KEEPER_AWAKE;
    int rc = cl->ending ? EAGAIN : tn_thread_create(&cl->keeper_thread, keeper_main, cl);
    /* No thread to be had: every 64th scheduling point must do. relaxed: whoever calls next tries again */
    if (rc != 0)
        atomic_compare_exchange_strong_explicit(&cl->keeper.word, &awake, TN_KEEPER_NONE, memory_order_relaxed,
                                                memory_order_relaxed);
    tn_spinlock_unlock(&cl->life);
}

/* Last act of a worker's thread. */
void worker_ended(struct worker *w)
{
    struct cluster *cl = cluster_of(w->pub.cluster);
    if (w->free != NULL) {
        stacks_give(&cl->rt->stacks, w->free, w->n_free);
        w->free = NULL;
        w->n_free = 0;
    }
    tn_spinlock_lock(&cl->life);
    w->state = WORKER_GONE;
    w->until = NULL;
    atomic_store_explicit(&w->leave, false, memory_order_relaxed); /* relaxed: under the lock */
    tn_spinlock_unlock(&cl->life);
}

int cluster_add_worker(struct cluster *cl, enum worker_from from)
{
    uint32_t used = atomic_load_explicit(&cl->pub.used, memory_order_relaxed), i = 0; /* relaxed: under life */
    if (cl->ending)
        return EAGAIN;
    while (i < used && worker_of(cl->pub.workers[i])->state != WORKER_GONE &&
           worker_of(cl->pub.workers[i])->state != WORKER_EMPTY)
        i++;
    if (i == cl->pub.slots)
        return EAGAIN;
    int rc = i == used ? slot_make(cl, i) : 0;
    if (rc != 0)
        return rc;
    struct worker *w = worker_of(cl->pub.workers[i]);
    if (w->state == WORKER_GONE && !w->lent)
        tn_thread_join(&w->thread); /* it has announced its end: this is short */
    w->state = WORKER_EMPTY;
    w->lent = from == WORKER_LENT;
    if (from == WORKER_ON_DEMAND) {
        w->state = WORKER_UNBORN;
        w->slot.unborn = true;
        tn_idle_list(&cl->idle, &w->slot, TN_SLOT_PARKED);
    } else {
        rc = w->lent ? 0 : tn_thread_create(&w->thread, worker_main, w);
        if (rc != 0)
            return rc;
        w->state = WORKER_RUNS;
    }
    cl->active++;
    return 0;
}

TN_API int tn_worker_thread(const tn_cluster *cluster, unsigned worker, uintptr_t *handle)
{
    struct cluster *cl = (struct cluster *)(uintptr_t)cluster;
    if (worker >= cl->pub.slots)
        return EINVAL;
    if (left_behind_in_parent(cl->rt))
        return EPERM;
    int rc = ESRCH;
    tn_spinlock_lock(&cl->life);
    /* relaxed: under life */
    if (worker < atomic_load_explicit(&cl->pub.used, memory_order_relaxed)) {
        struct worker *w = worker_of(cl->pub.workers[worker]);
        if ((w->state == WORKER_RUNS || w->state == WORKER_LEAVING) && w->thread.handle != 0) {
            *handle = w->thread.handle;
            rc = 0;
        }
    }
    tn_spinlock_unlock(&cl->life);
    return rc;
}

TN_API int tn_workers_add(tn_cluster *cluster, unsigned n)
{
    struct cluster *cl = cluster_of(cluster);
    int rc = 0;
    if (left_behind_in_parent(cl->rt))
        return EPERM;
    tn_spinlock_lock(&cl->life);
    while (n-- > 0 && rc == 0)
        rc = cluster_add_worker(cl, WORKER_ANEW);
    tn_spinlock_unlock(&cl->life);
    if (cl->rt->lent != NULL)
        cluster_kick(cl); /* it is not the only one any more: see will_end() */
    return rc;
}

TN_API int tn_workers_remove(tn_cluster *cluster, unsigned n)
{
    struct cluster *cl = cluster_of(cluster);
    if (left_behind_in_parent(cl->rt))
        return EPERM;
    tn_spinlock_lock(&cl->life);
    int rc = n < cl->active ? 0 : EINVAL;
    unsigned running = 0;
    for (uint32_t i = cl->pub.used; i-- > 0;)
        running += worker_of(cl->pub.workers[i])->state == WORKER_RUNS;
    for (uint32_t i = cl->pub.used; rc == 0 && n > 0 && i-- > 0;) {
        struct worker *w = worker_of(cl->pub.workers[i]);
        if (w->state == WORKER_UNBORN && tn_idle_withdraw(&cl->idle, &w->slot)) {
            tn_idle_leave(&cl->idle, &w->slot);
            w->slot.unborn = false;
            w->state = WORKER_EMPTY;
        } else if (w->state == WORKER_RUNS && running > 1) {
            running--;
            w->state = WORKER_LEAVING;
            atomic_store_explicit(&w->leave, true, memory_order_relaxed); /* relaxed: see must_leave() */
        } else {
            continue; /* leaving, gone, or being started by a waker, which may get no thread: not to be counted on */
        }
        cl->active--;
        n--;
    }
    if (rc == 0 && n > 0)
        rc = EAGAIN;
    tn_spinlock_unlock(&cl->life);
    cluster_kick(cl);
    return rc;
}

TN_API unsigned tn_workers(const tn_cluster *cluster)
{
    struct cluster *cl = (struct cluster *)(uintptr_t)cluster;
    if (left_behind_in_parent(cl->rt))
        return 0;
    tn_spinlock_lock(&cl->life);
    unsigned n = cl->active;
    tn_spinlock_unlock(&cl->life);
    return n;
}
