/* SPDX-License-Identifier: MIT
 *
 * Part of hot.c: suspending the current fibre, by the protocol of the build (suspend.h).
 */

/* ---- the wait of a fibre: opened by it, decided by anyone ---- */

static inline uint64_t wait_open(struct fibre *f)
{
#if TN_SUSPENSION == TN_SUSPENSION_LOCK
    return tn_waitlock_prepare(&f->wait_lock, &f->wait);
#else
    return tn_waitword_prepare(&f->wait);
#endif
}

static inline enum tn_decision wait_decide(struct fibre *f, uint64_t seq, unsigned outcome)
{
#if TN_SUSPENSION == TN_SUSPENSION_LOCK
    return tn_waitlock_decide(&f->wait_lock, &f->wait, seq, outcome);
#else
    return tn_waitword_decide(&f->wait, seq, outcome);
#endif
}

/* `f` has suspended and is the caller's, without a decision: it is off its stack from here. */
static inline void wait_arrived(struct fibre *f)
{
#if TN_SUSPENSION == TN_SUSPENSION_LOCK
    tn_waitlock_arrived(&f->wait_lock);
#else
    (void)f; /* it was registered behind its switch */
#endif
}

/* ---- suspending ---- */

/* Go on with `next`, by way of the worker's own stack, where what `after` says is done. */
static inline struct worker *stop_by_step(struct worker *w, struct fibre *next, enum after after, bool dying)
{
    w->then = next;
    return stop_current(w, NULL, after, after == AFTER_EXIT ? TN_SPAWNED : TN_WOKEN, dying);
}

/* The general way to block: leave for `next` (NULL: the loop), and let `commit(self, arg)` register the fibre. If it
 * returns false there is nothing to wait for, and the fibre is ready again. commit runs on another stack or, where the
 * lock is handed over, on this one with the fibre's lock held: it touches nothing of the fibre behind its registration,
 * and does not block. */
static inline struct worker *suspend_for(struct worker *w, struct fibre *next, bool (*commit)(struct fibre *, void *),
                                         void *arg)
{
    w->after_commit = commit;
    w->after_arg = arg;
#if TN_SUSPENSION == TN_SUSPENSION_NEXT
    return stop_current(w, next, AFTER_SUSPEND, TN_WOKEN, false);
#elif TN_SUSPENSION == TN_SUSPENSION_UTILITY
    return stop_by_step(w, next, AFTER_SUSPEND, false);
#else
    struct fibre *self = w->current;
    tn_spinlock_lock(&self->wait_lock);
    bool waits = commit(self, arg);
    if (!waits)
        tn_spinlock_unlock(&self->wait_lock);
    return stop_current(w, next, waits ? AFTER_HANDED_OVER : AFTER_READY, TN_WOKEN, false);
#endif
}

static inline struct worker *suspend(struct worker *w, bool (*commit)(struct fibre *, void *), void *arg)
{
    return suspend_for(w, next_fibre(w, false), commit, arg);
}

/* commit() of a wait that was opened before, by tn_wait_prepare or by a wait in several places. */
static bool commit_park(struct fibre *f, void *arg)
{
    (void)arg;
#if TN_SUSPENSION == TN_SUSPENSION_LOCK
    return tn_waitlock_park(&f->wait);
#else
    return tn_waitword_park(&f->wait);
#endif
}

/* ---- publishing and waiting in one ---- */

#if TN_SUSPENSION == TN_SUSPENSION_UTILITY
struct publication {
    void (*publish)(tn_waiter, void *);
    void *arg;
};

static bool commit_publish(struct fibre *f, void *arg)
{
    struct publication p = *(const struct publication *)arg; /* it lies on the stack of f, which may soon run */
    p.publish((tn_waiter){&f->pub, tn_waitstep_open(&f->wait)}, p.arg);
    return true;
}
#endif

TN_API __attribute__((noinline)) int tn_suspend(void (*publish)(tn_waiter waiter, void *arg), void *arg,
                                                tn_time deadline, tn_token *token)
{
    struct worker *w = tn_self();
    if (w == NULL)
        return EPERM;
#if TN_SUSPENSION == TN_SUSPENSION_UTILITY
    if (deadline == TN_FOREVER && token == NULL && w->current->scope == NULL) {
        struct publication p = {publish, arg};
        COUNT(w, COUNT_WAIT);
        suspend(w, commit_publish, &p);
        return 0; /* nobody decides but by tn_wake */
    }
#endif
    publish(tn_wait_prepare(), arg);
    return tn_wait(deadline, token);
}
