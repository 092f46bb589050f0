/* SPDX-License-Identifier: MIT
 *
 * Part of hot.c: the worker's loop: next, look up, search, park.
 */

/* ---- waking ---- */

static struct worker *worker_of_slot(struct tn_idle_slot *s)
{
    return (struct worker *)(void *)((char *)s - offsetof(struct worker, slot));
}

/* Of one that is idle, where it waits. A poller that lets nobody wait with it has no wake(), and is not asked. */
static inline void end_wait(struct cluster *cl, struct worker *w, uint32_t how)
{
    if (how == TN_SLOT_POLLING && POLLER->wake != NULL)
        POLLER->wake(cl->poller, &w->pub);
    else
        tn_unpark(&w->slot.word, 1);
}

/* Wake `which` if it is idle, else the most recently idle worker. A slot without a thread gets one. */
static __attribute__((noinline)) void wake_worker(struct cluster *cl, struct tn_idle_slot *which)
{
    uint32_t how;
    struct tn_idle_slot *s;
    while ((s = tn_idle_take(&cl->idle, which, &how)) != NULL) {
        struct worker *other = worker_of_slot(s);
        struct worker *w = tn_self();
        if (w != NULL)
            COUNT(w, COUNT_UNPARK);
        if (!s->unborn) {
            end_wait(cl, other, how);
            return;
        }
        s->unborn = false;
        other->searching = true; /* as tn_idle_take has counted */
        if (worker_start(other) == 0)
            return;
        other->searching = false; /* no thread to be had: the others do its work */
        tn_idle_search_end(&cl->idle);
        tn_idle_leave(&cl->idle, &other->slot);
        keep_time(cl); /* others may have left that to its search */
        which = NULL;
    }
}

void tn_notify(struct tn_cluster *cl)
{
    notify_outside(cluster_of(cl), 0);
}

struct tn_worker *tn_busy_after(struct tn_cluster *cl, struct tn_worker *w)
{
    struct tn_idle_slot *s = tn_idle_busy_after(&cluster_of(cl)->idle, w != NULL ? &worker_of(w)->slot : NULL);
    return s != NULL ? &worker_of_slot(s)->pub : NULL;
}

bool tn_worker_idle(struct tn_worker *w)
{
    if (member(tn_self(), cluster_of(w->cluster)) != NULL)
        tn_fence_light(); /* pairs with the heavy one of who parks */
    else
        atomic_thread_fence(memory_order_seq_cst); /* IF0: idle.h */
    /* relaxed: behind the fence */
    return atomic_load_explicit(&worker_of(w)->slot.word, memory_order_relaxed) != TN_SLOT_AWAKE;
}

/* A deadline became the earliest: whoever sleeps with another one must sleep anew. False: nobody is idle. */
static bool wake_watcher(struct cluster *cl)
{
    tn_fence_light();
    bool idle = tn_idle_workers(&cl->idle) != 0;
    if (idle)
        wake_worker(cl, tn_idle_watcher(&cl->idle, NULL));
    return idle;
}

/* Have each worker look up from its work, or from its sleep. */
void cluster_kick(struct cluster *cl)
{
    uint32_t used = atomic_load_explicit(&cl->pub.used, memory_order_acquire); /* U0 acquire */
    workers_look_up(cl);
    for (uint32_t i = 0; i < used; i++) {
        struct worker *w = worker_of(cl->pub.workers[i]);
        uint32_t how;
        if (tn_idle_take_this(&cl->idle, &w->slot, &how))
            end_wait(cl, w, how);
    }
}

/* ---- looking up ---- */

static bool wake_as(struct fibre *f, uint64_t seq, unsigned outcome, struct worker *w);

/* Several fibres of one cluster at once; `w` is a worker of it, or NULL. */
static void make_all_ready_in(struct cluster *cl, struct worker *w, struct tn_list *fibres)
{
    struct tn_link *l;
    if (TN_SCHED(cl)->ready_n != NULL && fibres->head != NULL) {
        struct tn_worker *me = member(w, cl);
        TN_SCHED(cl)->ready_n(me, fibres, TN_WOKEN);
        notify_by(me, cl, 0);
    } else {
        while ((l = tn_list_pop_front(fibres)) != NULL)
            make_ready(w, fibre_of(tn_fibre_of(l)), TN_WOKEN);
    }
}

