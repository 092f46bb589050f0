/* SPDX-License-Identifier: MIT
 *
 * Who is stuck: deadlocks, stalls, SIGQUIT. Nothing here runs on a path that fibres take; what it needs they leave behind anyway.
 *
 * Deadlock. A thread that waits in tn_join, or in tn_run, where it may be the only worker, wakes now and then, and asks: are
 * all workers of the process idle, without a timer or a descriptor to wait for, all fibres blocked, and all other threads
 * waiting as I am? Proof that the answer yes is true. 1. Each cluster's workers are looked at twice, inside the lock of its
 * idle list. A worker that is listed both times, and has announced to park no more often meanwhile, was listed all the time
 * between, and ran nothing. 2. So between the two looks no thread was told to go on, for only workers end fibres: the blocked
 * threads, counted in between, were blocked all the while. 3. If the process has, in between, no more threads than those
 * workers, these blocked ones (such a worker is one of them), threads that wake no fibre (timekeepers) and idle ones of the
 * pools for blocking calls, then at that instant nobody runs who could wake or spawn anything: only a worker gives an idle one
 * a call, and none of the pool has become idle or ended meanwhile, since the number of its threads is still the same. 4. A
 * fibre that is ready would have been seen; and a timer or an armed descriptor, in between too. Hence nothing will ever move.
 *
 * Stall. The watchdog, a thread of its own that is there only for stall_ms > 0, looks four times in that time.
 * - A worker counts its scheduling points; one whose count is that of four looks ago has reached none.
 * - It marks ready fibres in the unused half of their saved errno. A switch away from a fibre stores the whole word, so that a
 *   mark of four looks ago tells of a fibre that has not run since.
 * - If all fibres are blocked for four looks, with no timer and no descriptor, only a thread outside could wake one.
 */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAP_NS = 100000000, NAP_MAX_NS = 1000000000, LOOKS = 4, STDERR = 2, FINDINGS = 1024 };

/* Of the process, since threads and SIGQUIT are the process's too. */
static struct tn_spinlock lock = TN_SPINLOCK_INIT;
TN_FOR_DEBUGGERS struct runtime *tn_debug_runtimes; /* under the lock; tools/gdb finds it by its name */
static _Atomic(uint32_t) holder; /* of the lock, the thread's number; relaxed: only the thread itself reads its own */
static unsigned on_quit;         /* under the lock: runtimes that want SIGQUIT */
static _Atomic(unsigned) quit_die; /* written under the lock, relaxed: runtimes that SIGQUIT ends the process for */
static _Atomic(uint32_t) ours;     /* workers, and threads that wake no fibre; relaxed: see the proof, 3 */
static _Atomic(uint32_t) blocked;  /* threads that wait in a Tenter call; relaxed: see the proof, 2 */

/* A signal handler that wants the lock may have interrupted whoever holds it. */
static bool taken(bool got)
{
    if (got)
        atomic_store_explicit(&holder, tn_thread_number(), memory_order_relaxed); /* relaxed: see there */
    return got;
}

static bool try_take(void)
{
    return taken(tn_spinlock_try_lock(&lock));
}

static void take(void)
{
    tn_spinlock_lock(&lock);
    taken(true);
}

static void let_go(void)
{
    atomic_store_explicit(&holder, 0, memory_order_relaxed); /* relaxed: see there */
    tn_spinlock_unlock(&lock);
}

void diagnose_own_begins(void)
{
    atomic_fetch_add_explicit(&ours, 1, memory_order_relaxed); /* relaxed: see the proof, 3 */
}

void diagnose_own_ends(void)
{
    atomic_fetch_sub_explicit(&ours, 1, memory_order_relaxed); /* relaxed: so too */
}

void diagnose_worker_begins(struct worker *w)
{
    w->stopped.thread = tn_thread_number();
    if (!w->lent) /* its thread counts as blocked, in tn_run */
        diagnose_own_begins();
    atomic_store_explicit(&w->alive, true, memory_order_release); /* AL0 release: its number */
}

void diagnose_worker_ends(struct worker *w)
{
    atomic_store_explicit(&w->alive, false, memory_order_relaxed); /* relaxed: as early as late */
    if (!w->lent)
        diagnose_own_ends();
}

