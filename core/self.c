/* SPDX-License-Identifier: MIT
 *
 * Part of hot.c: what a fibre asks of itself, does for itself at its end, and a spawn that is to wait.
 */

/* ---- who am I ---- */

TN_API __attribute__((noinline)) tn_fibre *tn_fibre_self(void)
{
    struct worker *w = tn_self();
    return w != NULL ? &w->current->pub : NULL;
}

TN_API __attribute__((noinline)) tn_cluster *tn_cluster_self(void)
{
    struct worker *w = tn_self();
    return w != NULL ? w->pub.cluster : NULL;
}

TN_API __attribute__((noinline)) int tn_worker_self(void)
{
    struct worker *w = tn_self();
    return w != NULL ? (int)w->pub.index : -1;
}

TN_API __attribute__((noinline)) int *tn_errno(void)
{
    return tn_errno_address();
}

TN_API const char *tn_fibre_name(const tn_fibre *f)
{
    return ((const struct fibre *)(const void *)f)->name;
}

/* ---- what a member of a group may ask and say ---- */

TN_API __attribute__((noinline)) int tn_cancelled(void)
{
    struct worker *w = tn_self();
    struct tn_scope *s = w != NULL ? scope_of(w->current) : NULL;
    if (s == NULL)
        return 0;
    if (tn_token_fired(&s->token))
        return ECANCELED;
    return s->deadline != TN_FOREVER && s->deadline <= tn_now() ? ETIMEDOUT : 0;
}

TN_API __attribute__((noinline)) bool tn_cancel_mask(bool masked)
{
    struct worker *w = tn_self();
    struct tn_scope *s = w != NULL ? w->current->scope : NULL;
    bool was = s != NULL && s->masked;
    if (s != NULL)
        s->masked = masked;
    return was;
}

/* ---- clean-up handlers ---- */

TN_API __attribute__((noinline)) int tn_cleanup_push(struct tn_cleanup *c, void (*fn)(void *), void *arg)
{
    struct worker *w = tn_self();
    if (w == NULL)
        return EPERM;
    *c = (struct tn_cleanup){fn, arg, w->current->cleanups};
    w->current->cleanups = c;
    return 0;
}

TN_API __attribute__((noinline)) int tn_cleanup_pop(bool run)
{
    struct worker *w = tn_self();
    if (w == NULL)
        return EPERM;
    struct tn_cleanup *c = w->current->cleanups;
    if (c == NULL)
        return EINVAL;
    w->current->cleanups = c->next;
    if (run)
        c->fn(c->arg);
    return 0;
}

/* ---- its end ---- */

/* What a fibre does at its end for what it has pushed, set, and is a member of, on its stack: with handlers and destructors,
 * which may block, the worker may be another one afterwards. */
static __attribute__((noinline)) struct worker *settle(struct fibre *self, const void *value)
{
    struct tn_scope *s = self->scope;
    if (s != NULL)
        s->masked = true;
    for (struct tn_cleanup *c; (c = self->cleanups) != NULL;) {
        self->cleanups = c->next; /* first: it may end the fibre itself */
        c->fn(c->arg);
    }
    if (self->locals != NULL)
        locals_end(self);
    if (self->has != 0) {
        if ((int)self->has > 0) /* in builds that check, less if others have given back what it took */
            tn_message("tenter: fibre '%s' has ended and left %u of its locks locked", self->name, self->has);
        self->has = 0;
    }
    if (s != NULL) {
        if (s->groups != NULL)
            tn_die("tenter: fibre '%s' has ended, but not closed a group that it opened", self->name);
        self->scope = NULL;
        tn_scope_leave(s, (uintptr_t)value <= TN_ERROR_MAX ? (int)(uintptr_t)value : 0);
    }
    return tn_self_now();
}

/* ---- turns and stages ---- */

static __attribute__((noinline)) void yield_thread(void)
{
    unsigned spins = UINT32_MAX / 2;
    tn_spin_wait(&spins);
}

TN_API __attribute__((noinline)) int tn_stage(unsigned stage)
{
    struct worker *w = tn_self();
    if (w == NULL)
        return EPERM;
    struct cluster *cl = cluster_of(w->pub.cluster);
    int rc = TN_SCHED(cl)->stage != NULL ? TN_SCHED(cl)->stage(&w->pub, &w->current->pub, stage) : TN_RUN_NOW;
    if (rc == 0)
        stop_current(w, next_fibre(w, false), AFTER_READY, TN_STAGED, false);
    return rc == TN_RUN_NOW ? 0 : rc;
}

/* ---- a spawn that waits for room (sync/room.c) ---- */

struct later {
    tn_fibre **out;
    struct tn_attr attr;
    void *(*fn)(void *);
    void *arg;
    tn_sem *unit;
};

static int spawn_with(tn_fibre **out, const struct tn_attr *attr, void *(*fn)(void *), void *arg, tn_sem *unit);

static int spawn_again(void *later)
{
    struct later *l = later;
    return spawn_with(l->out, &l->attr, l->fn, l->arg, l->unit);
}

static __attribute__((noinline)) int spawn_later(struct cluster *cl, tn_fibre **out, const struct tn_attr *attr,
                                                 void *(*fn)(void *), void *arg, tn_sem *unit)
{
    struct later l = {out, *attr, fn, arg, unit};
    l.attr.full = TN_FULL_REFUSE;
    return tn_room_wait(&cl->room, spawn_again, &l, attr->deadline != 0 ? attr->deadline : TN_FOREVER);
}

/* ---- a spawn in a bounded group: first a unit, then as any other (tn_group_bound) ---- */

static tn_sem no_unit; /* of a member that does without */

static __attribute__((noinline)) int spawn_bounded(tn_fibre **out, const struct tn_attr *attr, void *(*fn)(void *),
                                                   void *arg)
{
    tn_sem *room = attr->group->room;
    tn_time until = attr->full != TN_FULL_WAIT ? 0 : attr->deadline != 0 ? attr->deadline : TN_FOREVER;
    int rc = attr->full == TN_FULL_WAIT ? tn_sem_wait_until(room, 1, until, NULL) : tn_sem_trywait(room);
    if (rc == EAGAIN && attr->full == TN_FULL_OVERFLOW)
        return spawn_with(out, attr, fn, arg, &no_unit);
    if (rc == 0 && (rc = spawn_with(out, attr, fn, arg, room)) != 0)
        tn_sem_post(room);
    return rc;
}
