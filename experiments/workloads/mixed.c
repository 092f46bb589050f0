/* SPDX-License-Identifier: MIT
 *
 * Work that somebody waits for beside work of which there is always more: in two clusters of one process, each under a
 * module of its own (003 §1.1), or in one.
 *
 * Batch: fibres that compute for --work and yield, for ever. Requests: one at each moment that is due, evenly spaced, a
 * fibre that computes for --request; they are spawned by a fibre of their own cluster, which sleeps while the next one is
 * far off and yields while it is near. --urgent of the workers serve the requests' cluster, the others the batch's; with
 * --urgent 0 there is one cluster, all workers in it. Requests and who spawns them are a step more urgent than the batch
 * (tn_attr.priority), where the module heeds that.
 *
 * Check: each request ran once, in its cluster, and so did each step of the batch.
 */
#include "bench_tenter.h"
#include "hdr.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct bench *bench;
static unsigned workers, urgent;
static uint64_t batch, work, request, requests;
static double interval;
static tn_cluster *of_batch, *of_requests;
static tn_waiter gone;

/* What has run where: a slot a thread, which alone writes it. */
enum { SLOTS = 4096, NEAR_NS = 100000 };
struct slot {
    _Alignas(128) struct hdr *latency;
};
static struct slot slots[SLOTS];
static _Atomic(uint32_t) slots_used;
static struct hdr *latency_all;

static _Alignas(128) _Atomic(uint64_t) left; /* requests, and fibres of the batch, that have not ended */
static _Alignas(128) _Atomic(uint64_t) steps;
static _Alignas(128) _Atomic(uint64_t) astray;
static _Atomic(bool) stop;

/* Not inlined: the address of a thread-local must not be kept where a fibre may move. */
__attribute__((noinline)) static struct hdr *own_latency(void)
{
    static _Thread_local struct slot *own;
    if (own == NULL) {
        uint32_t i =
            atomic_fetch_add_explicit(&slots_used, 1, memory_order_relaxed); /* relaxed: a number of its own */
        if (i >= SLOTS || (slots[i].latency = hdr_new()) == NULL)
            bench_die(bench, BENCH_INTERNAL, "no slot for one more thread");
        own = &slots[i];
    }
    return own->latency;
}

static void is_in(const tn_cluster *cluster)
{
    if (tn_cluster_self() != cluster)
        atomic_fetch_add_explicit(&astray, 1, memory_order_relaxed); /* relaxed: a number, read at the end */
}

static void end(void)
{
    if (atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel) == 1) /* M1 */
        tn_wake(gone);
}

static void spawn(tn_cluster *cluster, int priority, void *(*fn)(void *), void *arg)
{
    const struct tn_attr attr = {.cluster = cluster, .detached = true, .priority = priority};
    int rc;
    while ((rc = tn_spawn(NULL, &attr, fn, arg)) == EAGAIN)
        tn_yield();
    if (rc != 0)
        bench_die(bench, BENCH_INTERNAL, "tn_spawn: %s", strerror(rc));
}

static void *compute(void *arg)
{
    uint64_t mine = 0;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) { /* relaxed: a step more or less */
        bench_work(work);
        mine++;
        tn_yield();
    }
    is_in(of_batch);
    atomic_fetch_add_explicit(&steps, mine, memory_order_relaxed); /* relaxed: published by M1 */
    end();
    return arg;
}

/* `at`: when it was due, an integer in the pointer's place. */
static void *serve(void *at)
{
    bench_work(request);
    uint64_t now = bench_now(), due = (uint64_t)(uintptr_t)at;
    hdr_record(own_latency(), now > due ? now - due : 0);
    is_in(of_requests);
    end();
    return NULL;
}

/* All that is due; then the batch may stop. `took`: how long that was. */
static void *send(void *took)
{
    uint64_t start = bench_now() + NEAR_NS;
    for (uint64_t i = 0; i < requests; i++) {
        uint64_t due = start + (uint64_t)((double)i * interval);
        for (uint64_t now; (now = bench_now()) < due;) {
            if (due - now > 2 * NEAR_NS)
                tn_sleep_until(tn_now() + (due - now) - NEAR_NS, NULL);
            else
                tn_yield();
        }
        spawn(of_requests, 1, serve, (void *)(uintptr_t)due);
    }
    *(uint64_t *)took = bench_now() - start;
    atomic_store_explicit(&stop, true, memory_order_relaxed); /* relaxed: a step more or less */
    end();
    return NULL;
}

