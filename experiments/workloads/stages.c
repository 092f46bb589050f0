/* SPDX-License-Identifier: MIT
 *
 * A pipeline (003 §4.3.2): each item is a fibre that computes for so long in each of its stages, which it says by tn_stage.
 * Under a module without stages it goes through where it is. What the stages cost may change in the middle (--then).
 *
 * Closed loop: --inflight items go round and round. Open loop (--rate): a source on a worker and in a cluster of its own starts
 * items when they are due; those that find --backlog others in the system, or are refused (--full), are shed, and counted.
 * Check: no item has gone through more or fewer stages than there are.
 */
#include "bench_tenter.h"
#include "hdr.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { STAGES = 9, MS = 1000000, COST_MAX_S = 60, RATE_MAX = 10000000 };

static struct bench *bench;
static uint64_t cost[2][STAGES]; /* before and after the step */
static unsigned stages;
static uint64_t interval; /* ns between two items; 0: closed loop */
/* relaxed, all: counts that are read with the clock, and flags; the latencies are read when all has ended */
static _Atomic(unsigned) phase;
static _Atomic(bool) over;
static _Atomic(uint64_t) done, passed, there, shed, due_items, peak;
static struct hdr *latency;
static _Atomic(uint64_t) *took; /* by item, ns; 0: shed */
static uint64_t room;

static uint64_t now_done(void)
{
    return atomic_load_explicit(&done, memory_order_relaxed);
}

static void pass(void)
{
    const uint64_t *mine = cost[atomic_load_explicit(&phase, memory_order_relaxed)];
    for (unsigned s = 0; s < stages; s++) {
        int rc = tn_stage(s);
        if (rc != 0)
            bench_die(bench, BENCH_USAGE, "stage %u: %s; the scheduler has fewer stages than --cost", s,
                      strerror(rc));
        tn_work(mine[s]);
    }
    atomic_fetch_add_explicit(&passed, stages, memory_order_relaxed);
    atomic_fetch_add_explicit(&done, 1, memory_order_relaxed);
}

static void *go_round(void *arg)
{
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        pass();
        tn_yield(); /* a module without stages has not switched: as many items as workers would keep these for ever */
    }
    return arg;
}

static uint64_t first_due;

static void *once(void *item)
{
    uint64_t i = (uintptr_t)item;
    pass();
    atomic_store_explicit(&took[i], tn_now() - (first_due + i * interval), memory_order_relaxed);
    atomic_fetch_sub_explicit(&there, 1, memory_order_release); /* T0 */
    return NULL;
}

static void *source(void *cluster)
{
    uint64_t i = 0, most = (uint64_t)bench_int(bench, "backlog");
    struct tn_attr attr = {.cluster = cluster, .full = (int)bench_int(bench, "full")};
    for (; i < room && !atomic_load_explicit(&over, memory_order_relaxed); i++) {
        uint64_t due = first_due + i * interval;
        if (due > tn_now() + 100000)
            tn_sleep_until(due - 50000, NULL);
        while (tn_now() < due)
            tn_yield();
        atomic_store_explicit(&took[i], 0, memory_order_relaxed);
        uint64_t others = atomic_fetch_add_explicit(&there, 1, memory_order_relaxed);
        if (others > atomic_load_explicit(&peak, memory_order_relaxed)) /* relaxed: its own until it is joined */
            atomic_store_explicit(&peak, others, memory_order_relaxed);
        if (others >= most || tn_spawn(NULL, &attr, once, (void *)(uintptr_t)i) != 0) {
            atomic_fetch_sub_explicit(&there, 1, memory_order_relaxed);
            atomic_fetch_add_explicit(&shed, 1, memory_order_relaxed);
        }
    }
    atomic_store_explicit(&due_items, i, memory_order_relaxed);
    return NULL;
}

/* Items a second from now on, for `ms`. */
static double measure(int64_t ms)
{
    uint64_t start = tn_now(), before = now_done();
    tn_sleep((uint64_t)ms * MS);
    return (double)(now_done() - before) * 1e9 / (double)(tn_now() - start);
}

