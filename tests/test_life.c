/* SPDX-License-Identifier: MIT
 *
 * Life of runtimes, clusters and workers: many rounds, many threads, two at once, nothing left behind.
 */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static void *echo(void *arg)
{
    tn_yield();
    return arg;
}

static void *spawn_some(void *arg)
{
    tn_fibre *f[16];
    uintptr_t sum = 0;
    for (uintptr_t i = 0; i < 16; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, echo, (void *)i), 0);
    for (int i = 0; i < 16; i++) {
        void *value = NULL;
        CHECK_EQUAL(tn_join(f[i], &value), 0);
        sum += (uintptr_t)value;
    }
    CHECK_EQUAL(sum, 120);
    return arg;
}

/* The first thread of a process may bring others (of a sanitizer) and descriptors that stay. */
static void warm_up(void)
{
    CHECK_EQUAL(tn_run(NULL, echo, NULL, NULL), 0);
}

static void test_rounds(void)
{
    warm_up();
    unsigned threads = harness_count("task"), descriptors = harness_count("fd");
    for (uintptr_t i = 0; i < 60; i++) {
        struct tn_config c = with(1 + (int64_t)i % 3, NULL);
        void *value = NULL;
        c.on_demand = i % 2;
        c.idle = (int64_t)i % 3;
        c.poller = i % 5 == 0 ? TEST_IN_POLLER : NULL;
        CHECK_EQUAL(tn_run(&c, spawn_some, (void *)i, &value), 0);
        CHECK_EQUAL((uintptr_t)value, i);
    }
    CHECK_EQUAL(harness_count("fd"), descriptors);
    CHECK(EVENTUALLY(harness_count("task") == threads));
}

static void test_empty(void)
{
    for (int i = 0; i < 40; i++) { /* stopped before the workers have begun */
        struct tn_config c = with(2, NULL);
        tn_runtime *rt = NULL;
        CHECK_EQUAL(tn_start(&rt, &c), 0);
        if (i % 2)
            nap_us(200);
        CHECK_EQUAL(tn_stop(rt), 0);
    }
}

static void *rounds_of_a_thread(void *arg)
{
    for (uintptr_t i = 0; i < 12; i++) {
        struct tn_config c = with(1, NULL);
        void *value = NULL;
        CHECK_EQUAL(tn_run(&c, spawn_some, (void *)i, &value), 0);
        CHECK_EQUAL((uintptr_t)value, i);
    }
    return arg;
}

static void test_from_many_threads(void)
{
    pthread_t t[4];
    warm_up();
    unsigned threads = harness_count("task"), descriptors = harness_count("fd");
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, rounds_of_a_thread, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    CHECK_EQUAL(harness_count("fd"), descriptors);
    CHECK(EVENTUALLY(harness_count("task") == threads));
}

/* ---- two runtimes ---- */

static void *stay_home(void *cluster)
{
    for (int i = 0; i < 300; i++) {
        if (tn_cluster_self() != cluster)
            return NULL;
        if (i % 7 == 0)
            tn_yield_hard();
        else
            tn_yield();
    }
    return cluster;
}

static void test_two_runtimes(void)
{
    enum { EACH = 24 };
    struct tn_config c = with(2, NULL);
    tn_runtime *rt[2];
    tn_fibre *f[2][EACH];
    for (int k = 0; k < 2; k++)
        CHECK_EQUAL(tn_start(&rt[k], &c), 0);
    for (int i = 0; i < EACH; i++)
        for (int k = 0; k < 2; k++)
            CHECK_EQUAL(tn_spawn(&f[k][i], &(struct tn_attr){.runtime = rt[k]}, stay_home, tn_cluster_first(rt[k])),
                        0);
    for (int i = 0; i < EACH; i++)
        for (int k = 0; k < 2; k++) {
            void *value = NULL;
            CHECK_EQUAL(tn_join(f[k][i], &value), 0);
            CHECK(value == tn_cluster_first(rt[k]));
        }
    for (int k = 0; k < 2; k++)
        CHECK_EQUAL(tn_stop(rt[k]), 0);
}