void diagnose_blocks(void)
{
    atomic_fetch_add_explicit(&blocked, 1, memory_order_relaxed);
}

void diagnose_unblocks(void)
{
    atomic_fetch_sub_explicit(&blocked, 1, memory_order_relaxed);
}

/* A child of fork has none of its parent's threads, and what they held stays as it was: it begins anew. Its SIGQUIT
 * handler is still there. Before the lock is taken, wherever one comes in. */
void diagnose_anew(void)
{
    static _Atomic(unsigned) process; /* relaxed: a new process has one thread */
    unsigned now = tn_process(), was = atomic_exchange_explicit(&process, now, memory_order_relaxed);
    if (was == now)
        return;
    tn_spinlock_init(&lock);
    atomic_store_explicit(&holder, 0, memory_order_relaxed); /* relaxed, both: as above */
    atomic_store_explicit(&quit_die, 0, memory_order_relaxed);
    tn_debug_runtimes = NULL;
    on_quit = 0;
    dump_anew();
    atomic_store_explicit(&ours, 0, memory_order_relaxed);    /* relaxed: as above */
    atomic_store_explicit(&blocked, 0, memory_order_relaxed); /* relaxed: as above */
}

/* ---- is anything moving? ---- */

void each_block(struct runtime *rt, void (*visit)(struct fibre *f, void *arg), void *arg)
{
    struct fibre *f = atomic_load_explicit(&rt->stacks.all, memory_order_acquire); /* SL0 acquire */
    for (; f != NULL; f = f->next_block)
        visit(f, arg);
}

/* relaxed throughout: whoever is not stopped changes it anyway */
enum doing TN_LOOKS fibre_doing(struct fibre *f)
{
    uintptr_t join = atomic_load_explicit(&f->join, memory_order_relaxed), mine = (uintptr_t)f;
    struct worker *home = worker_of(f->pub.home);
    if (f->fn == NULL || join == TN_JOIN_FREE)
        return DOING_NOTHING;
    if (join == TN_JOIN_DONE || join == TN_JOIN_CLOSING)
        return DOING_ENDED;
    if (home != NULL && *(struct fibre *volatile *)&home->current == f)
        return DOING_RUN;
    bool parked = atomic_load_explicit(&f->wait, memory_order_relaxed) % WAIT_STATES == WAIT_PARKED;
    struct fibre *child = f->joins;
    uintptr_t joiner = child != NULL ? atomic_load_explicit(&child->join, memory_order_relaxed) : 0;
    if (joiner == mine || (joiner == (mine | TN_JOIN_TIMED) && parked))
        return DOING_JOIN;
    return parked ? DOING_WAIT : DOING_READY;
}

static void count_fibre(struct fibre *f, void *n)
{
    ((size_t *)n)[fibre_doing(f)]++;
}

/* Are all workers idle, with nothing that will wake one of them? Adds how often they have parked. */
static bool workers_idle(struct runtime *rt, uint64_t *parks)
{
    struct cluster *cl = atomic_load_explicit(&rt->clusters, memory_order_acquire); /* CL0 acquire */
    for (; cl != NULL; cl = cl->next) {
        bool idle = true;
        uint32_t used = atomic_load_explicit(&cl->pub.used, memory_order_acquire); /* U0 acquire */
        tn_spinlock_lock(&cl->idle.lock);
        for (uint32_t i = 0; i < used; i++) {
            struct worker *w = worker_of(cl->pub.workers[i]);
            idle = idle &&
                   (w->slot.on == TN_ON_IDLE || !atomic_load_explicit(&w->alive, memory_order_relaxed)); /* relaxed: a
                thread that has not begun is one too many */
            *parks += atomic_load_explicit(&w->parks, memory_order_relaxed); /* relaxed: under the lock */
        }
        tn_spinlock_unlock(&cl->idle.lock);
        if (!idle || tn_timers_earliest(&cl->timers) != UINT64_MAX ||
            (binding_poller->pending != NULL && binding_poller->pending(cl->poller)))
            return false;
    }
    return true;
}

static bool blocked_only(const size_t n[DOINGS])
{
    return n[DOING_RUN] + n[DOING_READY] == 0 && n[DOING_WAIT] + n[DOING_JOIN] != 0;
}