static void make_all_ready(struct worker *w, struct tn_list *fibres)
{
    make_all_ready_in(cluster_of(w->pub.cluster), w, fibres);
}

void tn_ready_all(struct tn_cluster *cluster, struct tn_list *fibres)
{
    make_all_ready_in(cluster_of(cluster), NULL, fibres);
}

void tn_ready_soon(struct tn_cluster *cluster, struct tn_list *fibres)
{
    struct cluster *cl = cluster_of(cluster);
    struct worker *w = tn_self();
    struct tn_link *l = fibres->count == 1 && w != NULL ? tn_list_pop_front(fibres) : NULL;
    int placed = l != NULL ? TN_SCHED(cl)->ready(member(w, cl), tn_fibre_of(l), TN_WOKEN) : 0;
    if (placed != 0)
        notify_by(member(w, cl), cl, placed);
    if (fibres->head != NULL)
        make_all_ready_in(cl, w, fibres);
}

struct fired {
    struct worker *w;
    struct tn_list ready;
};

static void fire_timer(struct tn_timer *t, void *arg)
{
    struct fired *fired = arg;
    struct fibre *f = (struct fibre *)(void *)((char *)t - offsetof(struct fibre, timer));
    COUNT(fired->w, COUNT_TIMER);
    if (wait_decide(f, t->seq, WAIT_TIMED_OUT) == TN_DECIDED_PARKED)
        tn_list_push_back(&fired->ready, &f->pub.link);
}

static __attribute__((noinline)) void look_up(struct worker *w)
{
    struct cluster *cl = cluster_of(w->pub.cluster);
    w->ticks = 0; /* so that DUE_NOW and DUE_ASKED are always in the past */
    w->rounds++;
    atomic_store_explicit(&w->due, LOOK_UP, memory_order_relaxed); /* relaxed: see tick() */
    if (tn_timers_earliest(&cl->timers) != UINT64_MAX && tn_timers_earliest(&cl->timers) <= tn_now()) {
        struct fired fired = {.w = w};
        tn_timers_expire(&cl->timers, tn_now(), fire_timer, &fired);
        make_all_ready(w, &fired.ready);
    }
    if (POLLER->poll != NULL && w->rounds % POLLER->every == 0) {
        struct tn_list ready = {0};
        if (POLLER->poll(cl->poller, &w->pub, &ready, 0) != 0) {
            COUNT(w, COUNT_POLL);
            make_all_ready(w, &ready);
        }
    }
    tn_room_made(&cl->room);
}

/* Has the runtime come to its end, as far as this worker goes? Whoever has it then is dropped. relaxed: see must_leave() */
static bool is_over(struct worker *w)
{
    return (w->until != NULL && atomic_load_explicit(w->until, memory_order_relaxed) != 0) ||
           atomic_load_explicit(&cluster_of(w->pub.cluster)->rt->stopping, memory_order_relaxed);
}

static bool must_leave(struct worker *w)
{
    /* relaxed: a worker that parks has taken the idle lock, as cluster_kick does after these stores; one that
     * runs looks again within LOOK_UP scheduling points */
    return (atomic_load_explicit(&w->leave, memory_order_relaxed) &&
            preempted_count(w) == 0) || /* which must run here */
           is_over(w);
}

/* ---- searching ---- */

static struct worker *default_victim(struct worker *w, unsigned attempt, uint32_t used, uint32_t start)
{
    if (attempt + 1 >= used)
        return NULL;
    uint32_t others = (start + attempt) % (used - 1); /* the others only: skip the own slot */
    return worker_of(w->pub.cluster->workers[others >= w->pub.index ? others + 1 : others]);
}

/* The attempt-th victim of a round that began at `start`; NULL: the round is over. */
static struct worker *choose_victim(struct worker *w, struct cluster *cl, unsigned attempt, uint32_t start)
{
    uint32_t used = atomic_load_explicit(&cl->pub.used, memory_order_acquire); /* U0 acquire */
    return TN_SCHED(cl)->victim != NULL ? worker_of(TN_SCHED(cl)->victim(&w->pub, attempt))
                                        : default_victim(w, attempt, used, start);
}

static unsigned steal_from(struct worker *w, struct cluster *cl, struct worker *victim)
{
    COUNT(w, COUNT_STEAL_TRY);
    unsigned n = TN_SCHED(cl)->steal(&w->pub, &victim->pub);
    if (n != 0) {
        COUNT(w, COUNT_STEAL_HIT);
        COUNT_N(w, COUNT_STOLEN, n);
    }
    return n;
}

