/* SPDX-License-Identifier: MIT
 *
 * Calls that block the thread (003 §4.4.3): some fibres make calls that sleep in the kernel for a calibrated time, others
 * compute in small steps meanwhile and yield after each. What is done about the calls is a factor: nothing, annotation
 * (tn_blocking), or the runtime's monitor, which knows nothing of them.
 *
 * Check: each call was run once, and no other fibre has lost a step.
 */
#include "bench_tenter.h"
#include "hdr.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NONE, ANNOTATED, MONITOR };

static struct {
    struct bench *b;
    int64_t way, calls, callers, others;
    uint64_t sleep, work, step;            /* ns */
    struct hdr *latency;                   /* pooled over the counted repetitions */
    _Atomic(uint64_t) begun, ended, slept; /* relaxed, all: counts that are read when the fibres have been joined */
    _Atomic(bool) over;                    /* relaxed: a hint to end soon */
} run;

struct other {
    struct hdr *latency;
    uint64_t steps;
};

/* The call: sleeps in the kernel, or, where that is no time at all, only goes there. */
static void *call(void *arg)
{
    if (run.sleep == 0) {
        (void)getppid();
    } else {
        struct timespec ts = {.tv_sec = (time_t)(run.sleep / 1000000000u),
                              .tv_nsec = (long)(run.sleep % 1000000000u)};
        uint64_t start = bench_now();
        while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
            ;
        atomic_fetch_add_explicit(&run.slept, bench_now() - start, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&run.ended, 1, memory_order_relaxed);
    return arg;
}

static void *caller(void *arg)
{
    while (atomic_fetch_add_explicit(&run.begun, 1, memory_order_relaxed) < (uint64_t)run.calls) {
        bench_work(run.work);
        if (run.way == ANNOTATED) {
            int rc = tn_blocking(call, NULL, NULL);
            if (rc != 0)
                bench_die(run.b, BENCH_INTERNAL, "tn_blocking: %s", strerror(rc));
        } else {
            call(NULL);
        }
        tn_yield();
    }
    return arg;
}

static void *other(void *arg)
{
    struct other *o = arg;
    while (!atomic_load_explicit(&run.over, memory_order_relaxed)) {
        bench_work(run.step);
        uint64_t start = bench_now();
        tn_yield();
        hdr_record(o->latency, bench_now() - start);
        o->steps++;
    }
    return arg;
}

static void spawn(tn_fibre **f, void *(*fn)(void *), void *arg)
{
    int rc;
    while ((rc = tn_spawn(f, NULL, fn, arg)) == EAGAIN)
        tn_yield();
    if (rc != 0)
        bench_die(run.b, BENCH_INTERNAL, "tn_spawn: %s", strerror(rc));
}

static void repetition(int rep, struct other *others, tn_fibre **f)
{
    bool counted = !bench_warmup(run.b, rep);
    atomic_store_explicit(&run.begun, 0, memory_order_relaxed);
    atomic_store_explicit(&run.ended, 0, memory_order_relaxed);
    atomic_store_explicit(&run.slept, 0, memory_order_relaxed);
    atomic_store_explicit(&run.over, false, memory_order_relaxed);
    for (int64_t i = 0; i < run.others; i++) {
        others[i].steps = 0;
        hdr_clear(others[i].latency);
    }
    uint64_t start = bench_now();
    for (int64_t i = 0; i < run.others; i++)
        spawn(&f[run.callers + i], other, &others[i]);
    for (int64_t i = 0; i < run.callers; i++)
        spawn(&f[i], caller, NULL);
    for (int64_t i = 0; i < run.callers; i++)
        tn_join(f[i], NULL);
    double seconds = (double)(bench_now() - start) / 1e9;
    atomic_store_explicit(&run.over, true, memory_order_relaxed);
    for (int64_t i = 0; i < run.others; i++)
        tn_join(f[run.callers + i], NULL);
    uint64_t steps = 0, ended = atomic_load_explicit(&run.ended, memory_order_relaxed);
    for (int64_t i = 0; i < run.others; i++) {
        steps += others[i].steps;
        if (others[i].latency->total != others[i].steps)
            bench_invalid(run.b, "a fibre has counted %llu steps and timed %llu", (unsigned long long)others[i].steps,
                          (unsigned long long)others[i].latency->total);
        if (counted)
            hdr_merge(run.latency, others[i].latency);
    }
    if (ended != (uint64_t)run.calls)
        bench_invalid(run.b, "%llu calls were run, not %lld", (unsigned long long)ended, (long long)run.calls);
    bench_sample(run.b, "throughput", "1/s", (double)steps / seconds, rep);
    bench_sample(run.b, "time", "s", seconds, rep);
    if (run.sleep != 0)
        bench_sample(run.b, "slept", "ns",
                     (double)atomic_load_explicit(&run.slept, memory_order_relaxed) / (double)run.calls, rep);
}

static void *all(void *arg)
{
    struct other *others = calloc((size_t)run.others + 1, sizeof *others);
    tn_fibre **f = calloc((size_t)(run.callers + run.others), sizeof(tn_fibre *));
    run.latency = hdr_new();
    bool memory = others != NULL && f != NULL && run.latency != NULL;
    for (int64_t i = 0; memory && i < run.others; i++)
        memory = (others[i].latency = hdr_new()) != NULL;
    if (!memory)
        bench_die(run.b, BENCH_INTERNAL, "no memory");
    int warmup = (int)bench_int(run.b, "warmup");
    for (int rep = 0; rep < bench_reps(run.b); rep++) {
        if (rep == warmup)
            bench_tenter_counters_start();
        repetition(rep, others, f);
    }
    bench_tenter_counters_stop(run.b);
    for (int64_t i = 0; i < run.others; i++)
        free(others[i].latency);
    free(others);
    free(f);
    return arg;
}

/* To the runtime by the environment, where its knobs are known by their names. */
static void knob(const char *name, const char *variable)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)bench_int(run.b, name));
    setenv(variable, text, 1);
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"way", BENCH_CHOICE, "annotated", 0, 0, "none|annotated|monitor", "",
         "what is done about calls that block: nothing, tn_blocking, or the monitor", NULL, 0, 0, false},
        {"sleep", BENCH_INT, "1000", 0, 1e6, NULL, "us", "how long a call sleeps in the kernel; 0: one system call",
         NULL, 0, 0, false},
        {"calls", BENCH_INT, "400", 1, 1e9, NULL, "calls", "calls of one repetition", NULL, 0, 0, false},
        {"callers", BENCH_INT, "8", 1, 10000, NULL, "fibres", "fibres that make the calls", NULL, 0, 0, false},
        {"others", BENCH_INT, "4", 0, 1000, NULL, "fibres", "fibres that compute meanwhile", NULL, 0, 0, false},
        {"work", BENCH_INT, "10000", 0, 1e9, NULL, "ns", "calibrated computation before a call", NULL, 0, 0, false},
        {"step", BENCH_INT, "5000", 0, 1e9, NULL, "ns", "calibrated computation of the others between two yields",
         NULL, 0, 0, false},
        {"pool", BENCH_INT, "64", 1, 4096, NULL, "threads", "annotated: most threads of the pool", NULL, 0, 0, false},
        {"pool-ms", BENCH_INT, "1000", 0, 1e6, NULL, "ms", "annotated: how long such a thread stays idle", NULL, 0, 0,
         false},
        {"monitor-us", BENCH_INT, "200", 1, 1e6, NULL, "us", "monitor: time between two of its looks", NULL, 0, 0,
         false},
    };
    static struct bench b = {.program = "blocking",
                             .about = "fibres that make blocking calls beside fibres that compute",
                             .clock =
                                 "starts just before the fibres are spawned, stops when the last caller has been "
                                 "joined; latency: of a yield of the others, from its start to its return",
                             .takes = BENCH_TAKES_SCHEDULER,
                             .own = own,
                             .n = sizeof own / sizeof *own};
    bench_start(&b, argc, argv);
    run.b = &b;
    run.way = bench_int(&b, "way");
    run.sleep = (uint64_t)bench_int(&b, "sleep") * 1000;
    run.calls = bench_int(&b, "calls");
    run.callers = bench_int(&b, "callers");
    run.others = bench_int(&b, "others");
    run.work = (uint64_t)bench_int(&b, "work");
    run.step = (uint64_t)bench_int(&b, "step");
    knob("pool", "TENTER_POOL");
    knob("pool-ms", "TENTER_POOL_MS");
    if (run.way == MONITOR)
        knob("monitor-us", "TENTER_MONITOR_US");
    else
        setenv("TENTER_MONITOR_US", "0", 1);
    bench_work_calibrate();
    bench_tenter_run(&b, "", all, NULL);
    bench_work_check(&b);
    if (run.others != 0)
        bench_hist(&b, "latency", "ns", run.latency);
    int code = bench_finish(&b);
    free(run.latency);
    return code;
}