static bool fibres_blocked(struct runtime *rt)
{
    size_t n[DOINGS] = {0};
    each_block(rt, count_fibre, n);
    return blocked_only(n);
}

/* Threads that do nothing until a worker goes on: those that wait in a Tenter call, those that wait for one. */
struct waiting {
    uint32_t blocked;
    unsigned idle, pooled;
};

/* Under the lock. False: it cannot be told now. */
static bool count_waiting(struct waiting *n)
{
    *n =
        (struct waiting){.blocked = atomic_load_explicit(&blocked, memory_order_relaxed)}; /* relaxed: the proof, 2 */
    for (struct runtime *r = tn_debug_runtimes; r != NULL; r = r->diagnosis.next)
        if (!blocking_threads(&r->blocking, &n->idle, &n->pooled))
            return false;
    return true;
}

/* Under the lock. Is every thread of the process one of ours, or waiting? */
static bool nobody_outside(void)
{
    struct waiting before, after;
    if (!count_waiting(&before))
        return false;
    unsigned threads = tn_thread_count();
    return count_waiting(&after) && before.blocked == after.blocked && before.idle == after.idle &&
           before.pooled == after.pooled && threads != 0 &&
           threads == atomic_load_explicit(&ours, memory_order_relaxed) + after.blocked + after.idle +
                          tn_tool_threads(); /* relaxed: see the proof, 3 */
}

static bool somebody_outside(void)
{
    take();
    bool is = !nobody_outside();
    let_go();
    return is;
}

/* ---- deadlock ---- */

static bool all_idle(uint64_t *parks)
{
    *parks = 0;
    for (struct runtime *r = tn_debug_runtimes; r != NULL; r = r->diagnosis.next)
        if (!workers_idle(r, parks))
            return false;
    return true;
}

static bool all_blocked(void)
{
    size_t n[DOINGS] = {0};
    for (struct runtime *r = tn_debug_runtimes; r != NULL; r = r->diagnosis.next)
        each_block(r, count_fibre, n);
    return blocked_only(n);
}

static void look_for_deadlock(struct runtime *rt)
{
    uint64_t parks, again;
    struct tn_where here;
    TN_HERE(here);
    if (!try_take())
        return; /* somebody looks already, or dumps */
    bool found = all_idle(&parks) && nobody_outside() && all_blocked() && nobody_outside() && all_idle(&again) &&
                 parks == again && rt->diagnosis.reported != parks + 1;
    if (found) {
        rt->diagnosis.reported = parks + 1;
        dump(STDERR, tn_debug_runtimes, &here,
             "deadlock: every fibre is blocked, and nothing is left that could wake one");
    }
    let_go();
    if (found && rt->diagnosis.deadlock == TN_DEADLOCK_ABORT)
        abort();
}

tn_time diagnose_until(struct runtime *rt, struct naps *n)
{
    if (rt->diagnosis.deadlock == TN_DEADLOCK_OFF)
        return TN_FOREVER;
    if (n->look == 0 || tn_now() >= n->look) {
        if (n->look != 0)
            look_for_deadlock(rt);
        n->nap = n->nap == 0 ? NAP_NS : n->nap * 2 < NAP_MAX_NS ? n->nap * 2 : NAP_MAX_NS;
        n->look = tn_now() + n->nap;
    }
    return n->look;
}

void diagnose_await(struct runtime *rt, _Atomic(uint32_t) *word)
{
    struct naps naps = {0};
    while (atomic_load_explicit(word, memory_order_relaxed) == 0) /* relaxed: the caller orders what matters */
        tn_park(word, 0, diagnose_until(rt, &naps));
}

/* ---- the watchdog ---- */

/* All that one look found, a line each: whoever is told of is told of once, so that none may hide another. */
struct finding {
    uint32_t look;
    unsigned more; /* than there was room for */
    long long ms;
    size_t used;
    char text[FINDINGS + 64];
};

static __attribute__((format(printf, 2, 3))) void find(struct finding *found, const char *format, ...)
{
    char line[192];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    const char *before = found->used > 0 ? "\ntenter: " : "";
    if (found->used + sizeof line + sizeof "\ntenter: stall: " > FINDINGS)
        found->more++;
    else
        found->used += (size_t)snprintf(found->text + found->used, sizeof found->text - found->used, "%sstall: %s",
                                        before, line);
}