static void repetition(int rep)
{
    static uint64_t took;
    uint64_t computing = batch * (workers - urgent);
    atomic_store_explicit(&left, requests + computing + 1,
                          memory_order_relaxed); /* relaxed, all: no fibre is about */
    atomic_store_explicit(&steps, 0, memory_order_relaxed);
    atomic_store_explicit(&stop, false, memory_order_relaxed);
    for (uint32_t i = 0; i < atomic_load_explicit(&slots_used, memory_order_relaxed); i++)
        hdr_clear(slots[i].latency);
    gone = tn_wait_prepare();
    bench_region_start(bench, rep);
    uint64_t begin = bench_now();
    for (uint64_t i = 0; i < computing; i++)
        spawn(of_batch, 0, compute, NULL);
    spawn(of_requests, 1, send, &took);
    tn_wait(TN_FOREVER, NULL);
    uint64_t ns = bench_now() - begin;
    bench_region_stop();
    struct hdr *latency = hdr_new();
    if (latency == NULL)
        bench_die(bench, BENCH_INTERNAL, "no memory");
    for (uint32_t i = 0; i < atomic_load_explicit(&slots_used, memory_order_relaxed); i++) /* relaxed: after M1 */
        hdr_merge(latency, slots[i].latency);
    uint64_t wrong = atomic_load_explicit(&astray, memory_order_relaxed); /* relaxed: after M1 */
    if (wrong != 0 || latency->total != requests)
        bench_invalid(bench, "%" PRIu64 " of %" PRIu64 " requests ran, %" PRIu64 " fibres in another cluster",
                      latency->total, requests, wrong);
    bench_sample(bench, "throughput", "1/s", (double)atomic_load(&steps) * 1e9 / (double)ns, rep);
    bench_sample(bench, "latency_median", "ns", (double)hdr_percentile(latency, 50), rep);
    if (!bench_warmup(bench, rep)) {
        hdr_merge(latency_all, latency);
        if ((double)took > 1.05 * (double)requests * interval + 1e6)
            bench_saturated(bench, "repetition %d: requests fell behind: %.0f ns apart where %.0f were due", rep,
                            (double)took / (double)requests, interval);
    }
    free(latency);
}

static void *all(void *arg)
{
    of_batch = of_requests = tn_cluster_self();
    if (urgent != 0) {
        struct tn_config config = TN_CONFIG_INIT;
        config.workers = urgent;
        config.pin = bench_int(bench, "pin");
        config.scheduler = bench_text(bench, "urgent-scheduler"); /* NULL: as the first cluster */
        if (config.scheduler == NULL)
            config.scheduler = bench_text(bench, "scheduler");
        int rc = tn_cluster_create(NULL, &config, &of_requests);
        if (rc != 0)
            bench_die(bench, rc == EINVAL ? BENCH_USAGE : BENCH_INTERNAL, "no second cluster: %s", strerror(rc));
    }
    bench_tenter_repeat(bench, repetition);
    return arg;
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"urgent", BENCH_INT, "1", 0, 1024, NULL, "threads",
         "of the workers: those of the requests' cluster; 0: one cluster for all", NULL, 0, 0, false},
        {"urgent-scheduler", BENCH_TEXT, NULL, 0, 0, NULL, "",
         "module and knobs of the requests' cluster; without it those of the batch's", NULL, 0, 0, false},
        {"rate", BENCH_REAL, "1000", 1, 1e7, NULL, "1/s", "requests, evenly spaced", NULL, 0, 0, false},
        {"request", BENCH_INT, "5000", 0, 1e9, NULL, "ns", "computation of a request", NULL, 0, 0, false},
        {"batch", BENCH_INT, "16", 0, 1e6, NULL, "fibres", "of the batch, a worker of its cluster", NULL, 0, 0,
         false},
        {"work", BENCH_INT, "20000", 1, 1e9, NULL, "ns", "computation of the batch between two yields", NULL, 0, 0,
         false},
        {"duration", BENCH_REAL, "0.2", 1e-4, 3600, NULL, "s", "of the requests of a repetition; 20 at least", NULL,
         0, 0, false},
    };
    static struct bench b = {
        .program = "mixed",
        .about = "requests beside a batch, in two clusters under a module each, or in one",
        .clock =
            "latency: from when a request was due to its end; throughput: steps of the batch, from its start until "
            "the last request and all fibres of the batch have ended",
        .takes = BENCH_TAKES_SCHEDULER,
        .own = own,
        .n = sizeof own / sizeof *own};
    bench = &b;
    bench_start(&b, argc, argv);
    workers = (unsigned)bench_int(&b, "workers") != 0 ? (unsigned)bench_int(&b, "workers") : bench_processors();
    urgent = (unsigned)bench_int(&b, "urgent");
    if (urgent >= workers)
        bench_die(&b, BENCH_USAGE, "--urgent %u: fewer than --workers %u, one at least is the batch's", urgent,
                  workers);
    if (urgent == 0 && bench_text(&b, "urgent-scheduler") != NULL)
        bench_die(&b, BENCH_USAGE, "--urgent-scheduler: there is no second cluster with --urgent 0");
    batch = (uint64_t)bench_int(&b, "batch");
    work = (uint64_t)bench_int(&b, "work");
    request = (uint64_t)bench_int(&b, "request");
    interval = 1e9 / bench_real(&b, "rate");
    requests = (uint64_t)(bench_real(&b, "duration") * bench_real(&b, "rate"));
    requests = requests < 20 ? 20 : requests;
    latency_all = hdr_new();
    if (latency_all == NULL)
        bench_die(&b, BENCH_INTERNAL, "no memory");
    bench_work_calibrate();
    bench_set_int(&b, "workers", workers - urgent);
    bench_tenter_run(&b, "", all, NULL);
    bench_set_int(&b, "workers", workers);
    bench_hist(&b, "latency", "ns", latency_all);
    return bench_finish(&b);
}
