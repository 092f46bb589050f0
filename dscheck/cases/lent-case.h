/* SPDX-License-Identifier: MIT */
/*
 * What the cases on the thread of tn_run share, which is a worker until the first fibre has ended (core/join.c). That ends on
 * another worker, while this one runs, looks for work, is about to sleep, or sleeps: it must come back, with the value.
 * Nothing else ever wakes it: a case in which it sleeps for ever is a wake-up lost.
 *
 * Both are the core's own functions. As soon as the thread is back tn_stop frees what it has left behind, which is written to
 * here: so nobody may look at it any more.
 *
 * An including case defines WORKERS of its cluster: of one the fibre ends in another cluster, else on the last one of these.
 * With POLLS the thread waits in a poller.
 */
#ifndef LENT_CASE_H
#define LENT_CASE_H

#include "hot-case.h"

enum { VALUE = 42 };
static struct runtime rt;
static struct cluster home, abroad;
static struct worker lent, other;
static struct tn_worker *workers[2];
static struct fibre child;
static void *value;
static int result;

/* ---- a module that has nothing, and a poller that has no events ---- */

static struct tn_fibre *nothing(struct tn_worker *me, bool fair)
{
    (void)me, (void)fair;
    return NULL;
}

static enum tn_work no_work(struct tn_worker *me)
{
    (void)me;
    return TN_WORK_NONE;
}

static const struct tn_scheduler case_sched = {.next = nothing, .may_have_work = no_work};

#ifdef POLLS
static _Atomic(uint32_t) told; /* that a wait shall end; remembered */

static enum tn_waits_where waits(void *state, struct tn_worker *me)
{
    (void)state, (void)me;
    return TN_WAITS_APART;
}

static unsigned poll_until(void *state, struct tn_worker *me, struct tn_list *ready, tn_time deadline)
{
    (void)state, (void)me, (void)ready;
    while (atomic_exchange_explicit(&told, 0, memory_order_relaxed) == 0)
        if (tn_park(&told, 0, deadline) != 0)
            break;
    return 0;
}

static void wake_in_poll(void *state, struct tn_worker *who)
{
    (void)state;
    assert(who == &lent.pub);
    atomic_store_explicit(&told, 1, memory_order_relaxed);
    tn_unpark(&told, 1);
}

static const struct tn_poller case_poller = {
    .every = 1U << 31, .poll = poll_until, .idle = waits, .wake = wake_in_poll};
#else
static const struct tn_poller case_poller = {.name = "nobody's"};
#endif

/* ---- the two threads ---- */

static void cluster_ready(struct cluster *cl, struct tn_worker **of, uint32_t used)
{
    cl->rt = &rt;
    cl->idle.hungry = &cl->pub.hungry;
    cl->idle.n_busy = &cl->pub.busy;
    cl->idle_mode = TN_IDLE_BLOCK;
    cl->pub.workers = of;
    cl->pub.slots = used;
    atomic_init(&cl->pub.used, used);
    tn_timers_init(&cl->timers);
}

static void prepare(void)
{
    memset(&rt, 0, sizeof rt);
    memset(&home, 0, sizeof home);
    memset(&abroad, 0, sizeof abroad);
    memset(&lent, 0, sizeof lent);
    memset(&other, 0, sizeof other);
    memset(&child, 0, sizeof child);
    given = NULL;
    atomic_init(&blocked, 0);
    workers[0] = &lent.pub;
    workers[1] = &other.pub;
    cluster_ready(&home, workers, WORKERS);
    cluster_ready(&abroad, workers + 1, 1);
    abroad.next = &home;
    atomic_init(&rt.clusters, WORKERS == 1 ? &abroad : &home);
    rt.first = &home;
    rt.lent = &lent;
    lent.pub.cluster = &home.pub;
    other.pub.cluster = WORKERS == 1 ? &abroad.pub : &home.pub;
    other.pub.index = WORKERS - 1;
    tn_idle_join(&cluster_of(other.pub.cluster)->idle, &other.slot);
    child.pub.cluster = other.pub.cluster;
    atomic_init(&child.join, TN_JOIN_OPEN);
    value = NULL;
    result = -1;
}

/* On the worker on which it ends, behind the last switch away from it. */
static void *end(void *random)
{
    case_start(random);
    tn_self_set(&other);
    child.value = (void *)(uintptr_t)VALUE;
    retire(&other, &child);
    tn_self_set(NULL);
    return case_end();
}

static void *run_lent(void *random)
{
    case_start(random);
    result = join_as_worker(&child, &value, rt.lent);
    /* tn_stop */
    rt.lent = NULL;
    rt.first = NULL;
    home.pub.workers = NULL;
    return case_end();
}

static void check(void)
{
    assert(result == 0 && value == (void *)(uintptr_t)VALUE);
    assert(given == &child && atomic_load_explicit(&child.join, memory_order_relaxed) == TN_JOIN_FREE);
    assert(atomic_load_explicit(&blocked, memory_order_relaxed) == 0);
    assert(atomic_load_explicit(&rt.visitors.now, memory_order_relaxed) == 0);
    /* It has left its cluster, and nobody in there takes it for idle, or for searching. */
    assert(lent.slot.on == TN_ON_NONE && home.idle.idle.head == NULL);
    assert(home.idle.busy.head == (WORKERS == 1 ? NULL : &other.slot));
    assert(atomic_load_explicit(&home.pub.hungry, memory_order_relaxed) == 0);
}

#endif