/* Workers that reach no scheduling point. */
static TN_LOOKS void find_stuck_workers(struct runtime *rt, struct finding *found)
{
    struct cluster *cl = atomic_load_explicit(&rt->clusters, memory_order_acquire); /* CL0 acquire */
    for (; cl != NULL; cl = cl->next) {
        uint32_t used = atomic_load_explicit(&cl->pub.used, memory_order_acquire); /* U0 acquire */
        for (uint32_t i = 0; i < used; i++) {
            struct worker *w = worker_of(cl->pub.workers[i]);
            bool runs = *(struct fibre *volatile *)&w->current != NULL;
            uint64_t point = (uint64_t) * (volatile uint32_t *)&w->rounds << 32 | *(volatile uint32_t *)&w->ticks;
            w->still = point != w->seen || !runs ? 0 : w->still + 1;
            w->seen = point;
            if (w->still == LOOKS)
                find(found, "worker %u has reached no scheduling point for %lld ms", w->pub.index, found->ms);
        }
    }
}

/* Letter by letter: the C library's functions are watched by the sanitizer. */
static TN_LOOKS void name_of(const struct fibre *f, char name[sizeof f->name])
{
    for (size_t i = 0; i < sizeof f->name; i++)
        name[i] = ((const volatile char *)f->name)[i];
    name[sizeof f->name - 1] = '\0';
}

static void find_starved(struct fibre *f, void *arg)
{
    struct finding *found = arg;
    uint64_t was = atomic_load_explicit(&f->saved_errno, memory_order_relaxed), now; /* relaxed: the CAS decides */
    enum doing doing = fibre_doing(f);
    uint32_t old = (uint32_t)(was >> 32);
    if (doing == DOING_READY && old != 0) {
        char name[sizeof f->name];
        if (found->look - old == LOOKS) {
            name_of(f, name);
            find(found, "fibre '%s' has been ready for %lld ms and did not run", name, found->ms);
        }
        return;
    }
    now = (was & UINT32_MAX) | (doing == DOING_READY ? (uint64_t)found->look << 32 : 0);
    if (now != was)
        /* relaxed: fails if it has run in between, and then there is nothing to mark */
        atomic_compare_exchange_strong_explicit(&f->saved_errno, &was, now, memory_order_relaxed,
                                                memory_order_relaxed);
}

static void *watch(void *runtime)
{
    struct runtime *rt = runtime;
    struct finding found = {.ms = (long long)rt->diagnosis.stall_ms};
    uint64_t parks = 0;
    unsigned quiet = 0;
    diagnose_own_begins();
    tn_time wake = tn_now(), step = (tn_time)rt->diagnosis.stall_ms * 1000000 / LOOKS;
    while (atomic_load_explicit(&rt->diagnosis.stop, memory_order_relaxed) == 0) { /* relaxed: nothing hangs on it */
        wake += step;
        if (wake < tn_now())
            wake = tn_now() + step; /* the whole process had stopped */
        while (tn_now() < wake && atomic_load_explicit(&rt->diagnosis.stop, memory_order_relaxed) == 0)
            tn_park(&rt->diagnosis.stop, 0, wake);
        found.look++;
        found.used = found.more = 0;
        find_stuck_workers(rt, &found);
        each_block(rt, find_starved, &found);
        uint64_t now = 0;
        bool still = workers_idle(rt, &now) && fibres_blocked(rt) && now == parks;
        parks = now;
        quiet = still ? quiet + 1 : 0;
        if (found.used == 0 && quiet == LOOKS && somebody_outside())
            find(&found, "every fibre has been blocked for %lld ms; only a thread outside could wake one", found.ms);
        if (found.more > 0)
            snprintf(found.text + found.used, sizeof found.text - found.used, "\ntenter: stall: and %u more",
                     found.more);
        if (found.used > 0) {
            struct tn_where here;
            TN_HERE(here);
            take();
            dump(STDERR, tn_debug_runtimes, &here, found.text);
            let_go();
        }
    }
    diagnose_own_ends();
    return NULL;
}

