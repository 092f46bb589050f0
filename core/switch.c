/* SPDX-License-Identifier: MIT
 *
 * Part of hot.c: making fibres ready, and switching between them.
 */

/* ---- making ready ---- */

static void wake_worker(struct cluster *cl, struct tn_idle_slot *which);

/* How long whoever looks on behalf of all sleeps between two looks, at first and at most. */
enum { WATCH_NS = 60000, WATCH_MAX_NS = 2000000 };

/* The caller seen as a worker of `cl`, or NULL. */
static inline struct tn_worker *member(struct worker *w, struct cluster *cl)
{
#if TN_FORCE_MIGRATION
    (void)w, (void)cl;
    return NULL; /* every fibre goes through the shared queue, for any worker to take */
#else
    return w != NULL && w->pub.cluster == &cl->pub ? &w->pub : NULL;
#endif
}

/* Does somebody sleep who will look soon? */
static bool watched(struct cluster *cl)
{
    tn_time until = 0;
    return tn_idle_watcher(&cl->idle, &until) != NULL && until <= tn_now() + (tn_time)WATCH_MAX_NS;
}

/* Where the module has placed a fibre there may be a worker to wake. */
static __attribute__((noinline)) void wake_for(struct cluster *cl, int placed)
{
    struct tn_idle_slot *which = NULL;
    if (placed == TN_AWAITED && watched(cl))
        return;
    if (placed <= TN_FOR(0)) {
        /* U0 acquire */
        if (TN_FOR_INDEX(placed) >= atomic_load_explicit(&cl->pub.used, memory_order_acquire)) {
            module_misplaced(TN_SCHED(cl), placed);
            return;
        }
        which = &worker_of(cl->pub.workers[TN_FOR_INDEX(placed)])->slot;
    } else if (placed != 0 && placed != TN_HELD && placed != TN_AWAITED) {
        module_misplaced(TN_SCHED(cl), placed);
    }
    wake_worker(cl, which);
}

/* After a fibre of `cl` became ready: see that somebody will run it. `placed` is what ready() returned. By a worker of cl. */
static inline void notify(struct cluster *cl, int placed)
{
    if (__builtin_expect(tn_idle_wanted(&cl->idle, placed != TN_HELD && placed != TN_AWAITED), 0))
        wake_for(cl, placed);
}

/* The same by anybody. */
static __attribute__((noinline)) void notify_outside(struct cluster *cl, int placed)
{
    if (tn_idle_wanted_outside(&cl->idle, placed != TN_HELD && placed != TN_AWAITED))
        wake_for(cl, placed);
}

static inline void notify_by(const struct tn_worker *me, struct cluster *cl, int placed)
{
    if (__builtin_expect(me != NULL, 1))
        notify(cl, placed);
    else
        notify_outside(cl, placed);
}

/* In a child of fork: was f left behind in the parent? There a fibre of the child's own runtime may ask, too. */
static inline bool left_in_parent(struct worker *w, struct tn_fibre *f)
{
    /* relaxed: as in runtime_of() */
    return __builtin_expect(w == NULL ||
                                w->pub.cluster != atomic_load_explicit((_Atomic(struct tn_cluster *) *)&f->cluster,
                                                                       memory_order_relaxed),
                            0) &&
           left_behind_in_parent(runtime_of(f));
}

/* True: the caller comes from outside the runtime, and leaves it again (visitors.h). */
static inline bool visit(struct worker *w, struct runtime *rt)
{
    if (w != NULL && cluster_of(w->pub.cluster)->rt == rt)
        return false;
    tn_visitors_enter(&rt->visitors);
    return true;
}

/* The same for callers that are no worker of f's cluster. */
static __attribute__((noinline)) void make_ready_elsewhere(struct worker *w, struct fibre *f, enum tn_why why)
{
    struct cluster *cl = cluster_of(f->pub.cluster);
    struct runtime *rt = cl->rt;
    if (left_behind_in_parent(rt))
        return; /* nobody is there to run it */
    bool visiting = visit(w, rt);
    notify_outside(cl, TN_SCHED(cl)->ready(NULL, &f->pub, why));
    if (visiting)
        tn_visitors_leave(&rt->visitors);
}

