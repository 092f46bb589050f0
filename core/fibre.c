/* SPDX-License-Identifier: MIT
 *
 * Part of hot.c: a fibre's life: spawn, yield, migrate, exit, join, detach.
 */

/* ---- stacks of the default size: a cache in each worker, batches from and to the pool ---- */

static struct fibre *take_fibre(struct worker *w, struct runtime *rt)
{
    struct fibre *f;
    if (w == NULL) {
        unsigned n;
        f = stacks_take(&rt->stacks, &n);
        if (f != NULL && n > 1)
            stacks_give(&rt->stacks, (struct fibre *)(void *)f->pub.link.next, n - 1);
        return f;
    }
    if (w->free == NULL) {
        w->free = stacks_take(&rt->stacks, &w->n_free);
        COUNT(w, COUNT_STACK_REFILL);
        if (w->free == NULL)
            return NULL;
    }
    f = w->free;
    w->free = (struct fibre *)(void *)f->pub.link.next;
    w->n_free--;
    return f;
}

static __attribute__((noinline)) void shrink_cache(struct worker *w, struct runtime *rt, unsigned n)
{
    struct fibre *chain = w->free, *last = chain;
    for (unsigned i = 1; i < n; i++)
        last = (struct fibre *)(void *)last->pub.link.next;
    w->free = (struct fibre *)(void *)last->pub.link.next;
    w->n_free -= n;
    last->pub.link.next = NULL;
    stacks_give(&rt->stacks, chain, n);
}

/* `f` has ended and nobody will ask for it again. */
static inline void release(struct worker *w, struct fibre *f)
{
    struct runtime *rt = cluster_of(f->pub.cluster)->rt;
    /* Whoever joins or detaches it once more finds this, until the memory serves another. relaxed: misuse only */
    atomic_store_explicit(&f->join, TN_JOIN_FREE, memory_order_relaxed);
    if (!TN_STACKS_POOLED)
        stack_detach(&rt->stacks, f);
    if (TN_STACKS_POOLED && f->exclusive_stack) {
        stacks_give_odd(&rt->stacks, f);
    } else if (w == NULL || cluster_of(w->pub.cluster)->rt != rt) {
        f->pub.link.next = NULL;
        stacks_give(&rt->stacks, f, 1);
    } else {
        f->pub.link.next = (struct tn_link *)(void *)w->free;
        w->free = f;
        if (__builtin_expect(++w->n_free > STACK_CACHE, 0))
            shrink_cache(w, rt, STACK_CACHE / 2);
    }
}

/* ---- the first and the last moment ---- */

static __attribute__((noinline)) void tell_joiner(struct worker *w, struct fibre *f, uintptr_t joiner)
{
    if ((joiner & TN_JOIN_TAGS) == TN_JOIN_THREAD) {
        struct runtime *rt = runtime_of(&f->pub);
        struct tn_joiner *t = tn_joinword_joiner(joiner); /* stays until CLOSING is over */
        if (tn_joiner_decide(t, TN_JOINER_TOLD, diagnose_unblocks, diagnose_blocks))
            tn_unpark(&t->done, 1);
        if (rt->lent != NULL)
            cluster_kick(rt->first); /* the thread may be the worker that it has lent itself as */
    } else {
        struct fibre *j = tn_joinword_joiner(joiner);
        /* relaxed: of this wait */
        wake_as(j, atomic_load_explicit(&j->wait, memory_order_relaxed) / WAIT_STATES, WAIT_WOKEN, w);
    }
    tn_joinword_close(&f->join);
}

/* After the last switch away from f. */
static void retire(struct worker *w, struct fibre *f)
{
    COUNT(w, COUNT_EXIT);
    uintptr_t joiner = tn_joinword_end(&f->join);
    if (joiner == TN_JOIN_DETACHED)
        release(w, f);
    else if (tn_joinword_is_fibre(joiner)) {
        wait_arrived((struct fibre *)joiner);
        make_ready(w, (struct fibre *)joiner, TN_WOKEN);
    } else if (tn_joinword_is_joiner(joiner))
        tell_joiner(w, f, joiner);
}

