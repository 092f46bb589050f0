/* SPDX-License-Identifier: MIT
 *
 * Part of hot.c: the wait primitive, tokens, sleeping.
 */

/* Decide f's wait; if it was parked already it is ours, and ready. */
static bool wake_as(struct fibre *f, uint64_t seq, unsigned outcome, struct worker *w)
{
    enum tn_decision d = wait_decide(f, seq, outcome);
    if (d == TN_DECIDED_PARKED)
        make_ready(w, f, TN_WOKEN);
    return d != TN_TOO_LATE;
}

TN_API __attribute__((noinline)) tn_waiter tn_wait_prepare(void)
{
    struct worker *w = tn_self();
    if (w == NULL)
        return (tn_waiter){NULL, 0};
    return (tn_waiter){&w->current->pub, wait_open(w->current)};
}

TN_API __attribute__((noinline)) void tn_wait_note(const char *what, const void *object)
{
    struct worker *w = tn_self();
    if (w == NULL || w->current == NULL)
        return;
    struct fibre *f = w->current;
    /* relaxed: its own */
    uint64_t seq = atomic_load_explicit(&f->wait, memory_order_relaxed) / WAIT_STATES;
    f->note = (struct tn_wait_note){what, object, seq};
}

static inline enum tn_decision wake_decide(struct worker *w, tn_waiter waiter)
{
    if (waiter.fibre == NULL || left_in_parent(w, waiter.fibre))
        return TN_TOO_LATE;
    enum tn_decision d = wait_decide(fibre_of(waiter.fibre), waiter.seq, WAIT_WOKEN);
    if (w != NULL && d != TN_TOO_LATE)
        COUNT(w, COUNT_WAKE);
    return d;
}

TN_API __attribute__((noinline)) bool tn_wake(tn_waiter waiter)
{
    struct worker *w = tn_self();
    enum tn_decision d = wake_decide(w, waiter);
    if (d == TN_DECIDED_PARKED)
        make_ready(w, fibre_of(waiter.fibre), TN_WOKEN);
    return d != TN_TOO_LATE;
}

/* The same in two steps, for who holds something until the second (sync/waiting.h). */
enum tn_decision tn_wake_decide(tn_waiter waiter)
{
    return wake_decide(tn_self(), waiter);
}

void tn_wake_resume(tn_fibre *fibre)
{
    make_ready(tn_self(), fibre_of(fibre), TN_WOKEN);
}

/* ---- tokens ---- */

_Static_assert(sizeof(struct token) <= sizeof(tn_token), "a tn_token holds its parts");

static struct token *token_of(tn_token *t)
{
    return (struct token *)(void *)t;
}

TN_API void tn_token_init(tn_token *t)
{
    token_init(token_of(t), tn_process());
}

TN_API bool tn_token_fired(const tn_token *t)
{
    return token_fired((const struct token *)(const void *)t);
}

static void cancel_wait(struct fibre *f)
{
    /* relaxed: of this wait, in which it is until it leaves the token */
    uint64_t seq = atomic_load_explicit(&f->wait, memory_order_relaxed) / WAIT_STATES;
    wake_as(f, seq, WAIT_CANCELLED, tn_self());
}

TN_API __attribute__((noinline)) void tn_token_fire(tn_token *t)
{
    token_fire(token_of(t), tn_process(), cancel_wait);
}

void token_forget(struct fibre *f, void *unused)
{
    (void)unused;
    if (f->entry.token != NULL)
        token_leave(&f->entry);
}

/* ---- waiting ---- */

static const int wait_errors[] = {[WAIT_WOKEN] = 0, [WAIT_TIMED_OUT] = ETIMEDOUT, [WAIT_CANCELLED] = ECANCELED};

/* What may cancel f's waits, or NULL. */
static inline struct tn_scope *scope_of(struct fibre *f)
{
    return f->scope != NULL && !f->scope->masked ? f->scope : NULL;
}

/* Wait with a deadline, a token, or as a member of a group: register with each, suspend, take back what is still
 * registered. */
static __attribute__((noinline)) int wait_registered(struct worker *w, tn_time deadline, tn_token *token)
{
    struct fibre *f = w->current;
    struct cluster *cl = cluster_of(f->pub.cluster);
    uint64_t seq = atomic_load_explicit(&f->wait, memory_order_relaxed) / WAIT_STATES; /* relaxed: own wait */
    struct tn_scope *s = scope_of(f);
    if (s != NULL && s->deadline < deadline)
        deadline = s->deadline;
    bool first = false, timed = deadline != TN_FOREVER;
    int rc = 0;
    bool in_scope = s != NULL && token_enter(token_of(&s->token), tn_process(), &s->entry, f);
    bool in_token = token != NULL && token_enter(token_of(token), tn_process(), &f->entry, f);
    if (in_scope != (s != NULL) || in_token != (token != NULL)) {
        timed = false; /* fired before: it does not suspend at all */
        wait_decide(f, seq, WAIT_CANCELLED);
        goto out;
    }
    if (timed && deadline <= tn_now()) { /* over at this very scheduling point, whatever the timers' accuracy */
        timed = false;
        wait_decide(f, seq, WAIT_TIMED_OUT);
    } else if (timed) {
        rc = tn_timers_arm(&cl->timers, &f->timer, deadline, seq, &first);
    }
    if (rc == 0) {
        bool alone = first && !wake_watcher(cl);
        struct fibre *next = next_fibre(w, false);
        if (alone && next != NULL)
            keep_time(cl); /* w goes on, and may not look up for long */
        w = suspend_for(w, next, commit_park, NULL);
        if (timed)
            tn_timers_disarm(&cl->timers, &f->timer);
    } else if (wait_decide(f, seq, WAIT_CANCELLED) == TN_TOO_LATE) {
        rc = 0; /* no memory for the timer, but somebody has woken it, who must not be told a lie */
    }
out:
    if (in_token)
        token_leave(&f->entry);
    if (in_scope)
        token_leave(&s->entry);
    return rc != 0 ? rc : wait_errors[tn_waitword_outcome(&f->wait)];
}

TN_API __attribute__((noinline)) int tn_wait(tn_time deadline, tn_token *token)
{
    struct worker *w = tn_self();
    if (w == NULL)
        return EPERM;
    struct fibre *f = w->current;
    tn_lock_check(f->name); /* whether it will switch or not */
    if (tn_waitword_outcome(&f->wait) == WAIT_ARMED) {
        COUNT(w, COUNT_WAIT);
        if (deadline != TN_FOREVER || token != NULL || scope_of(f) != NULL)
            return wait_registered(w, deadline, token);
        suspend(w, commit_park, NULL);
    }
    return wait_errors[tn_waitword_outcome(&f->wait)];
}

TN_API __attribute__((noinline)) int tn_sleep_until(tn_time deadline, tn_token *token)
{
    if (tn_self() == NULL)
        return EPERM;
    if (token != NULL && tn_token_fired(token))
        return ECANCELED;
    int over = tn_cancelled();
    if (over != 0)
        return over;
    if (deadline <= tn_now()) {
        tn_yield();
        return 0;
    }
    struct tn_scope *s = scope_of(((struct worker *)tn_self())->current);
    tn_wait_prepare();
    int rc = tn_wait(deadline, token);
    return rc == ETIMEDOUT && (s == NULL || deadline <= s->deadline) ? 0 : rc;
}

TN_API int tn_sleep(uint64_t ns)
{
    tn_time now = tn_now();
    return tn_sleep_until(ns < TN_FOREVER - 1 - now ? now + ns : TN_FOREVER - 1, NULL);
}