static void repetition(int rep, tn_cluster *apart)
{
    int64_t ms = bench_int(bench, "ms"), settle = bench_int(bench, "settle");
    size_t n = interval != 0 ? 1 : (size_t)bench_int(bench, "inflight");
    tn_fibre **f = calloc(n, sizeof *f);
    if (f == NULL)
        bench_die(bench, BENCH_INTERNAL, "no memory");
    atomic_store(&phase, 0);
    atomic_store(&over, false);
    atomic_store(&done, 0);
    atomic_store(&passed, 0);
    atomic_store(&shed, 0);
    atomic_store(&peak, 0);
    first_due = tn_now() + 100000;
    for (size_t i = 0; i < n; i++) {
        /* What goes round is in the system however full it is: to wait for room here might be to wait for ever. */
        struct tn_attr attr = {.cluster = interval != 0 ? apart : tn_cluster_self(), .full = TN_FULL_OVERFLOW};
        int rc = tn_spawn(&f[i], &attr, interval != 0 ? source : go_round, tn_cluster_self());
        if (rc != 0)
            bench_die(bench, BENCH_INTERNAL, "tn_spawn: %s", strerror(rc));
    }
    bench_region_start(bench, rep);
    tn_sleep((uint64_t)settle * MS);
    if (bench_given(bench, "then")) {
        bench_sample(bench, "before", "1/s", measure(ms), rep);
        atomic_store(&phase, 1);
        tn_sleep((uint64_t)settle * MS);
    }
    bench_sample(bench, "throughput", "1/s", measure(ms), rep);
    bench_region_stop();
    uint64_t ended = tn_now();
    atomic_store(&over, true);
    for (size_t i = 0; i < n; i++)
        tn_join(f[i], NULL);
    while (interval != 0 && atomic_load_explicit(&there, memory_order_acquire) != 0) /* T0 */
        tn_sleep(100000);
    uint64_t items = atomic_load(&due_items);
    for (uint64_t i = 0; interval != 0 && i < items; i++)
        if (took[i] != 0 && !bench_warmup(bench, rep))
            hdr_record(latency, took[i]);
    if (interval != 0)
        bench_sample(bench, "peak", "items", (double)atomic_load(&peak), rep);
    if (interval != 0 && items != 0)
        bench_sample(bench, "shed", "1", (double)atomic_load(&shed) / (double)items, rep);
    uint64_t due = interval == 0 || ended < first_due ? 0 : (ended - first_due) / interval;
    /* That a source which waits for room falls behind is what it waits for. */
    if (!bench_warmup(bench, rep) && bench_int(bench, "full") != TN_FULL_WAIT &&
        (double)items < 0.95 * (double)(due < room ? due : room))
        bench_saturated(bench, "repetition %d: %" PRIu64 " items came where %" PRIu64 " were due", rep, items, due);
    if (atomic_load(&passed) != now_done() * stages)
        bench_invalid(bench, "repetition %d: items have not gone through all stages", rep);
    free(f);
}

static void *all(void *arg)
{
    tn_cluster *apart = NULL;
    struct tn_config config = TN_CONFIG_INIT;
    config.workers = config.slots = 1;
    if (interval != 0 && tn_cluster_create(NULL, &config, &apart) != 0)
        bench_die(bench, BENCH_INTERNAL, "no cluster for the source");
    for (int rep = 0; rep < bench_reps(bench); rep++) {
        if (rep == (int)bench_int(bench, "warmup"))
            bench_tenter_counters_start();
        repetition(rep, apart);
    }
    bench_tenter_counters_stop(bench);
    return arg;
}

/* "1:8:1" times the unit. Nine digits at most, so that no product is more than 64 bits hold: strtoul would take a minus,
 * and of what is too large it makes the greatest number. */
