/* SPDX-License-Identifier: MIT
 *
 * Ways to yield (003 §4.4.4): fibres that wait by yielding for tasks that must run, and lie under them on a stack.
 *
 * A livelock is told by counting, never by time: each worker has passed `--bound` scheduling points (a hog: rounds of
 * its loop) since a task has last run, and none has run. A worker that has lost its processor passes none. It is a
 * result (metric livelock), after which all give up.
 */
#include "bench_tenter.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4096, STEP = 64 };

/* What one thread has passed in vain. Its thread writes, anyone reads; relaxed: plain counts, and a verdict that comes a
 * moment later is as good. */
struct slot {
    _Alignas(128) _Atomic(uint64_t) vain, seen;
    _Atomic(uint32_t) round; /* in which a waiting fibre has run here */
};

struct waiter {
    tn_fibre *fibre;
    uint64_t yields;
};

static struct bench *bench;
static uint64_t blocked, tasks, hogs, bound, hard, turns, work;
static struct waiter *waiters;
static tn_fibre **task_fibres;
static struct slot slots[SLOTS];
static _Atomic(uint32_t) slots_used, round_now;
static _Atomic(uint64_t) done, last_end;
static _Atomic(bool) there, livelock; /* the tasks are ready; have been in vain */

/* Not inlined: the address of a thread-local must not be kept where a fibre may move. */
__attribute__((noinline)) static struct slot *own_slot(void)
{
    static _Thread_local struct slot *own;
    if (own == NULL) {
        uint32_t i = atomic_fetch_add_explicit(&slots_used, 1, memory_order_relaxed);
        if (i >= SLOTS)
            bench_die(bench, BENCH_INTERNAL, "more than %d threads", SLOTS);
        own = &slots[i];
    }
    return own;
}

static bool over(void)
{
    return atomic_load_explicit(&done, memory_order_acquire) == tasks || /* T0 */
           atomic_load_explicit(&livelock, memory_order_relaxed);
}

/* This worker has passed `n` more points. */
static void note(uint64_t n)
{
    struct slot *s = own_slot();
    uint64_t ran = atomic_load_explicit(&done, memory_order_relaxed), all = 0;
    uint64_t vain = atomic_load_explicit(&s->vain, memory_order_relaxed) + n;
    if (atomic_load_explicit(&s->seen, memory_order_relaxed) != ran ||
        !atomic_load_explicit(&there, memory_order_relaxed))
        vain = 0;
    atomic_store_explicit(&s->seen, ran, memory_order_relaxed);
    atomic_store_explicit(&s->vain, vain, memory_order_relaxed);
    if (vain < bound)
        return;
    for (uint32_t i = 0; i < SLOTS && i < atomic_load_explicit(&slots_used, memory_order_relaxed); i++)
        all += atomic_load_explicit(&slots[i].vain, memory_order_relaxed) >= bound &&
               atomic_load_explicit(&slots[i].seen, memory_order_relaxed) == ran;
    if (all == (uint64_t)bench_int(bench, "workers"))
        atomic_store_explicit(&livelock, true, memory_order_relaxed);
}

static void yield(uint64_t n)
{
    if (hard != 0 && n % hard == 0)
        tn_yield_hard();
    else
        tn_yield();
}

/* ---- the fibres ---- */

static void *task(void *arg)
{
    if (work != 0)
        tn_work(work);
    atomic_store_explicit(&last_end, bench_now(), memory_order_relaxed); /* published by T0 */
    atomic_fetch_add_explicit(&done, 1, memory_order_acq_rel);           /* T0 */
    return arg;
}

static void *wait_for_tasks(void *arg)
{
    struct waiter *w = arg;
    atomic_store_explicit(&own_slot()->round, atomic_load_explicit(&round_now, memory_order_relaxed),
                          memory_order_relaxed);
    while (!over()) {
        yield(++w->yields);
        if (w->yields % STEP == 0)
            note(STEP);
    }
    return arg;
}

static void *take_turns(void *arg)
{
    for (uint64_t i = 1; i <= turns / blocked; i++)
        yield(i);
    return arg;
}

static tn_fibre *spawn(void *(*fn)(void *), void *arg)
{
    tn_fibre *f = NULL;
    int rc;
    while ((rc = tn_spawn(&f, NULL, fn, arg)) == EAGAIN)
        tn_yield();
    if (rc != 0)
        bench_die(bench, BENCH_INTERNAL, "tn_spawn: %s", strerror(rc));
    return f;
}

static void spawn_tasks(void)
{
    for (uint64_t i = 0; i < tasks; i++)
        task_fibres[i] = spawn(task, NULL);
    atomic_store_explicit(&there, true, memory_order_relaxed);
}

/* A hog computes on its worker until all is over. The first has the tasks on its own queue, once fibres that wait keep
 * the other workers busy. */
static void *hog(void *arg)
{
    uint32_t now = atomic_load_explicit(&round_now, memory_order_relaxed);
    uint64_t others = 0, rounds = 0;
    while (arg != NULL && others < (uint64_t)bench_int(bench, "workers") - hogs) {
        others = 0;
        for (uint32_t i = 0; i < SLOTS && i < atomic_load_explicit(&slots_used, memory_order_relaxed); i++)
            others += atomic_load_explicit(&slots[i].round, memory_order_relaxed) == now;
        bench_relax();
    }
    if (arg != NULL)
        spawn_tasks();
    while (!over()) {
        bench_relax();
        if (++rounds % STEP == 0)
            note(STEP);
    }
    return arg;
}

/* ---- a repetition ---- */

