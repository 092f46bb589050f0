/* SPDX-License-Identifier: MIT
 *
 * Runtimes and clusters: starting and stopping them.
 */
#include "internal.h"
#include "preempted.h"

#include <stdlib.h>

void *tn_sched_alloc(size_t bytes)
{
    bytes = (bytes + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE;
    void *p = bytes != 0 ? aligned_alloc(TN_CACHE_LINE, bytes) : NULL;
    if (p != NULL)
        memset(p, 0, bytes);
    return p;
}

void tn_sched_free(void *memory, size_t bytes)
{
    (void)bytes;
    free(memory);
}

void *tn_fibre_state(struct tn_fibre *f)
{
    return (char *)f + FIBRE_BYTES;
}

void **tn_fibre_word(struct tn_fibre *f)
{
    return &fibre_of(f)->word;
}

/* ---- clusters ---- */

bool left_behind_in_parent(struct runtime *rt)
{
    static _Atomic(unsigned) said; /* relaxed: a message more or less */
    unsigned process = tn_process();
    if (rt->process == process)
        return false;
    if (atomic_exchange_explicit(&said, process, memory_order_relaxed) != process)
        tn_message(
            "tenter: refused in a child of fork(): the runtime's threads stayed in the parent; exec, or start a "
            "runtime in the child (tn_start)");
    return true;
}

static int choose_scheduler(struct cluster *cl, const char *spec)
{
    size_t n;
    const struct tn_scheduler *const *all = binding_all(&n);
    if (spec == NULL)
        spec = "";
    size_t name = strcspn(spec, ":");
    bool said = false;
    if (name == 0 && n > 0) /* knobs only, of the default module */
        cl->sched = all[0];
    else
        cl->sched = binding_find(spec, name, &said);
    if (cl->sched == NULL && said)
        return EINVAL;
    if (cl->sched == NULL && name == 0) {
        tn_message("tenter: this build has plug-ins only: name one, as TENTER_SCHEDULER=/path/to/module.so does");
        return EINVAL;
    }
    if (cl->sched == NULL) {
        const char *names[64];
        for (size_t i = 0; i < n && i < 64; i++)
            names[i] = all[i]->name;
        const char *nearest = tn_nearest(spec, names, n);
        char have[128] = "";
        for (size_t i = 0; i < n; i++) {
            strncat(have, i != 0 ? ", " : "", sizeof have - strlen(have) - 1);
            strncat(have, all[i]->name, sizeof have - strlen(have) - 1);
        }
        const char *object = "";
        if (memchr(spec, '/', name) != NULL)
            object = "; plug-ins need one with -Dschedulers=…,plugin";
        else if (name > 3 && memcmp(spec + name - 3, ".so", 3) == 0)
            object = "; a plug-in is named by a path with a slash";
        if (object[0] != '\0')
            nearest = NULL;
        tn_message(
            "tenter: no scheduler '%.*s' in this build, which has %s (more: meson setup -Dschedulers=…)%s%s%s%s",
            (int)name, spec, n != 0 ? have : "plug-ins only", object, nearest != NULL ? "; did you mean '" : "",
            nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
        return EINVAL;
    }
    int rc = module_check(cl->sched);
    if (rc != 0)
        return rc;
    char what[64] = "scheduler ";
    strncat(what, cl->sched->name, sizeof what - strlen(what) - 1);
    return tn_knobs_parse(what, cl->sched->knobs, cl->sched->n_knobs, spec + name, cl->sched_knobs);
}

static int choose_poller(struct cluster *cl, const char *spec)
{
    const struct tn_poller *p = binding_poller;
    size_t name = spec != NULL ? strcspn(spec, ":") : 0;
    if (spec != NULL && !(strlen(p->name) == name && memcmp(spec, p->name, name) == 0)) {
        tn_message(
            "tenter: this build has the poller '%s', not '%.*s' (others: ./tenter list, meson setup -Dpoller=…)",
            p->name, (int)name, spec);
        return EINVAL;
    }
    return tn_knobs_parse("poller", p->knobs, p->n_knobs, spec != NULL ? spec + name : "", cl->poller_knobs);
}

static void cluster_free(struct cluster *cl)
{
    const struct tn_scheduler *s = cl->sched;
    uint32_t used = atomic_load_explicit(&cl->pub.used, memory_order_relaxed); /* relaxed: nobody else is left */
    for (uint32_t i = 0; i < used; i++) {
        struct worker *w = worker_of(cl->pub.workers[i]);
        if (s->worker_fini != NULL)
            s->worker_fini(&w->pub);
        tn_sched_free(w->pub.sched, s->worker_size);
        tn_sched_free(w, sizeof *w);
    }
    if (cl->sched_ready && s->cluster_fini != NULL)
        s->cluster_fini(&cl->pub);
    if (cl->poller_open && binding_poller->close != NULL)
        binding_poller->close(&cl->pub, cl->poller);
    tn_sched_free(cl->poller, binding_poller->cluster_size);
    tn_sched_free(cl->pub.sched, s != NULL ? s->cluster_size : 0);
    tn_sched_free(cl->pub.workers, cl->pub.slots * sizeof *cl->pub.workers);
    tn_timers_fini(&cl->timers);
    tn_sched_free(cl, sizeof *cl);
}

/* By the first cluster of a runtime, before there are fibres. */
static void lay_out(struct runtime *rt, const struct tn_scheduler *first, size_t stack)
{
    size_t n, state = first->fibre_size;
    const struct tn_scheduler *const *all = binding_all(&n);
    for (size_t i = 0; i < n; i++)
        state = all[i]->fibre_size > state ? all[i]->fibre_size : state;
    stacks_init(&rt->stacks, stack + rt->stack_room, state);
}

static int cluster_make(struct runtime *rt, const struct tn_config *config, bool lent, struct cluster **out)
{
    struct cluster *cl = tn_sched_alloc(sizeof *cl);
    if (cl == NULL)
        return ENOMEM;
    cl->rt = rt;
    cl->idle.hungry = &cl->pub.hungry;
    cl->idle.n_busy = &cl->pub.busy;
    cl->idle_mode = config->idle;
    cl->spin_us = config->spin_us;
    cl->pin = config->pin;
    cl->preempt_us = config->preempt_us;
    cl->pub.knobs = cl->sched_knobs;
    cl->pub.slots = (uint32_t)config->slots;
    tn_timers_init(&cl->timers);
    int rc = choose_scheduler(cl, config->scheduler);
    if (rc == 0 && config->preempt_us != 0)
        rc = preempt_ready(rt->stack_room);
    if (rc == 0 && rt->stacks.stride == 0)
        lay_out(rt, cl->sched, (size_t)config->stack);
    if (rc == 0)
        rc = module_room(cl->sched, &rt->stacks);
    if (rc == 0)
        rc = choose_poller(cl, config->poller);
    if (rc == 0) {
        cl->pub.workers = tn_sched_alloc(cl->pub.slots * sizeof *cl->pub.workers);
        cl->pub.sched = tn_sched_alloc(cl->sched->cluster_size);
        cl->poller = tn_sched_alloc(binding_poller->cluster_size);
        if (cl->pub.workers == NULL || (cl->sched->cluster_size != 0 && cl->pub.sched == NULL) ||
            (binding_poller->cluster_size != 0 && cl->poller == NULL))
            rc = ENOMEM;
    }
    if (rc == 0 && cl->sched->cluster_init != NULL)
        rc = module_answer(cl->sched, cl->sched->cluster_init(&cl->pub));
    cl->sched_ready = rc == 0;
    if (rc == 0 && binding_poller->open != NULL) {
        rc = binding_poller->open(&cl->pub, cl->poller, cl->poller_knobs);
        cl->poller_open = rc == 0;
        if (cl->poller_open && binding_poller->calls != NULL)
            cl->calls = binding_poller->calls(cl->poller);
        if (binding_poller->perform != NULL)
            cl->calls |= TN_CALLS_PERFORMS;
    }
    tn_spinlock_lock(&rt->lock);
    cl->first_cpu = rt->next_cpu;
    rt->next_cpu += (unsigned)config->workers;
    tn_spinlock_unlock(&rt->lock);
    tn_spinlock_lock(&cl->life);
    for (int64_t i = 0; rc == 0 && i < config->workers; i++)
        rc = cluster_add_worker(cl, lent                              ? WORKER_LENT
                                    : config->on_demand != 0 && i > 0 ? WORKER_ON_DEMAND
                                                                      : WORKER_ANEW);
    tn_spinlock_unlock(&cl->life);
    *out = cl;
    return rc;
}

/* End the cluster's threads. Once the lock is free no further one is started. */
static void cluster_join(struct cluster *cl)
{
    tn_spinlock_lock(&cl->life);
    cl->ending = true;
    tn_keeper_end(&cl->keeper);
    bool keeper = cl->keeper_thread.handle != 0;
    uint32_t used = atomic_load_explicit(&cl->pub.used, memory_order_relaxed); /* relaxed: under life */
    for (uint32_t i = 0; i < used; i++)                                        /* relaxed: see must_leave() */
        atomic_store_explicit(&worker_of(cl->pub.workers[i])->leave, true, memory_order_relaxed);
    tn_spinlock_unlock(&cl->life);
    if (keeper)
        tn_thread_join(&cl->keeper_thread);
    cluster_kick(cl);
    for (uint32_t i = 0; i < used; i++) {
        struct worker *w = worker_of(cl->pub.workers[i]);
        tn_spinlock_lock(&cl->life);
        bool thread = w->state != WORKER_UNBORN && w->state != WORKER_EMPTY && !w->lent;
        tn_spinlock_unlock(&cl->life);
        if (thread)
            tn_thread_join(&w->thread);
    }
    if (cl->poller_open && binding_poller->stop != NULL)
        binding_poller->stop(cl->poller);
}

static int cluster_create(struct runtime *rt, const struct tn_config *config, bool lent, tn_cluster **out)
{
    struct cluster *cl = NULL;
    /* From here until it is on the list tn_stop waits for us, whoever we are. */
    tn_visitors_enter(&rt->visitors);
    int rc = cluster_make(rt, config, lent, &cl);
    if (rc != 0 && cl != NULL) {
        cluster_join(cl); /* nobody knows it but its own workers, which have nothing to run: this is short */
        cluster_free(cl);
    } else if (cl != NULL) {
        tn_spinlock_lock(&rt->lock);
        /* relaxed: under the lock */
        cl->next = atomic_load_explicit(&rt->clusters, memory_order_relaxed);
        atomic_store_explicit(&rt->clusters, cl, memory_order_release); /* CL0 release: it is complete */
        tn_spinlock_unlock(&rt->lock);
    }
    if (rc == 0)
        *out = &cl->pub;
    if (rt->lent != NULL)
        cluster_kick(rt->first); /* see will_end() */
    tn_visitors_leave(&rt->visitors);
    return rc;
}

TN_API int tn_cluster_create(tn_runtime *runtime, const struct tn_config *given, tn_cluster **out)
{
    struct worker *self = tn_self();
    struct runtime *rt = (struct runtime *)(void *)runtime;
    if (rt == NULL && self == NULL)
        return EPERM;
    if (rt == NULL)
        rt = cluster_of(self->pub.cluster)->rt;
    struct tn_config config;
    int rc = left_behind_in_parent(rt) ? EPERM : config_resolve(given, &config);
    return rc != 0 ? rc : cluster_create(rt, &config, false, out);
}

TN_API tn_cluster *tn_cluster_first(tn_runtime *rt)
{
    return &((struct runtime *)(void *)rt)->first->pub;
}

/* ---- runtimes ---- */

/* `lends`: the caller will be the worker, if there is one only. Not if that is pinned: a thread that comes back is as it was. */
static int start(struct runtime **out, const struct tn_config *given, bool lends)
{
    struct tn_config config;
    int rc = config_resolve(given, &config);
    if (rc != 0)
        return rc;
    struct runtime *rt = tn_sched_alloc(sizeof *rt);
    if (rt == NULL)
        return ENOMEM;
    rt->process = tn_process();
    rt->stack_room = config.preempt_us != 0 ? preempt_room() : 0;
    diagnose_anew();
    rt->seed = config.seed != 0 ? (uint64_t)config.seed : tn_entropy();
    tn_fault_open(fault_tell);
    tn_cluster *first = NULL;
    lends = lends && config.workers == 1 && config.pin == 0;
    blocking_init(&rt->blocking, (unsigned)config.pool, (tn_time)config.pool_ms * 1000000);
    if (rc == 0)
        rc = cluster_create(rt, &config, lends, &first);
    if (rc == 0)
        rc = monitor_start(rt, (tn_time)config.monitor_us * 1000);
    if (rc != 0) {
        tn_stop((tn_runtime *)(void *)rt);
        return rc;
    }
    rt->first = cluster_of(first);
    rt->lent = lends ? worker_of(first->workers[0]) : NULL;
    diagnose_begin(rt, &config);
    *out = rt;
    return 0;
}

TN_API int tn_start(tn_runtime **out, const struct tn_config *config)
{
    struct runtime *rt;
    int rc = start(&rt, config, false);
    if (rc == 0)
        *out = (tn_runtime *)(void *)rt;
    return rc;
}

static struct cluster *cluster_to_join(struct runtime *rt)
{
    tn_spinlock_lock(&rt->lock);
    struct cluster *cl = atomic_load_explicit(&rt->clusters, memory_order_relaxed); /* relaxed: under the lock */
    while (cl != NULL && cl->joined)
        cl = cl->next;
    tn_spinlock_unlock(&rt->lock);
    return cl;
}

bool joiner_begins(struct runtime *rt, struct tn_joiner *t)
{
    tn_spinlock_lock(&rt->lock);
    /* relaxed: set before drop_joiners takes the lock */
    bool stopping = atomic_load_explicit(&rt->stopping, memory_order_relaxed);
    if (!stopping) {
        t->next = rt->joiners;
        t->at = &rt->joiners;
        if (t->next != NULL)
            t->next->at = &t->next;
        rt->joiners = t;
    }
    tn_spinlock_unlock(&rt->lock);
    return !stopping;
}

void joiner_ends(struct runtime *rt, struct tn_joiner *t)
{
    tn_spinlock_lock(&rt->lock);
    *t->at = t->next;
    if (t->next != NULL)
        t->next->at = t->at;
    tn_spinlock_unlock(&rt->lock);
}

/* No worker is left: what plain threads wait for does not come any more. */
static void drop_joiners(struct runtime *rt)
{
    tn_spinlock_lock(&rt->lock);
    for (struct tn_joiner *t = rt->joiners; t != NULL; t = t->next)
        if (tn_joiner_decide(t, TN_JOINER_DROPPED, diagnose_unblocks, diagnose_blocks))
            tn_unpark(&t->done, 1);
    tn_spinlock_unlock(&rt->lock);
}

TN_API int tn_stop(tn_runtime *runtime)
{
    struct runtime *rt = (struct runtime *)(void *)runtime;
    struct worker *self = tn_self();
    if (left_behind_in_parent(rt) || (self != NULL && cluster_of(self->pub.cluster)->rt == rt) ||
        blocking_is_self(&rt->blocking))
        return EPERM;
    monitor_stop(rt);
    atomic_store_explicit(&rt->stopping, true, memory_order_relaxed); /* relaxed: see must_leave() */
    /* A fibre may be making a cluster; it ends before its worker does, and then that cluster is on the list. */
    for (struct cluster *cl; (cl = cluster_to_join(rt)) != NULL; cl->joined = true)
        cluster_join(cl);
    drop_joiners(rt);
    tn_visitors_await(&rt->visitors);
    for (struct cluster *cl; (cl = cluster_to_join(rt)) != NULL; cl->joined = true)
        cluster_join(cl);
    diagnose_end(rt);
    blocking_fini(&rt->blocking); /* what a call under way wakes at its end is dropped with the rest */
    /* relaxed: nobody else is left */
    struct cluster *all = atomic_load_explicit(&rt->clusters, memory_order_relaxed);
    for (struct cluster *cl = all; cl != NULL; cl = cl->next)
        if (cl->sched_ready)
            module_drain(cl); /* the stacks go with the pool, whoever is on them */
    each_block(rt, token_forget, NULL);
#if !defined(TN_PLATFORM_SIM) /* where there is no I/O */
    io_forget(rt);
#endif
    while (all != NULL) {
        struct cluster *cl = all;
        all = cl->next;
        cluster_free(cl);
    }
    stacks_fini(&rt->stacks);
    locals_fini(&rt->locals);
    tn_fault_close();
    tn_sched_free(rt, sizeof *rt);
    return 0;
}

TN_API int tn_run(const struct tn_config *config, void *(*fn)(void *), void *arg, void **value)
{
    struct runtime *rt;
    tn_fibre *f;
    if (tn_self() != NULL)
        return EPERM; /* a fibre joins none of another runtime */
    int rc = start(&rt, config, true);
    if (rc != 0)
        return rc;
    tn_runtime *runtime = (tn_runtime *)(void *)rt;
    rc = tn_spawn(&f, &(struct tn_attr){.name = "main", .runtime = runtime}, fn, arg);
    if (rc == 0)
        rc = join_as_worker(fibre_of(f), value, rt->lent);
    tn_stop(runtime);
    return rc;
}
