/* SPDX-License-Identifier: MIT
 *
 * How far from the order of arrival does a scheduler run what is ready (003 §4.3.1)? Each of so many fibres spawns the next
 * when it begins, so that a constant number is queued. The rank error of one that begins is how many are queued that were
 * spawned before it: 0 under one exact queue.
 *
 * Spawns and beginnings draw numbers from one counter; afterwards they are gone through in that order. A spawn draws its
 * number just before it, a beginning just after it: with w workers up to w - 1 of each are counted that are only on their way.
 * So the backlog is short by as many, at the most, which `queued` says: with more workers than processors it matters.
 */
#include "bench_tenter.h"
#include "hdr.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t BEGINS = UINT32_C(1) << 31; /* in a number of the log: not a spawn */

static struct bench *bench;
static uint32_t tasks, backlog, workers;
static uint64_t work;
static _Atomic(uint32_t) *event; /* by number: the fibre, and what of it; relaxed: read when all have ended */
static _Atomic(uint32_t) events, spawned, ended;
static _Atomic(uint32_t) kept; /* workers, by tasks that wait for: */
static _Atomic(bool) whole;    /* all of the backlog has been spawned */
static uint32_t *below;        /* a Fenwick tree over the fibres that are queued */
static struct hdr *ranks;

static void note(uint32_t what)
{
    uint32_t i = atomic_fetch_add_explicit(&events, 1, memory_order_relaxed);
    atomic_store_explicit(&event[i], what, memory_order_relaxed);
}

static void *task(void *arg);

static void spawn_next(void)
{
    uint32_t id = atomic_fetch_add_explicit(&spawned, 1, memory_order_relaxed);
    int rc;
    if (id >= tasks)
        return;
    note(id);
    while ((rc = tn_spawn(NULL, NULL, task, (void *)(uintptr_t)id)) == EAGAIN)
        tn_yield();
    if (rc != 0)
        bench_die(bench, BENCH_INTERNAL, "tn_spawn: %s", strerror(rc));
}

/* Until the backlog is whole a task keeps its worker, so that what one spawner puts there is not eaten up by many. It must not
 * keep the last one, which is the spawner's: that has lost it where a spawn runs the child at once, or was refused. */
static void wait_for_whole(void)
{
    bool last = atomic_fetch_add_explicit(&kept, 1, memory_order_relaxed) + 1 >= workers; /* relaxed: a count */
    if (last)
        atomic_fetch_sub_explicit(&kept, 1, memory_order_relaxed); /* relaxed: a count */
    while (!atomic_load_explicit(&whole, memory_order_relaxed))    /* relaxed: only when */
        if (last)
            tn_yield();
        else
            tn_work(200);
    if (!last)
        atomic_fetch_sub_explicit(&kept, 1, memory_order_relaxed); /* relaxed: a count */
}

static void *task(void *arg)
{
    note((uint32_t)(uintptr_t)arg | BEGINS);
    if (!atomic_load_explicit(&whole, memory_order_relaxed)) /* relaxed: only when */
        wait_for_whole();
    spawn_next();
    if (work != 0)
        tn_work(work);
    atomic_fetch_add_explicit(&ended, 1, memory_order_release); /* E0 */
    return NULL;
}

static void add(uint32_t id, uint32_t by)
{
    for (uint32_t i = id + 1; i <= tasks; i += i & -i)
        below[i] += by;
}

static uint32_t queued_before(uint32_t id)
{
    uint32_t n = 0;
    for (uint32_t i = id; i > 0; i -= i & -i)
        n += below[i];
    return n;
}

/* The mean over those that began while the backlog was whole; `hist` takes each. */
static double rank_error(int rep)
{
    double sum = 0;
    uint64_t queued = 0;
    uint32_t there = 0, counted = 0, begun = 0;
    memset(below, 0, (tasks + 1) * sizeof *below);
    for (uint32_t i = 0; i < 2 * tasks; i++) {
        uint32_t what = atomic_load_explicit(&event[i], memory_order_relaxed);
        if (what < BEGINS) {
            add(what, 1);
            there++;
            continue;
        }
        add(what - BEGINS, UINT32_MAX);
        there--;
        if (++begun <= backlog || begun + backlog > tasks)
            continue;
        queued += there;
        uint32_t rank = queued_before(what - BEGINS);
        sum += rank;
        counted++;
        if (!bench_warmup(bench, rep))
            hdr_record(ranks, rank);
    }
    if (there != 0)
        bench_invalid(bench, "repetition %d: %u fibres have not begun", rep, there);
    bench_sample(bench, "queued", "fibres", (double)queued / counted, rep);
    return sum / counted;
}

static void *all(void *arg)
{
    workers = (uint32_t)bench_int(bench, "workers"); /* those in force */
    for (int rep = 0; rep < bench_reps(bench); rep++) {
        if (rep == (int)bench_int(bench, "warmup"))
            bench_tenter_counters_start();
        atomic_store_explicit(&events, 0, memory_order_relaxed);
        atomic_store_explicit(&spawned, 0, memory_order_relaxed);
        atomic_store_explicit(&ended, 0, memory_order_relaxed);
        atomic_store_explicit(&whole, false, memory_order_relaxed);
        bench_region_start(bench, rep);
        uint64_t start = bench_now();
        for (uint32_t i = 0; i < backlog; i++)
            spawn_next();
        atomic_store_explicit(&whole, true, memory_order_relaxed);          /* relaxed: see task() */
        while (atomic_load_explicit(&ended, memory_order_acquire) != tasks) /* E0 */
            tn_sleep(20000);
        uint64_t end = bench_now();
        bench_region_stop();
        bench_sample(bench, "rank", "1", rank_error(rep), rep);
        bench_sample(bench, "throughput", "1/s", (double)tasks * 1e9 / (double)(end - start), rep);
    }
    bench_tenter_counters_stop(bench);
    return arg;
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"tasks", BENCH_INT, "50000", 100, 1e8, NULL, "fibres", "fibres of a repetition", NULL, 0, 0, false},
        {"backlog", BENCH_INT, "1000", 1, 1e6, NULL, "fibres", "how many of them are queued at a time", NULL, 0, 0,
         false},
        {"work", BENCH_INT, "1000", 0, 1e9, NULL, "ns", "calibrated computation of each", NULL, 0, 0, false},
    };
    static struct bench b = {
        .program = "ranks",
        .about = "how many fibres that came before it are still queued when a fibre begins",
        .clock = "from just before the first spawn until the main fibre, which looks every 20 us, has seen all end",
        .takes = BENCH_TAKES_SCHEDULER,
        .own = own,
        .n = sizeof own / sizeof *own};
    bench = &b;
    bench_start(&b, argc, argv);
    tasks = (uint32_t)bench_int(&b, "tasks");
    backlog = (uint32_t)bench_int(&b, "backlog");
    work = (uint64_t)bench_int(&b, "work");
    if (2 * backlog >= tasks)
        bench_die(&b, BENCH_USAGE, "--backlog %u: more than half of --tasks %u", backlog, tasks);
    event = calloc(2 * (size_t)tasks, sizeof *event);
    below = calloc((size_t)tasks + 1, sizeof *below);
    ranks = hdr_new();
    if (event == NULL || below == NULL || ranks == NULL)
        bench_die(&b, BENCH_INTERNAL, "no memory");
    tn_work_calibrate();
    bench_tenter_run(&b, "", all, NULL);
    bench_hist(&b, "rank", "1", ranks);
    int rc = bench_finish(&b);
    free(ranks);
    free(below);
    free((void *)event);
    return rc;
}