/* One round over the victims. Returns the fibre to run. */
static struct fibre *steal_round(struct worker *w)
{
    struct cluster *cl = cluster_of(w->pub.cluster);
    struct worker *victim;
    struct fibre *f;
    uint32_t start = (uint32_t)tn_random(&w->pub);
    if (TN_SCHED(cl)->steal == NULL)
        return NULL;
    for (unsigned attempt = 0; (victim = choose_victim(w, cl, attempt, start)) != NULL; attempt++)
        if (steal_from(w, cl, victim) != 0 && (f = fibre_of(TN_SCHED(cl)->next(&w->pub, false))) != NULL)
            return f; /* else another thief was faster */
    return NULL;
}

/* A worker that always has something to run never searches; yet the one thing that its fibres wait for may lie behind
 * a hog on another worker (two fibres that yield to each other until a third one has run). So now and then, in every
 * PASSING-th look up, a busy worker tries one victim, the next in its order. */
enum { PASSING = 4 };

static __attribute__((noinline)) void steal_in_passing(struct worker *w)
{
    struct cluster *cl = cluster_of(w->pub.cluster);
    /* All slots ever used, not the busy ones: who has left, or sleeps, may have something placed with it. */
    uint32_t used = atomic_load_explicit(&cl->pub.used, memory_order_acquire); /* U0 acquire */
    if (TN_SCHED(cl)->steal == NULL || used < 2 || ++w->looks % PASSING != 0)
        return;
    struct worker *victim = choose_victim(w, cl, w->passing, 0);
    w->passing = victim != NULL ? w->passing + 1 : 0;
    if (victim != NULL && steal_from(w, cl, victim) != 0)
        notify(cl, 0); /* what it took was nowhere for a moment */
}

/* Should an idle worker wait in the poller, and does none? (idle.h, 6) */
static bool unpolled(struct cluster *cl)
{
    return POLLER->wants != NULL && POLLER->wants(cl->poller) && !tn_idle_polled(&cl->idle);
}

/* What w leaves undone when it goes to work, does one of the idle have to see to it? Something is ready; nobody is in the
 * poller; or somebody must sleep with a deadline, since an owner holds work back or a timer runs, and nobody does. */
static bool leaves_work(struct worker *w, struct cluster *cl)
{
    enum tn_work work = TN_SCHED(cl)->may_have_work(&w->pub);
    if (work == TN_WORK_HELD)
        return !watched(cl) || unpolled(cl);
    return work == TN_WORK_SOME || unpolled(cl) ||
           (tn_timers_earliest(&cl->timers) != UINT64_MAX && tn_idle_watcher(&cl->idle, NULL) == NULL);
}

/* Found something to run: no longer searching. Others may have relied on this search, and it may have been the
 * watcher's; but as long as another worker searches, all that is its business (idle.h, 3 and 5). */
static void search_over(struct worker *w, struct cluster *cl)
{
    if (!w->searching)
        return;
    w->searching = false;
    w->watch_ns = 0;
    if (!tn_idle_search_end(&cl->idle))
        return;
    if (tn_idle_workers(&cl->idle) == 0) { /* whoever parks later looks */
        keep_time(cl);
        return;
    }
    tn_fence_heavy(); /* a waker that relied on this search: what it made ready is seen here */
    if (leaves_work(w, cl))
        wake_worker(cl, NULL);
}

/* Look for work for as long as the idle mode allows. Who has only watched looks once. */
static struct fibre *search(struct worker *w)
{
    struct cluster *cl = cluster_of(w->pub.cluster);
    struct fibre *f;
    if (!w->searching) {
        w->searching = true;
        tn_idle_search_begin(&cl->idle);
    }
    tn_time end = 0;
    unsigned pause = 4;
    for (;;) {
        uint32_t shown = tn_idle_shown(&cl->idle);
        if ((f = steal_round(w)) != NULL || (f = fibre_of(TN_SCHED(cl)->next(&w->pub, false))) != NULL)
            return f;
        if (cl->idle_mode == TN_IDLE_BLOCK || must_leave(w) || (w->brief && cl->idle_mode == TN_IDLE_SPIN_BLOCK))
            return NULL;
        tn_time now = tn_now();
        if (end == 0)
            end = now + (tn_time)cl->spin_us * 1000;
        if (cl->idle_mode == TN_IDLE_SPIN_BLOCK && now >= end)
            return NULL;
        look_up(w);
        /* Each look at a victim's queue takes its line away: look less and less often, unless something is shown. */
        for (unsigned i = tn_spin_bound(pause); i > 0 && tn_idle_shown(&cl->idle) == shown; i--)
            tn_relax();
        pause = pause < 256 ? pause * 2 : pause;
        if (cl->idle_mode == TN_IDLE_SPIN) {
            unsigned spins = 64;
            tn_spin_wait(&spins); /* give the processor away: there may be fewer of them than workers */
        }
    }
}

