/* SPDX-License-Identifier: MIT
 *
 * What every scheduler module must do, one body for all. A module is an adapter of one line: its name with
 * knobs, as the first argument (and, where it may be refused, its property).
 *
 *     conformance fifo:layout=global:full=refuse
 *     conformance --stress lifo
 *     conformance ./libmine.so        a plug-in
 *
 * Exit code 77: this build does not have the module.
 */
#include "conformance.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *spec;
tn_runtime *rt;
tn_cluster *cl;

struct tn_config with_module(int64_t workers)
{
    struct tn_config c = with(workers, spec);
    c.slots = workers < 4 ? 4 : workers;
    return c;
}

void start_as(const struct tn_config *c)
{
    if (!CHECK_EQUAL(tn_start(&rt, c), 0))
        exit(1);
    cl = tn_cluster_first(rt);
}

void start(int64_t workers)
{
    struct tn_config c = with_module(workers);
    start_as(&c);
}

void stop(void)
{
    CHECK_EQUAL(tn_stop(rt), 0);
}

tn_fibre *spawn(void *(*fn)(void *), uintptr_t arg, bool detached)
{
    tn_fibre *f = NULL;
    int rc;
    while ((rc = tn_spawn(detached ? NULL : &f, &(struct tn_attr){.cluster = cl}, fn, (void *)arg)) == EAGAIN)
        tn_yield();
    CHECK_EQUAL(rc, 0);
    return f;
}

void join(tn_fibre *f)
{
    CHECK_EQUAL(tn_join(f, NULL), 0);
}

/* Run fn(arg) as a fibre on so many workers. */
static void with_workers(int64_t workers, void *(*fn)(void *), uintptr_t arg)
{
    start(workers);
    CHECK_EQUAL(tn_join(spawn(fn, arg, false), NULL), 0);
    stop();
}

/* ---- nothing lost, nothing twice ---- */

enum { MANY = 5000, FEW = 400, SPAWNERS = 4, STORM = 1000000 };
static atomic_uchar *ran; /* by id */
static atomic_uint ended;

static void *tick_off(void *id)
{
    atomic_fetch_add_explicit(&ran[(uintptr_t)id], 1, memory_order_relaxed);
    if ((uintptr_t)id % 3 == 0)
        tn_yield();
    if ((uintptr_t)id % 7 == 0)
        tn_yield_hard();
    if ((uintptr_t)id % 501 == 0)
        tn_sleep(10000);
    atomic_fetch_add(&ended, 1);
    return NULL;
}

static uintptr_t per_spawner;
static atomic_uint begun, most_at_once = STORM; /* begun: counted before each is spawned */

static void *spawner(void *which)
{
    for (uintptr_t i = 0; i < per_spawner; i++) {
        while (atomic_load(&begun) - atomic_load(&ended) >= atomic_load(&most_at_once))
            tn_yield();
        atomic_fetch_add(&begun, 1);
        spawn(tick_off, (uintptr_t)which * per_spawner + i, true);
    }
    return NULL;
}

static void *spawn_all(void *arg)
{
    tn_fibre *f[SPAWNERS];
    for (uintptr_t i = 0; i < SPAWNERS; i++)
        f[i] = spawn(spawner, i, false);
    for (int i = 0; i < SPAWNERS; i++)
        join(f[i]);
    return arg;
}

/* However slow the machine is: only a fibre that nobody runs any more, while no other one ends either, is lost. */
static bool all_end(uintptr_t n)
{
    unsigned before;
    do
        before = atomic_load(&ended);
    while (!EVENTUALLY(atomic_load(&ended) == n) && atomic_load(&ended) != before);
    return atomic_load(&ended) == n;
}

static void check_all(uintptr_t n)
{
    uintptr_t lost = 0, twice = 0;
    CHECK(all_end(n));
    for (uintptr_t i = 0; i < n; i++) {
        unsigned char times = atomic_load_explicit(&ran[i], memory_order_relaxed);
        lost += times == 0;
        twice += times > 1;
    }
    CHECK_EQUAL(lost, 0);
    CHECK_EQUAL(twice, 0);
}

static void once_each(int64_t workers, uintptr_t n, bool plain)
{
    ran = calloc(n, 1);
    atomic_store(&ended, 0);
    atomic_store(&begun, 0);
    per_spawner = n / SPAWNERS;
    start(workers);
    if (plain) {
        pthread_t t[SPAWNERS];
        for (uintptr_t i = 0; i < SPAWNERS; i++)
            pthread_create(&t[i], NULL, spawner, (void *)i);
        for (int i = 0; i < SPAWNERS; i++)
            pthread_join(t[i], NULL);
    } else {
        join(spawn(spawn_all, 0, false));
    }
    check_all(per_spawner * SPAWNERS);
    stop();
    free(ran);
}

/* ThreadSanitizer takes milliseconds to make a fibre, and knows eight thousand at most; AddressSanitizer maps a second
 * stack for each, for use after return; valgrind is slow in everything. */