struct answer {
    tn_cluster *from;
    tn_waiter waiter;
};

static void *answers(void *answer)
{
    struct answer *a = answer;
    a->from = tn_cluster_self();
    CHECK(tn_wake(a->waiter));
    return NULL;
}

/* A fibre of one runtime spawns in the other, is woken from there, and stays where it is. Joining does not cross. */
static void *across(void *other)
{
    tn_cluster *mine = tn_cluster_self();
    for (int i = 0; i < 50; i++) {
        tn_fibre *f;
        struct answer a = {NULL, tn_wait_prepare()};
        CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.cluster = other}, answers, &a), 0);
        CHECK_EQUAL(tn_wait(TN_FOREVER, NULL), 0);
        CHECK(a.from == other);
        CHECK_EQUAL(tn_join(f, NULL), EPERM);
        CHECK_EQUAL(tn_join_until(f, NULL, 0, NULL), EPERM);
        CHECK_EQUAL(tn_detach(f), 0);
        CHECK(tn_cluster_self() == mine);
    }
    CHECK_EQUAL(tn_migrate(other), EINVAL);
    return NULL;
}

/* What tn_run would begin, nobody could wait for: it is refused before it begins. */
static atomic_uint begun;

static void *begins(void *arg)
{
    atomic_fetch_add(&begun, 1);
    return arg;
}

static void *runs_another(void *arg)
{
    void *value = arg;
    CHECK_EQUAL(tn_run(NULL, begins, NULL, &value), EPERM);
    CHECK(value == arg);
    return arg;
}

static void test_run_in_fibre(void)
{
    CHECK_EQUAL(tn_run(NULL, runs_another, &begun, NULL), 0);
    CHECK_EQUAL(atomic_load(&begun), 0);
}

static void test_across_runtimes(void)
{
    struct tn_config c = with(1, NULL);
    tn_runtime *rt;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    CHECK_EQUAL(tn_run(&c, across, tn_cluster_first(rt), NULL), 0);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- stopping ---- */

static void *stop_own(void *rt)
{
    CHECK_EQUAL(tn_stop(rt), EPERM);
    return rt;
}

static void *wait_for_ever(void *arg)
{
    tn_wait_prepare();
    tn_wait(TN_FOREVER, NULL);
    return arg;
}

static void *sleep_long(void *arg)
{
    tn_sleep(UINT64_C(3600000000000));
    return arg;
}

static void *yield_for_ever(void *arg)
{
    for (;;)
        tn_yield();
    return arg;
}

static void test_stop(void)
{
    static void *(*const left[])(void *) = {wait_for_ever, sleep_long, yield_for_ever};
    unsigned descriptors = harness_count("fd");
    for (int64_t workers = 1; workers <= 2; workers++) {
        struct tn_config c = with(workers, NULL);
        tn_runtime *rt;
        tn_fibre *f;
        CHECK_EQUAL(tn_start(&rt, &c), 0);
        CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, stop_own, rt), 0);
        CHECK_EQUAL(tn_join(f, NULL), 0);
        for (int i = 0; i < 60; i++)
            CHECK_EQUAL(
                tn_spawn(NULL, &(struct tn_attr){.runtime = rt, .stack = i % 4 == 0 ? 131072 : 0}, left[i % 3], NULL),
                0);
        nap_us(3000);
        CHECK_EQUAL(tn_stop(rt), 0);
    }
    CHECK_EQUAL(harness_count("fd"), descriptors);
}

/* A fibre that goes on right where its child has ended, again and again: its worker notices all the same that it shall
 * leave, at whichever of the two moments it looks up. */
static void *spawns_and_joins_for_ever(void *arg)
{
    for (tn_fibre *f;;)
        if (tn_spawn(&f, NULL, begins, arg) == 0)
            tn_join(f, NULL);
    return arg;
}