/* ---- parking ---- */

static void wait_until(struct worker *w, struct cluster *cl, bool polling, struct tn_list *ready, tn_time deadline)
{
    if (polling)
        POLLER->poll(cl->poller, &w->pub, ready, deadline);
    else
        tn_idle_sleep(&w->slot, deadline);
}

/* On the thread of tn_run, which else would look whether anything ever can wake its workers. */
static __attribute__((noinline)) void wait_and_watch(struct worker *w, struct cluster *cl, bool polling,
                                                     struct tn_list *ready, tn_time deadline)
{
    struct naps naps = {0};
    do {
        tn_time look = diagnose_until(cl->rt, &naps);
        wait_until(w, cl, polling, ready, look < deadline ? look : deadline);
        /* relaxed: who is woken takes the lock of the idle */
    } while (ready->head == NULL && atomic_load_explicit(&w->slot.word, memory_order_relaxed) != TN_SLOT_AWAKE &&
             (deadline == UINT64_MAX || tn_now() < deadline));
}

/* Is something to come that ends this wait, a timer or an event? With other workers in the runtime that may change meanwhile. */
static bool will_end(struct cluster *cl, bool polling, tn_time deadline)
{
    /* relaxed, both: who adds a worker or a cluster has this one look up */
    return atomic_load_explicit(&cl->pub.used, memory_order_relaxed) == 1 && cl->next == NULL &&
           atomic_load_explicit(&cl->rt->clusters, memory_order_relaxed) == cl &&
           (deadline != UINT64_MAX || (polling && POLLER->pending(cl->poller)));
}

static void park(struct worker *w)
{
    struct cluster *cl = cluster_of(w->pub.cluster);
    /* In a place that all share one worker waits at a time, so that a wake-up there reaches the one that it is meant for. */
    enum tn_waits_where where = POLLER->idle != NULL ? POLLER->idle(cl->poller, &w->pub) : TN_WAITS_PARKED;
    bool turn = where == TN_WAITS_IN_TURN && tn_idle_poll_begin(&cl->idle), polling = turn || where == TN_WAITS_APART;
    if (w->searching) {
        w->searching = false;
        tn_idle_search_end(&cl->idle);
    }
    /* relaxed: one writer; diagnoses read it inside the lock that the announcement takes */
    atomic_store_explicit(&w->parks, atomic_load_explicit(&w->parks, memory_order_relaxed) + 1, memory_order_relaxed);
    COUNT(w, COUNT_ANNOUNCE);
    tn_idle_announce(&cl->idle, &w->slot, polling ? TN_SLOT_POLLING : TN_SLOT_PARKED);
    tn_room_made(&cl->room);
    enum tn_work work = TN_SCHED(cl)->may_have_work(&w->pub);
    tn_time deadline = tn_timers_earliest(&cl->timers);
    bool stay = work != TN_WORK_SOME && !must_leave(w) && (turn || !unpolled(cl));
    struct tn_list ready = {0};
    if (stay) {
        tn_time now = 0;
        if (work == TN_WORK_HELD) { /* its owner may become a hog: look again, less often each time */
            now = tn_now();
            w->watch_ns = w->watch_ns == 0 ? WATCH_NS : w->watch_ns < WATCH_MAX_NS ? 2 * w->watch_ns : WATCH_MAX_NS;
            if (now + w->watch_ns < deadline)
                deadline = now + w->watch_ns;
        }
        /* One sleeper with a deadline is enough; the others sleep until they are woken. */
        if (deadline != UINT64_MAX && !tn_idle_watch(&cl->idle, &w->slot, deadline))
            deadline = UINT64_MAX;
        COUNT(w, deadline == UINT64_MAX ? COUNT_PARK : COUNT_WATCH);
        if (w->until != NULL && !will_end(cl, polling, deadline))
            wait_and_watch(w, cl, polling, &ready, deadline);
        else
            wait_until(w, cl, polling, &ready, deadline);
    }
    bool woken = !tn_idle_withdraw(&cl->idle, &w->slot);
    if (!woken) /* else whoever woke us has begun it */
        tn_idle_search_begin(&cl->idle);
    w->searching = true;
    w->brief = stay && !woken;
    if (POLLER->busy != NULL)
        POLLER->busy(cl->poller, &w->pub);
    if (turn)
        tn_idle_poll_end(&cl->idle);
    if (ready.head != NULL) /* to be found by this search: nobody else is woken yet */
        make_all_ready(w, &ready);
}

