/* SPDX-License-Identifier: MIT
 *
 * Work that arrives at a given rate for workers that are idle in between (000 §3.2.3): what blocking, spinning and
 * spinning for a while cost, in time until a fibre runs and in processor time of the workers.
 *
 * A plain thread outside the runtime, on a processor of its own, spawns a fibre at each moment that is due, evenly
 * spaced. It spins until then (asleep while that is far off), and what it uses is not counted: the workers' time is
 * that of the process less its own.
 */
#include "bench_tenter.h"
#include "hdr.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct bench *bench;
static struct hdr *latency_now, *latency_all;
static tn_cluster *cluster;
static uint64_t *due; /* of each arrival; an arrival's index is its fibre's argument */
static _Atomic(uint64_t) done;

static uint64_t of_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Processor time of all threads but the calling one, which goes on between the two readings: so a difference of two such
 * times may be a microsecond below zero. */
static int64_t others_cpu(void)
{
    return (int64_t)(of_clock(CLOCK_PROCESS_CPUTIME_ID) - of_clock(CLOCK_THREAD_CPUTIME_ID));
}

static double others_cpu_since(int64_t before)
{
    int64_t used = others_cpu() - before;
    return used > 0 ? (double)used : 0;
}

/* What is made of such a time. A simulated machine has no such clock. */
static void sample_cpu(const char *metric, const char *unit, double value, int rep)
{
#if defined(TENTER_SIMULATED)
    (void)unit, (void)value;
    if (rep == 0)
        bench_unavailable(bench, metric, "simulated threads have no processor time");
#else
    bench_sample(bench, metric, unit, value, rep);
#endif
}

/* One worker, so fibres run one after the other, and the histogram has one writer. */
static void *arrival(void *index)
{
    uint64_t now = bench_now(), at = due[(uintptr_t)index];
    hdr_record(latency_now, now > at ? now - at : 0);
    atomic_fetch_add_explicit(&done, 1, memory_order_release); /* A0 */
    return NULL;
}

static void sleep_ns(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    nanosleep(&t, NULL);
}

static void wait_until(uint64_t when)
{
    for (uint64_t now; (now = bench_now()) < when;) {
        if (when - now > 1000000)
            sleep_ns(when - now - 500000);
        else
            bench_relax();
    }
}

static void repetition(int rep)
{
    uint64_t n = (uint64_t)(bench_real(bench, "duration") * bench_real(bench, "rate"));
    double interval = 1e9 / bench_real(bench, "rate");
    n = n < 20 ? 20 : n;
    due = calloc(n, sizeof *due);
    if (due == NULL)
        bench_die(bench, BENCH_INTERNAL, "no memory");
    hdr_clear(latency_now);
    atomic_store_explicit(&done, 0, memory_order_relaxed); /* no fibre is about */
    struct tn_attr attr = {.cluster = cluster};
    int64_t before = others_cpu();
    uint64_t late, start = bench_now() + 20000;
    for (uint64_t i = 0; i < n; i++) {
        int rc;
        due[i] = start + (uint64_t)((double)i * interval);
        wait_until(due[i]);
        while ((rc = tn_spawn(NULL, &attr, arrival, (void *)(uintptr_t)i)) == EAGAIN)
            bench_relax();
        if (rc != 0)
            bench_die(bench, BENCH_INTERNAL, "tn_spawn: %s", strerror(rc));
    }
    late = bench_now() - start;
    while (atomic_load_explicit(&done, memory_order_acquire) != n) /* A0 */
        bench_relax();
    wait_until(start + (uint64_t)((double)n * interval)); /* what follows the last one belongs to it */
    double cpu = others_cpu_since(before);
    bench_sample(bench, "latency_median", "ns", (double)hdr_percentile(latency_now, 50), rep);
    sample_cpu("cpu", "ns", cpu / (double)n, rep);
    if (!bench_warmup(bench, rep))
        hdr_merge(latency_all, latency_now);
    if (!bench_warmup(bench, rep) && (double)late > 1.05 * (double)n * interval + 1e6)
        bench_saturated(bench, "repetition %d: arrivals fell behind: %.0f ns apart where %.0f were due", rep,
                        (double)late / (double)n, interval);
    free(due);
}

/* What the worker uses while nothing arrives, as a share of a processor. */
static void idle(int rep)
{
    int64_t before = others_cpu();
    uint64_t start = bench_now();
    sleep_ns((uint64_t)(bench_real(bench, "rest") * 1e9));
    double cpu = others_cpu_since(before);
    sample_cpu("idle_share", "1", cpu / (double)(bench_now() - start), rep);
}

static void generator(void)
{
    bench_pin(1);
    for (int rep = 0; rep < bench_reps(bench); rep++) {
        bench_region_start(bench, rep);
        repetition(rep);
        bench_region_stop();
        idle(rep);
    }
}

static void *first(void *arg)
{
    cluster = tn_cluster_self();
    bench_tenter_outside(bench, generator);
    return arg;
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"workers", BENCH_INT, "1", 1, 1, NULL, "threads", "one, on a processor beside that of the arrivals", NULL, 0,
         0, false},
        {"rate", BENCH_REAL, "1000", 1, 1e6, NULL, "1/s", "arrivals, evenly spaced", NULL, 0, 0, false},
        {"duration", BENCH_REAL, "0.2", 1e-3, 3600, NULL, "s", "of the arrivals of a repetition; 20 at least", NULL,
         0, 0, false},
        {"rest", BENCH_REAL, "0.1", 1e-3, 3600, NULL, "s", "without arrivals, after each repetition", NULL, 0, 0,
         false},
        BENCH_TENTER_IDLE,
    };
    static struct bench b = {.program = "arrivals",
                             .about = "fibres arrive at a given rate for a worker that is idle in between",
                             .clock =
                                 "latency: from when an arrival was due to the first instruction of its fibre; cpu: "
                                 "processor time of the worker for each arrival",
                             .takes = BENCH_TAKES_SCHEDULER,
                             .own = own,
                             .n = sizeof own / sizeof *own};
    bench = &b;
    bench_start(&b, argc, argv);
    if (bench_processors() < 2 && !bench_int(&b, "print-config"))
        bench_die(&b, BENCH_UNSUPPORTED, "the arrivals need a processor beside the worker's");
    latency_now = hdr_new();
    latency_all = hdr_new();
    if (latency_now == NULL || latency_all == NULL)
        bench_die(&b, BENCH_INTERNAL, "no memory");
    bench_tenter_run(&b, "", first, NULL);
    bench_hist(&b, "latency", "ns", latency_all);
    return bench_finish(&b);
}