static void test_stop_against_join(void)
{
    for (unsigned i = 0; i < 20; i++) {
        struct tn_config c = with(1, NULL);
        tn_runtime *stopping;
        CHECK_EQUAL(tn_start(&stopping, &c), 0);
        atomic_store(&begun, 0);
        CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.runtime = stopping}, spawns_and_joins_for_ever, NULL), 0);
        CHECK(EVENTUALLY(atomic_load(&begun) > 100));
        CHECK_EQUAL(tn_stop(stopping), 0);
    }
}

/* A fibre that hogs its worker while tn_stop waits for it, then makes another ready: a worker that was not
 * yet born must not be started any more. */
static atomic_bool hogging, go_on;

static void *hog_then_spawn(void *arg)
{
    atomic_store_explicit(&hogging, true, memory_order_release);
    while (!atomic_load_explicit(&go_on, memory_order_acquire))
        ;
    for (tn_time end = tn_now() + 20000000; tn_now() < end;)
        ;
    tn_spawn(NULL, NULL, echo, NULL);
    tn_yield();
    return arg;
}

static void *two_hogs(void *arg)
{
    tn_spawn(NULL, NULL, hog_then_spawn, NULL);
    while (!atomic_load_explicit(&hogging, memory_order_acquire))
        ;
    return arg;
}

static void test_stop_against_birth(void)
{
    warm_up();
    unsigned threads = harness_count("task");
    for (int i = 0; i < 5; i++) {
        struct tn_config c = with(3, NULL);
        tn_runtime *rt;
        c.on_demand = 1;
        c.idle = TN_IDLE_BLOCK;
        atomic_store(&hogging, false);
        atomic_store(&go_on, false);
        CHECK_EQUAL(tn_start(&rt, &c), 0);
        nap_us(2000);
        CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.runtime = rt}, two_hogs, NULL), 0);
        CHECK(EVENTUALLY(atomic_load(&hogging)));
        atomic_store(&go_on, true);
        CHECK_EQUAL(tn_stop(rt), 0);
    }
    CHECK(EVENTUALLY(harness_count("task") == threads));
}

/* A fibre that makes threads all the time, by new workers or by new clusters, up to the moment at which its own
 * worker ends: tn_stop ends them all. */
static tn_runtime *stopped;
static unsigned storms = 50;

static void *add_for_ever(void *arg)
{
    for (unsigned i = 0;; i++) {
        tn_workers_add(tn_cluster_self(), 2);
        tn_workers_remove(tn_cluster_self(), 2);
        if (i % 8 == 0)
            tn_yield();
    }
    return arg;
}

static void *create_many(void *arg)
{
    struct tn_config c = with(2, NULL);
    tn_cluster *cl;
    for (int i = 0; i < 50 && tn_cluster_create(stopped, &c, &cl) == 0; i++)
        tn_yield();
    return arg;
}

static void stop_against(void *(*fn)(void *))
{
    uint64_t random = harness_seed();
    warm_up();
    unsigned threads = harness_count("task");
    for (unsigned i = 0; i < storms; i++) {
        struct tn_config c = with(2, NULL);
        c.slots = 8;
        CHECK_EQUAL(tn_start(&stopped, &c), 0);
        CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.runtime = stopped}, fn, NULL), 0);
        nap_us((unsigned)(harness_random(&random) % 2000));
        CHECK_EQUAL(tn_stop(stopped), 0);
    }
    CHECK(EVENTUALLY(harness_count("task") == threads));
}

static void test_stop_against_add(void)
{
    stop_against(add_for_ever);
}

static void test_stop_against_create(void)
{
    stop_against(create_many);
}

/* ---- workers and clusters ---- */