/* ---- the loop ---- */

/* Run `f`, and what follows it, until a fibre finds nothing to go on with. This stack is the worker's utility stack
 * too: a fibre that leaves by a step has it done here, at the end of switch_to, and says whom to go on with. */
static void run(struct worker *w, struct fibre *f)
{
    do {
        enter(w, f);
        preempt_runs(w);
        w->after = AFTER_NOTHING;
        w->after_fibre = NULL;
        if (TN_STEPS)
            w->then = NULL;
        switch_to(w, &w->loop, f, false);
        f = TN_STEPS ? w->then : NULL;
    } while (f != NULL);
}

/* pthread_exit in a fibre: its worker's loop is gone, and with it whatever waits for it. */
static void worker_lost(void)
{
    struct worker *w = tn_self();
    tn_die("tenter: fibre '%s' ended its worker's thread: end a fibre by return or tn_exit",
           w != NULL && w->current != NULL ? w->current->name : "");
}

/* Both ends of a worker's life on its thread. */
void *worker_main(void *worker)
{
    struct worker *w = worker;
    struct cluster *cl = cluster_of(w->pub.cluster);
    tn_self_set(w);
    w->errno_at = tn_errno_address();
    w->exceptions_at = tn_exceptions_address();
    tn_thread_guard(worker_lost);
    diagnose_worker_begins(w);
    tn_sanitize_thread(&w->loop.sanitize);
    void *fault_stack = tn_fault_stack();
    if (cl->pin)
        tn_pin(cl->first_cpu + w->pub.index);
    tn_idle_join(&cl->idle, &w->slot);
    if (TN_SCHED(cl)->worker_join != NULL)
        TN_SCHED(cl)->worker_join(&w->pub);
    if (POLLER->join != NULL)
        POLLER->join(cl->poller, &w->pub);
    preempt_begin(w, cl->preempt_us);
    bool ran = false; /* a fibre, since it has parked */
    while (!must_leave(w)) {
        struct fibre *f = next_fibre(w, false);
        /* Not where the last wait was ended by what it waited for: it will be so again, and to wait is to look. */
        if (f == NULL && !(ran && w->brief)) {
            look_up(w);
            f = fibre_of(TN_SCHED(cl)->next(&w->pub, false));
        }
        if (f == NULL)
            f = search(w);
        ran = f != NULL;
        if (!ran) {
            park(w);
            continue;
        }
        search_over(w, cl);
        run(w, f);
    }
    preempt_end(w);
    if (POLLER->leave != NULL) {
        struct tn_list ready = {0};
        POLLER->leave(cl->poller, &w->pub, &ready);
        make_all_ready(w, &ready);
    }
    if (w->searching) {
        w->searching = false;
        tn_idle_search_end(&cl->idle);
    }
    if (TN_SCHED(cl)->worker_leave != NULL)
        TN_SCHED(cl)->worker_leave(&w->pub);
    tn_idle_leave(&cl->idle, &w->slot);
    /* relaxed: else the others fend for themselves */
    if (!atomic_load_explicit(&cl->rt->stopping, memory_order_relaxed)) {
        /* What this worker leaves behind, or was about to look for; and it is on no list any more. */
        notify_outside(cl, 0);
        keep_time(cl); /* others may have left that to its search */
    }
    tn_thread_guard(NULL);
    tn_self_set(NULL);
    diagnose_worker_ends(w);
    tn_fault_stack_free(fault_stack);
    worker_ended(w);
    return NULL;
}
