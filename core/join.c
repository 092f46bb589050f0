/* SPDX-License-Identifier: MIT
 *
 * Part of hot.c: joining fibres, and detaching them.
 */

struct joining {
    struct fibre *child;
    uintptr_t found; /* what stood in the child's join word in place of OPEN */
};

static bool commit_join(struct fibre *self, void *arg)
{
    struct joining *j = arg;
    return tn_joinword_register(&j->child->join, (uintptr_t)self, &j->found);
}

/* Wait for the end of f, or of the runtime; as the worker w, unless that is NULL. */
static int thread_waits(struct runtime *rt, struct fibre *f, struct worker *w)
{
    _Alignas(16) struct tn_joiner self = {0}; /* room for the tag */
    uintptr_t open = TN_JOIN_OPEN;
    int rc = 0;
    diagnose_blocks();
    if (!joiner_begins(rt, &self)) {
        diagnose_unblocks();
        return ECANCELED;
    }
    if (tn_joinword_register(&f->join, (uintptr_t)&self | TN_JOIN_THREAD, &open)) {
        uint32_t done;
        if (w != NULL) {
            w->until = &self.done;
            tn_thread_here(&w->thread, worker_main, w);
        }
        while ((done = tn_joiner_look(&self)) == TN_JOINER_WAITS)
            diagnose_await(rt, &self.done);
        if (done == TN_JOINER_DROPPED)
            rc = ECANCELED; /* no worker is left: nobody touches `self` any more */
        else
            tn_joinword_await(&f->join);
    } else {
        tn_joiner_decide(&self, TN_JOINER_TOLD, diagnose_unblocks, diagnose_blocks);
        rc = open == TN_JOIN_DONE ? 0 : EINVAL;
    }
    joiner_ends(rt, &self);
    return rc;
}

/* The caller is a plain thread. A visitor all along, so that tn_stop, which has it give up, waits for it. */
int join_as_worker(struct fibre *f, void **value, struct worker *w)
{
    struct runtime *rt = runtime_of(&f->pub);
    tn_visitors_enter(&rt->visitors);
    uintptr_t state = tn_joinword_look(&f->join);
    int rc = state == TN_JOIN_DONE                               ? 0
             : state == TN_JOIN_OPEN || state == TN_JOIN_CLOSING ? thread_waits(rt, f, w)
                                                                 : EINVAL;
    if (rc == 0) {
        if (value != NULL)
            *value = f->value;
        release(NULL, f);
    }
    tn_visitors_leave(&rt->visitors);
    return rc;
}

static __attribute__((noinline)) int join_thread(struct fibre *f, void **value, bool timed)
{
    return timed || left_behind_in_parent(runtime_of(&f->pub)) ? EPERM : join_as_worker(f, value, NULL);
}

static __attribute__((noinline)) int join_timed(struct worker *w, struct fibre *f, tn_time deadline, tn_token *token)
{
    struct fibre *self = w->current;
    uintptr_t open = TN_JOIN_OPEN, mine = (uintptr_t)self | TN_JOIN_TIMED;
    wait_open(self);
    if (!tn_joinword_register(&f->join, mine, &open))
        return open == TN_JOIN_DONE ? 0 : EINVAL;
    self->joins = f;
    int rc = tn_wait(deadline, token);
    self->joins = NULL;
    if (rc != 0 && tn_joinword_give_up(&f->join, mine))
        return rc;
    tn_joinword_await(&f->join); /* too late to give up: it has ended */
    return 0;
}

static inline __attribute__((always_inline)) int join(tn_fibre *fibre, void **value, tn_time deadline,
                                                      tn_token *token)
{
    struct worker *w = tn_self();
    struct fibre *f = fibre_of(fibre);
    bool timed = deadline != TN_FOREVER || token != NULL;
    if (__builtin_expect(w == NULL, 0))
        return join_thread(f, value, timed);
    timed |= w->current->scope != NULL; /* its group may end the wait */
    /* Joined by another runtime's fibre it might end when that is gone. */
    if (__builtin_expect(runtime_of(fibre) != cluster_of(w->pub.cluster)->rt, 0))
        return EPERM;
    uintptr_t state = tn_joinword_look(&f->join);
    if (f == w->current) {
        diagnose_misuse(f, "joins itself");
        return EDEADLK;
    }
    if (TN_LOCK_CHECK)
        tn_lock_check(w->current->name); /* whether it will switch or not */
    if (state != TN_JOIN_DONE) {
        int rc = 0;
        if (state != TN_JOIN_OPEN && state != TN_JOIN_CLOSING)
            return EINVAL;
        if (timed) {
            rc = join_timed(w, f, deadline, token);
        } else {
            struct joining j = {f, TN_JOIN_OPEN};
            struct fibre *self = w->current;
            self->joins = f;
            w = suspend(w, commit_join, &j);
            self->joins = NULL;
            if (j.found != TN_JOIN_OPEN && j.found != TN_JOIN_DONE)
                rc = EINVAL; /* somebody else joined or detached it meanwhile */
        }
        if (rc != 0)
            return rc;
        w = tn_self_now();
    }
    if (value != NULL)
        *value = f->value;
    release(w, f);
    return 0;
}

TN_API __attribute__((noinline)) int tn_join_until(tn_fibre *f, void **value, tn_time deadline, tn_token *token)
{
    return join(f, value, deadline, token);
}

TN_API __attribute__((noinline, flatten)) int tn_join(tn_fibre *f, void **value)
{
    return join(f, value, TN_FOREVER, NULL);
}

TN_API __attribute__((noinline)) int tn_detach(tn_fibre *fibre)
{
    struct worker *w = tn_self();
    struct fibre *f = fibre_of(fibre);
    if (left_in_parent(w, fibre))
        return EPERM;
    uintptr_t state = tn_joinword_detach(&f->join);
    if (state == TN_JOIN_OPEN)
        return 0;
    if (state != TN_JOIN_DONE)
        return EINVAL;
    release(w, f);
    return 0;
}