static void test_workers(void)
{
    struct tn_config c = with(1, NULL);
    tn_runtime *rt;
    c.slots = 3;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    tn_cluster *cl = tn_cluster_first(rt);
    CHECK_EQUAL(tn_workers(cl), 1);
    CHECK_EQUAL(tn_workers_remove(cl, 1), EINVAL);
    for (int i = 0; i < 10; i++) {
        CHECK(EVENTUALLY(tn_workers_add(cl, 2) == 0 ||
                         tn_workers(cl) == 3)); /* a slot is free when its worker is gone */
        CHECK(EVENTUALLY(tn_workers(cl) == 3 || tn_workers_add(cl, 1) == 0));
        CHECK_EQUAL(tn_workers_add(cl, 1), EAGAIN);
        CHECK_EQUAL(tn_workers_remove(cl, 3), EINVAL);
        CHECK_EQUAL(tn_workers_remove(cl, 2), 0);
        CHECK_EQUAL(tn_workers(cl), 1);
        tn_fibre *f;
        CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.cluster = cl}, spawn_some, NULL), 0);
        CHECK_EQUAL(tn_join(f, NULL), 0);
    }
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void test_remove_unborn(void)
{
    struct tn_config c = with(4, NULL);
    tn_runtime *rt;
    tn_fibre *f;
    c.on_demand = 1;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    tn_cluster *cl = tn_cluster_first(rt);
    CHECK_EQUAL(tn_workers(cl), 4);
    CHECK_EQUAL(tn_workers_remove(cl, 3), 0);
    CHECK_EQUAL(tn_workers(cl), 1);
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.cluster = cl}, spawn_some, NULL), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void *visit(void *other)
{
    tn_cluster *mine = tn_cluster_self();
    for (int i = 0; i < 200; i++) {
        CHECK_EQUAL(tn_migrate(i % 2 ? mine : other), 0);
        CHECK(tn_cluster_self() == (i % 2 ? mine : other));
    }
    CHECK_EQUAL(tn_migrate(tn_cluster_self()), 0);
    return NULL;
}

static void test_clusters(void)
{
    struct tn_config c = with(1, NULL);
    tn_runtime *rt;
    tn_cluster *second = NULL;
    tn_fibre *f[8];
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    CHECK_EQUAL(tn_cluster_create(rt, &c, &second), 0);
    CHECK(second != NULL && second != tn_cluster_first(rt));
    for (int i = 0; i < 8; i++) {
        tn_cluster *here = i % 2 ? second : tn_cluster_first(rt), *there = i % 2 ? tn_cluster_first(rt) : second;
        CHECK_EQUAL(tn_spawn(&f[i], &(struct tn_attr){.cluster = here}, visit, there), 0);
    }
    for (int i = 0; i < 8; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    if (counting())
        CHECK_EQUAL(counter(second, "migrate") + counter(tn_cluster_first(rt), "migrate"), 8 * 200);
    CHECK_EQUAL(tn_migrate(second), EPERM);
    CHECK_EQUAL(tn_stop(rt), 0);
}

int main(int argc, char **argv)
{
    static const struct test fast[] = {
        {"many rounds leave no thread and no descriptor", test_rounds},
        {"start and stop at once", test_empty},
        {"rounds from many threads", test_from_many_threads},
        {"two runtimes never mix fibres", test_two_runtimes},
        {"a fibre spawns and joins in another runtime", test_across_runtimes},
        {"a fibre is refused a runtime to wait for", test_run_in_fibre},
        {"stop: EPERM inside, work left outside", test_stop},
        {"stop a worker that goes on from child to parent", test_stop_against_join},
        {"stop while a worker would be born", test_stop_against_birth},
        {"stop while workers are added", test_stop_against_add},
        {"stop while clusters are made", test_stop_against_create},
        {"workers join and leave, slots bound them", test_workers},
        {"workers that were not born leave too", test_remove_unborn},
        {"clusters and migration between them", test_clusters},
    };
    static const struct test stress[] = {
        {"stop while workers are added, many", test_stop_against_add},
        {"stop while clusters are made, many", test_stop_against_create},
    };
    if (argc > 1 && strcmp(argv[1], "--stress") == 0) {
        storms = 1000;
        harness_patience(250);
        return HARNESS_RUN("life-stress", stress);
    }
    return HARNESS_RUN("life", fast);
}