/* ---- SIGQUIT, and a dump that is asked for ---- */

enum { QUIT_NS = 1000000000 };
static const tn_time DUMP_NS = UINT64_C(10000000000);

/* Not without end: whoever has the lock may be stuck in writing, or be this very thread, which a signal handler interrupts. */
static bool take_patiently(tn_time patience)
{
    unsigned spins = 0;
    tn_time until = tn_now() + patience;
    while (!try_take()) {
        if (atomic_load_explicit(&holder, memory_order_relaxed) == tn_thread_number() || /* relaxed: see there */
            tn_now() > until)
            return false;
        tn_spin_wait(&spins);
    }
    return true;
}

/* If the process shall die it does, with another dump or without. */
static void quit(const struct tn_where *here)
{
    diagnose_anew();
    bool die = atomic_load_explicit(&quit_die, memory_order_relaxed) != 0; /* relaxed: set before it could come */
    if (take_patiently(QUIT_NS)) {
        die = die || tn_debug_runtimes == NULL; /* a child of fork: what it does by default */
        dump(STDERR, tn_debug_runtimes, here, "SIGQUIT");
        let_go();
    }
    if (die)
        tn_quit();
}

TN_API int tn_dump(int fd)
{
    struct tn_where here;
    TN_HERE(here);
    diagnose_anew();
    if (!take_patiently(DUMP_NS))
        return EBUSY;
    int rc = dump(fd, tn_debug_runtimes, &here, "dump");
    let_go();
    return rc;
}

void diagnose_misuse(struct fibre *self, const char *what)
{
    struct tn_where here;
    TN_HERE(here);
    uintptr_t pc[6];
    unsigned n = tn_backtrace(&here, stack_low(self), stack_high(self), pc, 6);
    struct tn_symbol s = {.function = ""};
    take();                            /* of the symbols */
    for (unsigned i = 1; i < n; i++) { /* the first one that is no part of Tenter */
        s = tn_symbol(pc[i]);
        if (s.function == NULL || strncmp(s.function, "tn_", 3) != 0)
            break;
    }
    tn_message("tenter: fibre '%s' %s%s%s", self->name, what, s.function != NULL && *s.function ? ", in " : "",
               s.function != NULL ? s.function : "");
    tn_symbols_close();
    let_go();
}

/* ---- a runtime begins and ends ---- */

void diagnose_begin(struct runtime *rt, const struct tn_config *config)
{
    struct diagnosis *d = &rt->diagnosis;
    d->layout = tn_debug_layout;
    d->deadlock = config->deadlock;
    d->stall_ms = config->stall_ms;
    d->sigquit = config->sigquit;
    take();
    d->next = tn_debug_runtimes;
    tn_debug_runtimes = rt;
    if (d->sigquit == TN_SIGQUIT_DIE) /* relaxed: under the lock */
        atomic_fetch_add_explicit(&quit_die, 1, memory_order_relaxed);
    if (d->sigquit != TN_SIGQUIT_OFF && on_quit++ == 0)
        tn_on_quit(quit);
    let_go();
    if (d->stall_ms != 0 && tn_thread_create(&d->watchdog, watch, rt) != 0) {
        tn_message("tenter: no thread for the watchdog: stall_ms has no effect");
        d->stall_ms = 0;
    }
}

void diagnose_end(struct runtime *rt)
{
    struct diagnosis *d = &rt->diagnosis;
    if (d->stall_ms != 0) {
        atomic_store_explicit(&d->stop, 1, memory_order_relaxed); /* relaxed: nothing hangs on it */
        tn_unpark(&d->stop, 1);
        tn_thread_join(&d->watchdog);
    }
    take();
    struct runtime **at = &tn_debug_runtimes;
    while (*at != NULL && *at != rt)
        at = &(*at)->diagnosis.next;
    if (*at == rt) { /* else it never began */
        *at = d->next;
        if (d->sigquit == TN_SIGQUIT_DIE) /* relaxed: under the lock */
            atomic_fetch_sub_explicit(&quit_die, 1, memory_order_relaxed);
        if (d->sigquit != TN_SIGQUIT_OFF && --on_quit == 0)
            tn_off_quit();
    }
    let_go();
}
