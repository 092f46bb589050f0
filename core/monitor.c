/* SPDX-License-Identifier: MIT
 *
 * The monitor (003 §4.4.3, the way without annotations): replaces workers that are stuck in the kernel.
 *
 * In each period it asks every worker that is awake to look up from its work (DUE_ASKED). A worker that has not done so
 * by the next look has passed no scheduling point for at least a period; if its thread sleeps in the kernel at that
 * moment, it is stuck. A hog, which computes, is not: another worker would only compete with it. Stuck workers are
 * replaced while no worker is idle: who is idle can take the work as well. The work in a stuck worker's queues is stolen
 * from it, as from any hog.
 */
#include "internal.h"

/* Looks for which a replacement is kept after it was last needed: who blocked will block again. For speed only. */
enum { CALM = 64 };

static bool is_stuck(struct worker *w)
{
    /* relaxed, both: hints; what a wrong answer costs is a worker too many, or one period */
    if (atomic_load_explicit(&w->slot.word, memory_order_relaxed) != TN_SLOT_AWAKE)
        return false;
    if (atomic_load_explicit(&w->due, memory_order_relaxed) != DUE_ASKED) {
        atomic_store_explicit(&w->due, DUE_ASKED, memory_order_relaxed);
        return false;
    }
    return atomic_load_explicit(&w->alive, memory_order_acquire) && /* AL0 acquire: its number */
           tn_thread_sleeps(w->stopped.thread);
}

static void replace(struct cluster *cl, unsigned n)
{
    unsigned before = tn_workers(&cl->pub);
    (void)tn_workers_add(&cl->pub, n); /* as many as slots and threads can be had */
    unsigned now = tn_workers(&cl->pub);
    n = now > before ? now - before : 0; /* somebody else may remove some meanwhile */
    cl->extra += n;
    atomic_store_explicit((_Atomic(uint64_t) *)&cl->counts[COUNT_REPLACED], cl->counts[COUNT_REPLACED] + n,
                          memory_order_relaxed); /* relaxed: one writer */
}

static void look_after(struct cluster *cl)
{
    uint32_t used = atomic_load_explicit(&cl->pub.used, memory_order_acquire); /* U0 acquire */
    for (uint32_t i = 0; i < used; i++)
        worker_of(cl->pub.workers[i])->stuck = is_stuck(worker_of(cl->pub.workers[i]));
    unsigned stuck = 0;
    tn_spinlock_lock(&cl->life);
    for (uint32_t i = 0; i < used; i++)
        stuck += worker_of(cl->pub.workers[i])->state == WORKER_RUNS && worker_of(cl->pub.workers[i])->stuck;
    unsigned active = cl->active;
    tn_spinlock_unlock(&cl->life);

    if (cl->extra >= active) /* somebody else has removed workers, and took replacements for his own */
        cl->extra = active - 1;
    unsigned wanted = active - cl->extra, live = active - stuck;
    if (live < wanted && tn_idle_count(&cl->pub) == 0) /* relaxed: a hint */
        replace(cl, wanted - live);
    if (live <= wanted || cl->extra == 0) {
        cl->calm = 0;
    } else if (++cl->calm >= CALM) {
        cl->calm = 0;
        cl->extra -= tn_workers_remove(&cl->pub, 1) == 0;
    }
}

static void *monitor_main(void *arg)
{
    struct runtime *rt = arg;
    struct monitor *m = &rt->monitor;
    diagnose_own_begins();
    while (atomic_load_explicit(&m->end, memory_order_relaxed) == 0) { /* relaxed: joined afterwards */
        tn_park(&m->end, 0, tn_now() + m->period);
        tn_spinlock_lock(&rt->lock);
        /* relaxed: under the lock. It grows at its head only, until tn_stop, which ends us first */
        struct cluster *cl = atomic_load_explicit(&rt->clusters, memory_order_relaxed);
        tn_spinlock_unlock(&rt->lock);
        for (; cl != NULL; cl = cl->next)
            look_after(cl);
    }
    diagnose_own_ends();
    return NULL;
}

int monitor_start(struct runtime *rt, tn_time period)
{
    rt->monitor.period = period;
    int rc = period != 0 ? tn_thread_create(&rt->monitor.thread, monitor_main, rt) : 0;
    if (rc != 0)
        rt->monitor.period = 0;
    return rc;
}

void monitor_stop(struct runtime *rt)
{
    if (rt->monitor.period == 0)
        return;
    atomic_store_explicit(&rt->monitor.end, 1, memory_order_relaxed); /* relaxed: nothing goes with it */
    tn_unpark(&rt->monitor.end, 1);
    tn_thread_join(&rt->monitor.thread);
}