static inline void make_ready(struct worker *w, struct fibre *f, enum tn_why why)
{
    struct cluster *cl = cluster_of(f->pub.cluster);
    struct tn_worker *me = member(w, cl);
    if (__builtin_expect(me != NULL, 1))
        notify(cl, TN_SCHED(cl)->ready(me, &f->pub, why));
    else
        make_ready_elsewhere(w, f, why);
}

/* The same for a fibre that has just stopped on w, and so is of w's cluster. */
static inline void make_ready_here(struct worker *w, struct fibre *f, enum tn_why why)
{
    struct cluster *cl = cluster_of(w->pub.cluster);
    if (TN_FORCE_MIGRATION)
        make_ready_elsewhere(w, f, why);
    else
        notify(cl, TN_SCHED(cl)->ready(&w->pub, &f->pub, why));
}

/* ---- switching ---- */

static void retire(struct worker *w, struct fibre *f);
static void arrive(struct worker *w, struct fibre *f, struct cluster *cl);

/* What the fibre that was left had to wait for. */
static __attribute__((noinline)) void after_any(struct worker *w, enum after what)
{
    struct fibre *f = w->after_fibre;
    if (what == AFTER_EXIT) {
        retire(w, f);
    } else if (what == AFTER_READY) {
        make_ready(w, f, w->after_why);
    } else if (what == AFTER_MIGRATE) {
        arrive(w, f, w->after_arg);
    } else if (TN_PREEMPTION && what == AFTER_PREEMPT) {
        preempted_keep(w, f);
    } else {
#if TN_SUSPENSION == TN_SUSPENSION_LOCK
        tn_spinlock_unlock(&f->wait_lock); /* AFTER_HANDED_OVER */
#endif
    }
}

/* On the new stack, first of all. The commonest cases are kept in line. */
static inline void after_switch(struct worker *w)
{
    enum after what = w->after;
    const struct tn_scheduler *sched = TN_SCHED(cluster_of(w->pub.cluster));
    if (what == AFTER_PASS && sched->pass != NULL) { /* where the build knows the module: else no code for it */
        sched->passed(&w->pub);
    } else if (what == AFTER_YIELD) {
        make_ready_here(w, w->after_fibre, TN_YIELDED);
    } else if (what == AFTER_SUSPEND) {
        if (!w->after_commit(w->after_fibre, w->after_arg))
            after_any(w, AFTER_READY); /* there is nothing to wait for */
    } else if (what != AFTER_NOTHING) {
        after_any(w, what);
    }
}

/* Whom w has just left: a fibre, or its own loop. */
static inline struct tn_sanitize *left_behind(struct worker *w)
{
    return w->after_fibre != NULL ? &w->after_fibre->sanitize : &w->loop.sanitize;
}

/* In a program with C++. Whom w arrives at is asked of w: kept over the switch, it would cost every switch four
 * instructions. */
static __attribute__((noinline, cold)) void exceptions_leave(struct worker *w, struct fibre *from)
{
    from->exceptions = *w->exceptions_at;
}

static __attribute__((noinline, cold)) void exceptions_arrive(struct worker *w)
{
    *w->exceptions_at = (w->current != NULL ? w->current : &w->loop)->exceptions;
}

/* Leave `from` for `to`. Returns on whatever worker runs `from` next, and says which. */
static inline struct worker *switch_to(struct worker *w, struct fibre *from, struct fibre *to, bool dying)
{
    /* relaxed: its own, and a mark of the watchdog that this wipes out */
    atomic_store_explicit(&from->saved_errno, (uint32_t)*w->errno_at, memory_order_relaxed);
    if (__builtin_expect(w->exceptions_at != NULL, 0))
        exceptions_leave(w, from);
    tn_sanitize_leave(&from->sanitize, &to->sanitize, dying);
    TN_SPLIT_LEAVE(from, to);
    w = tn_context_switch(&from->pub.context, to->pub.context, w);
    tn_sanitize_arrive(&from->sanitize, left_behind(w));
    after_switch(w);
    *w->errno_at = (int)(uint32_t)atomic_load_explicit(&from->saved_errno, memory_order_relaxed); /* relaxed: own */
    if (__builtin_expect(w->exceptions_at != NULL, 0))
        exceptions_arrive(w);
    return w;
}