bool few(void)
{
    return !build_has("sanitize=none");
}

static uintptr_t many(void)
{
    return few() ? FEW : MANY;
}

static void test_once_each(void)
{
    for (int64_t workers = 1; workers <= MOST_WORKERS; workers *= 2)
        once_each(workers, many(), false);
}

static void test_plain_spawners(void)
{
    once_each(1, many(), true);
    once_each(2, many(), true);
    once_each(MOST_WORKERS, many(), true);
}

static void test_storm(void)
{
    uintptr_t n = few() ? STORM / 20 : STORM;
    atomic_store(&most_at_once, few() ? MANY / 5 : STORM);
    once_each(1, n, false);
    once_each(2, n, false);
    once_each(2, n / 4, true);
}

/* ---- yields make progress ---- */

atomic_bool flag;

void *yield_until_flag(void *hard)
{
    while (!atomic_load_explicit(&flag, memory_order_acquire)) {
        if (hard != NULL)
            tn_yield_hard();
        else
            tn_yield();
    }
    return NULL;
}

void *set_flag(void *arg)
{
    atomic_store_explicit(&flag, true, memory_order_release);
    return arg;
}

static void *yielders(void *hard) /* many yield until one, spawned in their midst, has run */
{
    tn_fibre *f[9];
    atomic_store(&flag, false);
    for (uintptr_t i = 0; i < 9; i++)
        f[i] = i == 4 ? spawn(set_flag, 0, false) : spawn(yield_until_flag, hard != NULL ? i % 2 : 0, false);
    for (int i = 0; i < 9; i++)
        join(f[i]);
    for (int place = 0; place < 2; place++) { /* one, before and behind one that yields; the spawner yields as well */
        atomic_store(&flag, false);
        for (int i = 0; i < 2; i++)
            f[i] = spawn(i == place ? set_flag : yield_until_flag, (uintptr_t)hard, false);
        yield_until_flag(hard);
        join(f[0]);
        join(f[1]);
    }
    return NULL;
}

static void test_yields(void)
{
    for (int64_t workers = 1; workers <= 2; workers++)
        for (uintptr_t hard = 0; hard < 2; hard++)
            for (int i = 0; i < 5; i++)
                with_workers(workers, yielders, hard);
}

/* Work from outside comes to run while two yield for ever. */
static void test_yields_and_outside(void)
{
    for (int64_t workers = 1; workers <= 2; workers++) {
        start(workers);
        atomic_store(&flag, false);
        tn_fibre *f[3] = {spawn(yield_until_flag, 0, false), spawn(yield_until_flag, 0, false)};
        nap_us(1000);
        f[2] = spawn(set_flag, 0, false);
        for (int i = 0; i < 3; i++)
            join(f[i]);
        stop();
    }
}

/* ---- */

static int probe(void *arg)
{
    struct tn_config c = with(1, arg);
    tn_runtime *one;
    int rc = tn_start(&one, &c);
    return rc != 0 ? rc : tn_stop(one);
}

int main(int argc, char **argv)
{
    static const struct test fast[] = {
        {"nothing lost, nothing twice", test_once_each},
        {"spawned by plain threads", test_plain_spawners},
        {"yields make progress", test_yields},
        {"work from outside while two yield", test_yields_and_outside},
        {"one in a crowd that yields", test_crowd},
        {"woken while two yield", test_woken_among_yielders},
        {"from cluster to cluster", test_two_clusters},
        {"work behind a hog is taken", test_behind_hog},
        {"its last worker is hogged or gone", test_home_is_gone},
        {"ping-pong", test_ping_pong},
        {"woken by plain threads", test_plain_wakers},
        {"ready just before the worker parks", test_before_parking},
        {"workers join and leave", test_join_and_leave},
        {"from one worker to many and back", test_extremes},
        {"a tree of spawns", test_tree},
        {"stop with work left", test_work_left},
    };
    static const struct test stress[] = {
        {"a storm of a million, or of fifty thousand", test_storm},
        {"ping-pong, long", test_ping_pong_long},
        {"workers join and leave, long", test_join_and_leave_long},
        {"from one worker to many and back, long", test_extremes_long},
        {"a tree of a hundred thousand, or of two", test_tree_long},
        {"a hundred thousand at once, or two", test_host_long},
    };
    bool storm = argc > 1 && strcmp(argv[1], "--stress") == 0;
    if (argc != 2 + storm) {
        fprintf(stderr, "usage: conformance [--stress] MODULE[:KNOB=VALUE…]\n");
        return 2;
    }
    spec = argv[1 + storm];
    char err[512];
    if (!exited(harness_child(probe, argv[1 + storm], err, sizeof err), 0)) {
        printf("%s\nskipped: '%s' is not in this build\n", err, spec);
        return strstr(err, "no scheduler") != NULL ? 77 : 1;
    }
    harness_patience(storm ? 300 : 20); /* so that a module which lets a test hang is told of before meson ends it */
    return storm ? HARNESS_RUN(spec, stress) : HARNESS_RUN(spec, fast);
}