/* The end of w's fibre. Does not return; not declared so, because then no call would be inlined here. */
static inline __attribute__((always_inline)) void exit_fibre(struct worker *w, void *value)
{
    struct fibre *self = w->current;
    self->value = value;
    if (__builtin_expect(
            ((uintptr_t)self->locals | (uintptr_t)self->cleanups | (uintptr_t)self->scope | self->has) != 0, 0))
        w = settle(self, value);
    struct fibre *next = next_fibre(w, false);
    uintptr_t joiner = tn_joinword_look(&self->join);
    if (next == NULL && tn_joinword_is_fibre(joiner) && !must_leave(w) &&
        ((struct fibre *)joiner)->pub.cluster == self->pub.cluster && !TN_FORCE_MIGRATION) {
        /* Nothing else to run here, and a joiner that waits for exactly this: go on with it directly. It may
         * release this fibre only when it runs, which is after the switch. */
        wait_arrived((struct fibre *)joiner);
        tn_joinword_pass(&self->join);
        COUNT(w, COUNT_EXIT);
        stop_current(w, (struct fibre *)joiner, AFTER_NOTHING, TN_SPAWNED, true);
    }
    if (TN_DEAD == TN_DEAD_UTILITY)
        stop_by_step(w, next, AFTER_EXIT, true);
    else
        stop_current(w, next, AFTER_EXIT, TN_SPAWNED, true);
    tn_die("tenter: fibre '%s' resumed after its end", self->name);
}

TN_API __attribute__((noinline)) void tn_exit(void *value)
{
    struct worker *w = tn_self();
    if (w == NULL || w->current == NULL)
        tn_die("tenter: tn_exit called outside a fibre");
    exit_fibre(w, value);
    __builtin_unreachable();
}

/* Where every fibre begins, with the worker as argument of the first switch to it. */
static __attribute__((flatten)) void begin(void *worker)
{
    struct worker *w = worker;
    struct fibre *self = w->current;
    tn_sanitize_arrive(&self->sanitize, left_behind(w));
    after_switch(w);
    *w->errno_at = 0;
    if (__builtin_expect(w->exceptions_at != NULL, 0))
        *w->exceptions_at = (struct tn_exceptions){NULL, 0};
    tn_room_made(&cluster_of(w->pub.cluster)->room);
    void *value = self->fn(self->value);
    w = tn_self_now();
    if (__builtin_expect(w == NULL, 0))
        tn_die("tenter: a fibre returned in a child of fork(), but its worker stayed in the parent: end the child by "
               "exec or _exit");
    if (__builtin_expect(self->cleanups != NULL, 0))
        tn_die("tenter: fibre '%s' has returned with a clean-up handler pushed: pop it, or end by tn_exit",
               self->name);
    exit_fibre(w, value);
}

/* ---- spawn ---- */