static unsigned parse(const char *text, uint64_t unit, uint64_t out[STAGES])
{
    unsigned n = 0;
    for (size_t digits; n < STAGES; text += digits + 1) {
        digits = strspn(text, "0123456789");
        if (digits == 0 || digits > 9 || (text[digits] != ':' && text[digits] != '\0'))
            bench_die(bench, BENCH_USAGE, "costs are numbers of up to nine digits with colons between, as 1:8:1");
        out[n++] = (uint64_t)strtoul(text, NULL, 10) * unit;
        if (out[n - 1] > (uint64_t)COST_MAX_S * 1000 * MS)
            bench_die(bench, BENCH_USAGE, "a stage may cost %d s at most; --unit times %.*s is more", COST_MAX_S,
                      (int)digits, text);
        if (text[digits] == '\0')
            return n;
    }
    bench_die(bench, BENCH_USAGE, "at most %d stages", STAGES);
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"cost", BENCH_TEXT, "1:1:1", 0, 0, NULL, "units", "what each stage computes", NULL, 0, 0, false},
        {"then", BENCH_TEXT, NULL, 0, 0, NULL, "units", "the same after a step in the middle", NULL, 0, 0, false},
        {"unit", BENCH_INT, "2000", 1, 1e9, NULL, "ns", "of the costs", NULL, 0, 0, false},
        {"inflight", BENCH_INT, "200", 1, 1e6, NULL, "items", "closed loop: items that go round", NULL, 0, 0, false},
        {"backlog", BENCH_INT, "10000", 1, 1e6, NULL, "items", "open loop: the most that may be in the system", NULL,
         0, 0, false},
        {"full", BENCH_CHOICE, "refuse", 0, 0, "refuse|wait|overflow", "",
         "open loop: where a module that refuses has no room, items "
         "are shed, or wait, or are put elsewhere",
         NULL, 0, 0, false},
        {"ms", BENCH_INT, "100", 1, 100000, NULL, "ms", "for how long is measured", NULL, 0, 0, false},
        {"settle", BENCH_INT, "100", 0, 100000, NULL, "ms", "for how long is not, at first and after the step", NULL,
         0, 0, false},
    };
    static struct bench b = {
        .program = "stages",
        .about = "items go through the stages of a pipeline",
        .clock = "throughput: for --ms, from --settle after the start or the step; latency from when an "
                 "item was due to its end",
        .takes = BENCH_TAKES_SCHEDULER | BENCH_TAKES_RATE,
        .own = own,
        .n = sizeof own / sizeof *own};
    bench = &b;
    bench_start(&b, argc, argv);
    stages = parse(bench_text(&b, "cost"), (uint64_t)bench_int(&b, "unit"), cost[0]);
    if (bench_given(&b, "then") && parse(bench_text(&b, "then"), (uint64_t)bench_int(&b, "unit"), cost[1]) != stages)
        bench_die(&b, BENCH_USAGE, "--then has not as many stages as --cost");
    if (bench_given(&b, "rate") &&
        bench_real(&b, "rate") > RATE_MAX) /* from 1e9 on the interval is 0, a closed loop */
        bench_die(&b, BENCH_USAGE, "--rate %g: at most %d here, since items come a whole number of ns apart",
                  bench_real(&b, "rate"), RATE_MAX);
    interval = bench_given(&b, "rate") ? (uint64_t)(1e9 / bench_real(&b, "rate")) : 0;
    if (interval != 0) {
        room = 4 * (uint64_t)(bench_int(&b, "ms") + bench_int(&b, "settle")) * MS / interval + 1000;
        took = calloc(room, sizeof *took);
        latency = hdr_new();
        if (took == NULL || latency == NULL)
            bench_die(&b, BENCH_INTERNAL, "no memory");
    }
    tn_work_calibrate();
    bench_tenter_run(&b, "", all, NULL);
    if (interval != 0)
        bench_hist(&b, "latency", "ns", latency);
    int rc = bench_finish(&b);
    free((void *)took);
    free(latency);
    return rc;
}