/* `f` is what w runs from now on. */
static inline void enter(struct worker *w, struct fibre *f)
{
    w->current = f;
    tn_runs(f);
    f->pub.home = &w->pub;
    COUNT(w, COUNT_SWITCH);
    if (TN_SCHED(cluster_of(w->pub.cluster))->running != NULL)
        TN_SCHED(cluster_of(w->pub.cluster))->running(&w->pub, &f->pub);
}

static inline void leaving(struct worker *w, struct fibre *f, enum tn_why why)
{
    if (TN_SCHED(cluster_of(w->pub.cluster))->stopping != NULL)
        TN_SCHED(cluster_of(w->pub.cluster))->stopping(&w->pub, &f->pub, why);
}

/* Time to look up from work: timers, poller, a worker that shall leave, a runtime that stops, work that all share?
 * Every 64th scheduling point, and when another thread asks. */
enum { LOOK_UP = 64 };

/* Each worker of cl looks up at its next scheduling point. */
static void workers_look_up(struct cluster *cl)
{
    uint32_t used = atomic_load_explicit(&cl->pub.used, memory_order_acquire); /* U0 acquire */
    for (uint32_t i = 0; i < used; i++)                                        /* relaxed: see tick() */
        atomic_store_explicit(&worker_of(cl->pub.workers[i])->due, DUE_NOW, memory_order_relaxed);
}

static void look_up(struct worker *w);
static void steal_in_passing(struct worker *w);
static bool must_leave(struct worker *w);

static inline bool tick(struct worker *w)
{
    /* relaxed: a request seen one scheduling point later is as good; what it asks for has its own ordering */
    uint32_t due = atomic_load_explicit(&w->due, memory_order_relaxed);
    return __builtin_expect((int32_t)(++w->ticks - due) >= 0, 0);
}

/* Before each choice of a fibre: looks up if that is due, and then makes the choice a fair one. False: w must leave. */
static inline bool before_next(struct worker *w, bool *fair)
{
    if (TN_LOCK_CHECK && w->current != NULL)
        tn_lock_check(w->current->name);
    if (tick(w)) {
        look_up(w);
        if (must_leave(w))
            return false;
        steal_in_passing(w);
        *fair = true;
    }
    return true;
}

/* What the module chooses, or one whom it does not have since it was preempted here: at its turn, or if there is no other. */
static inline struct fibre *chosen(struct worker *w, struct tn_fibre *(*next)(struct tn_worker *, bool), bool fair)
{
    struct fibre *f = fair ? preempted_turn(w) : NULL;
    if (f != NULL)
        return f;
    f = fibre_of(next(&w->pub, fair));
    return f != NULL || !TN_PREEMPTION ? f : preempted_next(w);
}

/* The next fibre for w, whose current one is about to stop; NULL: w's own loop shall search. */
static inline struct fibre *next_fibre(struct worker *w, bool fair)
{
    return before_next(w, &fair) ? chosen(w, TN_SCHED(cluster_of(w->pub.cluster))->next, fair) : NULL;
}

/* The same for one that yields; NULL: it goes on. `how`: AFTER_PASS where the module has it already. */
static inline struct fibre *next_of_yield(struct worker *w, bool fair, enum after *how)
{
    if (!before_next(w, &fair))
        return NULL;
    const struct tn_scheduler *sched = TN_SCHED(cluster_of(w->pub.cluster));
    if (!TN_FORCE_MIGRATION && !fair && sched->pass != NULL) {
        struct fibre *f = fibre_of(sched->pass(&w->pub, &w->current->pub));
        if (f != NULL) {
            *how = AFTER_PASS;
            return f;
        }
    }
    return chosen(w, sched->next_of_yield != NULL ? sched->next_of_yield : sched->next, fair);
}

/* Stop the current fibre, go on with `next` or, if that is NULL, in the worker's loop. */
static inline struct worker *stop_current(struct worker *w, struct fibre *next, enum after what, enum tn_why why,
                                          bool dying)
{
    struct fibre *self = w->current;
    w->after = what;
    w->after_why = why;
    w->after_fibre = self;
    leaving(w, self, what == AFTER_EXIT ? TN_SPAWNED : why);
    if (next != NULL) {
        enter(w, next);
    } else {
        w->current = NULL;
        tn_runs(NULL);
    }
    return switch_to(w, self, next != NULL ? next : &w->loop, dying);
}