static void prepare_fibre(struct fibre *f, const struct tn_attr *attr, struct cluster *cl, void *(*fn)(void *),
                          void *arg)
{
    /* relaxed: ready() publishes it; whoever comes too late for the fibre that was here may look (runtime_of()) */
    atomic_store_explicit((_Atomic(struct tn_cluster *) *)&f->pub.cluster, &cl->pub, memory_order_relaxed);
    f->pub.home = NULL;
    f->pub.priority = attr != NULL ? attr->priority : 0;
    f->pub.background = attr != NULL && attr->background;
    f->fn = fn;
    f->value = arg;
    f->timer.at = 0;
    preempt_born(f);
    f->name[0] = '\0';
    if (attr != NULL && attr->name != NULL) {
        size_t n = 0;
        for (; n < sizeof f->name - 1 && attr->name[n] != '\0'; n++)
            f->name[n] = attr->name[n];
        f->name[n] = '\0';
    }
    size_t bytes = (size_t)(stack_top(f) - f->stack);
    tn_sanitize_make(&f->sanitize, f->stack, bytes);
    char *top = stack_top(f);
    if (attr != NULL && attr->group != NULL) {
        enum { SCOPE = (sizeof(struct tn_scope) + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE };
        top -= SCOPE;
        bytes -= SCOPE;
        f->scope = (struct tn_scope *)(void *)top;
    }
    f->pub.context = tn_context_make(top, bytes, begin);
    if (TN_SCHED(cl)->fibre_size != 0)
        memset(tn_fibre_state(&f->pub), 0, TN_SCHED(cl)->fibre_size);
}

/* `unit`: what the new member of a bounded group has taken already, &no_unit if it does without; NULL: nothing was asked. */
static inline __attribute__((always_inline)) int spawn(tn_fibre **out, const struct tn_attr *attr,
                                                       void *(*fn)(void *), void *arg, tn_sem *unit)
{
    struct worker *w = tn_self();
    struct cluster *cl = w != NULL ? cluster_of(w->current->pub.cluster) : NULL;
    if (out != NULL)
        *out = NULL;
    if (attr != NULL && attr->cluster != NULL)
        cl = cluster_of(attr->cluster);
    else if (attr != NULL && attr->runtime != NULL)
        cl = ((struct runtime *)(void *)attr->runtime)->first;
    if (cl == NULL)
        return EPERM;
    struct worker *here = w != NULL && cluster_of(w->pub.cluster)->rt == cl->rt ? w : NULL;
    if (here == NULL && left_behind_in_parent(cl->rt))
        return EPERM;
    struct fibre *f;
    size_t size = cl->rt->stacks.usable;
    if (attr != NULL && (attr->priority < -TN_PRIORITY_MAX || attr->priority > TN_PRIORITY_MAX ||
                         attr->full < TN_FULL_REFUSE || attr->full > TN_FULL_OVERFLOW))
        return EINVAL;
    if (attr != NULL && attr->stack != 0) {
        if (attr->stack < tn_page() || attr->stack > TN_STACK_MAX)
            return EINVAL;
        size = attr->stack + cl->rt->stack_room;
    }
    if (TN_STACKS_POOLED && size != cl->rt->stacks.usable)
        f = stacks_take_odd(&cl->rt->stacks, size);
    else
        f = take_fibre(here, cl->rt);
    if (f == NULL)
        return ENOMEM;
    if (!TN_STACKS_POOLED && !stack_attach(&cl->rt->stacks, f, size)) {
        f->pub.cluster = &cl->pub;
        release(here, f);
        return ENOMEM;
    }
    prepare_fibre(f, attr, cl, fn, arg);
    if (__builtin_expect(f->scope != NULL, 0)) {
        bool asks = attr->group->room != NULL && unit == NULL;
        int refused = asks ? EAGAIN : tn_scope_enter(f->scope, attr->group);
        if (refused != 0) {
            f->scope = NULL;
            release(here, f);
            return asks ? spawn_bounded(out, attr, fn, arg) : refused;
        }
        f->scope->room = unit != &no_unit ? unit : NULL;
    }
    bool detached = out == NULL || (attr != NULL && attr->detached);
    /* relaxed: ready() publishes the fibre */
    atomic_store_explicit(&f->join, detached ? TN_JOIN_DETACHED : TN_JOIN_OPEN, memory_order_relaxed);
    if (out != NULL)
        *out = &f->pub;
    bool visiting = here == NULL && visit(w, cl->rt);
    int rc = TN_SCHED(cl)->ready(member(w, cl), &f->pub, TN_SPAWNED);
    if (__builtin_expect(rc == EAGAIN, 0) && attr != NULL && attr->full == TN_FULL_OVERFLOW)
        rc = TN_SCHED(cl)->ready(member(w, cl), &f->pub, TN_WOKEN);
    if (rc == TN_RUN_NOW)
        tn_lock_check(w->current->name);
    if (w != NULL)
        COUNT(w, rc == EAGAIN ? COUNT_REFUSED : COUNT_SPAWN);
    if (__builtin_expect(rc == EAGAIN, 0)) {
        if (f->scope != NULL) {
            f->scope->room = NULL; /* the spawner's again */
            tn_scope_leave(f->scope, 0);
            f->scope = NULL;
        }
        release(here, f);
        if (out != NULL)
            *out = NULL;
    } else if (rc == TN_RUN_NOW) {
        stop_current(w, f, AFTER_READY, TN_DISPLACED, false);
    } else {
        notify_by(member(w, cl), cl, rc);
    }
    if (visiting)
        tn_visitors_leave(&cl->rt->visitors);
    return __builtin_expect(rc != EAGAIN, 1)            ? 0
           : attr != NULL && attr->full == TN_FULL_WAIT ? spawn_later(cl, out, attr, fn, arg, unit)
                                                        : EAGAIN;
}

TN_API __attribute__((noinline, flatten)) int tn_spawn(tn_fibre **out, const struct tn_attr *attr,
                                                       void *(*fn)(void *), void *arg)
{
    return spawn(out, attr, fn, arg, NULL);
}

static __attribute__((noinline)) int spawn_with(tn_fibre **out, const struct tn_attr *attr, void *(*fn)(void *),
                                                void *arg, tn_sem *unit)
{
    return spawn(out, attr, fn, arg, unit);
}

/* ---- yield ---- */

enum { HARD_EVERY = 64, IN_VAIN = 256 };

static inline void yield(struct worker *w, bool hard)
{
    enum after how = hard ? AFTER_READY : AFTER_YIELD;
    struct fibre *next = next_of_yield(w, hard, &how);
    if (hard)
        COUNT(w, COUNT_YIELD_HARD);
    /* Work of others counts before spinning on one's own yields (003 §4.4.4). What else was taken, and so was nowhere for
     * a moment, is told of when this fibre becomes ready, right after the switch. */
    if (next == NULL && hard && !must_leave(w))
        next = steal_round(w);
    if (next == NULL && !must_leave(w)) {
        COUNT(w, COUNT_YIELD_NULL);
        if (hard && ++w->in_vain % IN_VAIN == 0)
            yield_thread(); /* what this fibre waits for may need this very processor */
        return;
    }
    stop_current(w, next, how, hard ? TN_YIELDED_HARD : TN_YIELDED, false);
}

TN_API __attribute__((noinline, flatten)) void tn_yield(void)
{
    struct worker *w = tn_self();
    if (w == NULL) {
        yield_thread();
        return;
    }
    /* relaxed: a hint, the next yield sees what this one missed */
    bool hard = (count_yield(w) % HARD_EVERY) == 0 || tn_hungry(w->pub.cluster);
    if (__builtin_expect(hard, 0))
        tn_yield_hard();
    else
        yield(w, false);
}

TN_API __attribute__((noinline)) void tn_yield_hard(void)
{
    struct worker *w = tn_self();
    if (w == NULL)
        yield_thread();
    else
        yield(w, true);
}

/* ---- migrate ---- */

/* After the last switch in the cluster it leaves. */
static void arrive(struct worker *w, struct fibre *f, struct cluster *cl)
{
    /* relaxed: see runtime_of(); everybody else has the fibre from the module */
    atomic_store_explicit((_Atomic(struct tn_cluster *) *)&f->pub.cluster, &cl->pub, memory_order_relaxed);
    if (TN_SCHED(cl)->fibre_size != 0)
        memset(tn_fibre_state(&f->pub), 0, TN_SCHED(cl)->fibre_size);
    make_ready(w, f, TN_MIGRATED);
}

TN_API __attribute__((noinline)) int tn_migrate(tn_cluster *cluster)
{
    struct worker *w = tn_self();
    if (w == NULL)
        return EPERM;
    if (cluster_of(cluster)->rt != cluster_of(w->pub.cluster)->rt)
        return EINVAL;
    if (cluster == w->pub.cluster)
        return 0;
    COUNT(w, COUNT_MIGRATE);
    struct fibre *next = next_fibre(w, false);
    w->after_arg = cluster;
    stop_current(w, next, AFTER_MIGRATE, TN_MIGRATED, false);
    return 0;
}