static void unblock(int rep)
{
    tn_fibre **hog_fibres = calloc(hogs + 1, sizeof(tn_fibre *));
    uint64_t yields = 0, start = bench_now();
    if (hog_fibres == NULL)
        bench_die(bench, BENCH_INTERNAL, "no memory");
    for (uint32_t i = 0; i < SLOTS; i++)
        atomic_store_explicit(&slots[i].vain, 0, memory_order_relaxed); /* nobody is about */
    atomic_store_explicit(&done, 0, memory_order_relaxed);
    atomic_store_explicit(&there, false, memory_order_relaxed);
    atomic_store_explicit(&livelock, false, memory_order_relaxed);
    atomic_store_explicit(&round_now, (uint32_t)rep + 1, memory_order_relaxed);
    if (hogs == 0)
        spawn_tasks(); /* below the others on the stack */
    for (uint64_t i = 0; i < blocked; i++) {
        waiters[i].yields = 0;
        waiters[i].fibre = spawn(wait_for_tasks, &waiters[i]);
    }
    for (uint64_t i = 0; i < hogs; i++)
        hog_fibres[i] = spawn(hog, i == 0 ? hog_fibres : NULL);
    for (uint64_t i = 0; i < hogs; i++)
        tn_join(hog_fibres[i], NULL);
    for (uint64_t i = 0; i < blocked; i++) {
        tn_join(waiters[i].fibre, NULL);
        yields += waiters[i].yields;
    }
    bool gave_up = atomic_load_explicit(&livelock, memory_order_relaxed);
    uint64_t end = atomic_load_explicit(&last_end, memory_order_relaxed);
    for (uint64_t i = 0; i < tasks; i++)
        tn_join(task_fibres[i], NULL);
    free(hog_fibres);
    bench_sample(bench, "livelock", "1", gave_up, rep);
    if (!gave_up) {
        bench_sample(bench, "throughput", "1/s", (double)tasks * 1e9 / (double)(end - start), rep);
        bench_sample(bench, "yields", "1", (double)yields / (double)tasks, rep);
    }
    if (atomic_load_explicit(&done, memory_order_acquire) != tasks) /* T0 */
        bench_invalid(bench, "repetition %d: a task has not run", rep);
}

static void cost(int rep)
{
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < blocked; i++)
        waiters[i].fibre = spawn(take_turns, NULL);
    for (uint64_t i = 0; i < blocked; i++)
        tn_join(waiters[i].fibre, NULL);
    bench_sample(bench, "yield", "ns", (double)(bench_now() - start) / (double)(turns / blocked * blocked), rep);
}

static void *all(void *arg)
{
    for (int rep = 0; rep < bench_reps(bench); rep++) {
        if (rep == (int)bench_int(bench, "warmup"))
            bench_tenter_counters_start();
        bench_region_start(bench, rep);
        unblock(rep);
        if (turns >= blocked)
            cost(rep);
        bench_region_stop();
    }
    bench_tenter_counters_stop(bench);
    return arg;
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"blocked", BENCH_INT, "8", 1, 100000, NULL, "fibres",
         "fibres that wait by yielding until all tasks have run", NULL, 0, 0, false},
        {"tasks", BENCH_INT, "1", 1, 100000, NULL, "tasks", "what must run; spawned before the others", NULL, 0, 0,
         false},
        {"work", BENCH_INT, "0", 0, 1e9, NULL, "ns", "calibrated computation of each task", NULL, 0, 0, false},
        {"hogs", BENCH_INT, "0", 0, 4095, NULL, "fibres",
         "fibres that keep their worker until all tasks have run; the tasks are then spawned by the first of them",
         NULL, 0, 0, false},
        {"hard", BENCH_INT, "0", 0, 1e9, NULL, "yields",
         "every so many yields of a fibre one is hard; 0: only as the runtime has it", NULL, 0, 0, false},
        {"turns", BENCH_INT, "200000", 0, 1e9, NULL, "yields",
         "yields, of all these fibres together, that are timed after that, when nobody waits; 0: none", NULL, 0, 0,
         false},
        {"bound", BENCH_INT, "100000", 1, 1e12, NULL, "points",
         "a livelock: each worker passes so many scheduling points, and no task runs", NULL, 0, 0, false},
    };
    static struct bench b = {
        .program = "yield",
        .about = "fibres yield until tasks have run; which ways to yield let them",
        .clock =
            "throughput: from just before the tasks are spawned to the end of the last; yield: from just before the "
            "fibres are spawned to the end of the last, for each yield",
        .takes = BENCH_TAKES_SCHEDULER,
        .own = own,
        .n = sizeof own / sizeof *own};
    bench = &b;
    bench_start(&b, argc, argv);
    blocked = (uint64_t)bench_int(&b, "blocked");
    tasks = (uint64_t)bench_int(&b, "tasks");
    hogs = (uint64_t)bench_int(&b, "hogs");
    hard = (uint64_t)bench_int(&b, "hard");
    turns = (uint64_t)bench_int(&b, "turns");
    bound = (uint64_t)bench_int(&b, "bound");
    work = (uint64_t)bench_int(&b, "work");
    uint64_t workers = (uint64_t)bench_int(&b, "workers");
    if (hogs >= workers)
        bench_die(&b, BENCH_USAGE, "--hogs %d leaves no worker of %d", (int)hogs, (int)workers);
    if (hogs != 0 && blocked < workers - hogs)
        bench_die(&b, BENCH_USAGE, "--hogs: --blocked must be at least %d, to keep the other workers busy",
                  (int)(workers - hogs));
    waiters = calloc(blocked, sizeof *waiters);
    task_fibres = calloc(tasks, sizeof(tn_fibre *));
    if (waiters == NULL || task_fibres == NULL)
        bench_die(&b, BENCH_INTERNAL, "no memory");
    if (work != 0)
        tn_work_calibrate();
    bench_tenter_run(&b, "", all, NULL);
    free(waiters);
    free(task_fibres);
    return bench_finish(&b);
}
