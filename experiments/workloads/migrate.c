/* SPDX-License-Identifier: MIT
 *
 * Fibres go to and fro between two clusters of equal size (000 §4.2, row B4.1): what a ready queue costs into which others
 * put, since nothing else happens.
 *
 * Half of the workers serve each cluster. For each of them a spawner makes --fibres-each fibres on its side; each of those
 * migrates --migrations times, then ends.
 */
#include "bench_tenter.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct bench *bench;
static unsigned workers;
static uint64_t fibres, migrations;
static tn_cluster *side[2];
static tn_waiter gone;

static _Alignas(128) _Atomic(uint64_t) left;
static _Alignas(128) _Atomic(uint64_t) astray;

static void *wander(void *arg)
{
    unsigned at = (unsigned)(uintptr_t)arg;
    for (uint64_t i = 0; i < migrations; i++) {
        if (tn_migrate(side[at ^= 1]) != 0)
            bench_die(bench, BENCH_INTERNAL, "tn_migrate");
        if (tn_cluster_self() != side[at])
            atomic_fetch_add_explicit(&astray, 1, memory_order_relaxed); /* relaxed: a number, read at the end */
    }
    if (atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel) == 1) /* M1 */
        tn_wake(gone);
    return NULL;
}

static void *spawn_all(void *arg)
{
    struct tn_attr attr = {.cluster = tn_cluster_self(), .detached = true};
    for (uint64_t i = 0; i < fibres; i++) {
        int rc;
        while ((rc = tn_spawn(NULL, &attr, wander, arg)) == EAGAIN)
            tn_yield();
        if (rc != 0)
            bench_die(bench, BENCH_INTERNAL, "tn_spawn: %s", strerror(rc));
    }
    return NULL;
}

static void repetition(int rep)
{
    atomic_store_explicit(&left, workers * fibres, memory_order_relaxed); /* relaxed: before there are fibres */
    gone = tn_wait_prepare();
    bench_region_start(bench, rep);
    uint64_t begin = bench_now();
    for (unsigned i = 0; i < workers; i++) {
        struct tn_attr attr = {.cluster = side[i % 2], .detached = true, .full = TN_FULL_OVERFLOW};
        if (tn_spawn(NULL, &attr, spawn_all, (void *)(uintptr_t)(i % 2)) != 0)
            bench_die(bench, BENCH_INTERNAL, "no fibre");
    }
    tn_wait(TN_FOREVER, NULL);
    uint64_t ns = bench_now() - begin;
    bench_region_stop();
    if (atomic_load_explicit(&astray, memory_order_relaxed) != 0) /* relaxed: all have ended */
        bench_invalid(bench, "%llu migrations ended elsewhere", (unsigned long long)atomic_load(&astray));
    bench_sample(bench, "throughput", "1/s", (double)(workers * fibres * migrations) * 1e9 / (double)ns, rep);
}

static void *all(void *arg)
{
    struct tn_config config = TN_CONFIG_INIT;
    config.workers = workers / 2;
    config.pin = bench_int(bench, "pin");
    config.scheduler = bench_text(bench, "scheduler"); /* NULL: TENTER_SCHEDULER, as the first cluster */
    int rc = tn_cluster_create(NULL, &config, &side[1]);
    if (rc != 0)
        bench_die(bench, BENCH_INTERNAL, "no second cluster: %s", strerror(rc));
    side[0] = tn_cluster_self();
    bench_tenter_repeat(bench, repetition);
    return arg;
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"fibres-each", BENCH_INT, "1000", 1, 1e6, NULL, "fibres", "of each worker", NULL, 0, 0, false},
        {"migrations", BENCH_INT, "10", 1, 1e6, NULL, "", "of each fibre", NULL, 0, 0, false},
    };
    static struct bench b = {
        .program = "migrate",
        .about = "fibres go to and fro between two clusters, each with half of the workers",
        .clock = "starts before the first fibre is spawned, stops when the last has migrated for the last time",
        .takes = BENCH_TAKES_SCHEDULER,
        .own = own,
        .n = sizeof own / sizeof *own};
    bench = &b;
    bench_start(&b, argc, argv);
    workers = (unsigned)bench_int(&b, "workers") != 0 ? (unsigned)bench_int(&b, "workers") : bench_processors();
    fibres = (uint64_t)bench_int(&b, "fibres-each");
    migrations = (uint64_t)bench_int(&b, "migrations");
    if (workers < 2 || workers % 2 != 0 || workers > 1024)
        bench_die(&b, BENCH_USAGE, "--workers %u: an even number to 1024, half for each cluster", workers);
    bench_set_int(&b, "workers", workers / 2);
    bench_tenter_run(&b, "", all, NULL);
    bench_set_int(&b, "workers", workers);
    return bench_finish(&b);
}
