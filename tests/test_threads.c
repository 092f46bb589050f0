/* SPDX-License-Identifier: MIT
 *
 * When no more threads are to be had: linked with --wrap=pthread_create, which fails when the test says so.
 */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "scheduler.h" /* tn_idle_count */

static atomic_int left = -1;             /* threads that can still be made; -1: any number */
static tn_cluster *_Atomic birth_before; /* a thread is made only when a worker of this one is about to be born */
static atomic_bool go;

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static pthread_t remover;
static void *removes(void *cluster);

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    tn_cluster *cl = atomic_exchange(&birth_before, NULL);
    if (cl != NULL) { /* in tn_workers_add, which keeps others from adding and removing meanwhile */
        CHECK_EQUAL(__real_pthread_create(&remover, NULL, removes, cl), 0);
        atomic_store(&go, true);
        CHECK(EVENTUALLY(tn_idle_count(cl) == 0)); /* the one that was not born is awaited */
        nap_us(200);
    }
    if (atomic_load(&left) == 0)
        return EAGAIN;
    atomic_fetch_sub(&left, atomic_load(&left) > 0);
    return __real_pthread_create(t, attr, fn, arg);
}

static void *echo(void *arg)
{
    return arg;
}

static void runs_on(tn_runtime *rt)
{
    tn_fibre *f;
    void *value = NULL;
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, echo, &f), 0);
    CHECK_EQUAL(tn_join(f, &value), 0);
    CHECK(value == &f);
}

/* ---- clusters that cannot be made ---- */

static tn_runtime *rt;

static void *creates(void *arg)
{
    tn_cluster *cl = NULL;
    for (int i = 0; i < 20; i++) {
        struct tn_config c = with(8, NULL);
        c.on_demand = i % 2; /* then only the first gets a thread */
        c.idle = i % 3;
        atomic_store(&left, c.on_demand ? 0 : 1 + i % 6);
        CHECK_EQUAL(tn_cluster_create(rt, &c, &cl), EAGAIN);
        CHECK(cl == NULL);
    }
    atomic_store(&left, -1);
    return arg;
}

static void test_clusters(void)
{
    CHECK_EQUAL(tn_run(NULL, echo, NULL, NULL), 0); /* a sanitizer may bring threads that stay */
    struct tn_config c = with(2, NULL);
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    runs_on(rt);
    unsigned threads = harness_count("task");
    creates(NULL);
    CHECK(EVENTUALLY(harness_count("task") == threads)); /* before tn_stop: nothing is left of them */
    tn_fibre *f;
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, creates, NULL), 0); /* its worker waits for the ends */
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK(EVENTUALLY(harness_count("task") == threads));
    runs_on(rt);
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void test_start(void)
{
    unsigned threads = harness_count("task");
    for (int i = 0; i < 4; i++) {
        struct tn_config c = with(4, NULL);
        tn_runtime *none = NULL;
        atomic_store(&left, i);
        CHECK_EQUAL(tn_start(&none, &c), EAGAIN);
    }
    atomic_store(&left, -1);
    CHECK(EVENTUALLY(harness_count("task") == threads));
}

/* ---- a worker that is being born is not counted on ---- */

static void *removes(void *cluster)
{
    int rc = tn_workers_remove(cluster, 1);
    CHECK(rc == EAGAIN || rc == EINVAL); /* before or after it is known that there is no thread for it */
    return NULL;
}

static void *hogs_then_spawns(void *arg)
{
    while (!atomic_load(&go))
        ;
    CHECK_EQUAL(tn_spawn(NULL, NULL, echo, NULL), 0); /* somebody is to be woken: the one that has no thread yet */
    return arg;
}

static void test_last_worker(void)
{
    for (int i = 0; i < 40; i++) {
        struct tn_config c = with(2, NULL);
        tn_fibre *f;
        c.slots = 3;
        c.on_demand = 1;
        c.idle = TN_IDLE_BLOCK;
        atomic_store(&go, false);
        CHECK_EQUAL(tn_start(&rt, &c), 0);
        tn_cluster *cl = tn_cluster_first(rt);
        CHECK(EVENTUALLY(tn_idle_count(cl) == 2)); /* of the two the one that has a thread is woken */
        CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, hogs_then_spawns, NULL), 0);
        CHECK(EVENTUALLY(tn_idle_count(cl) == 1));
        atomic_store(&left, 0);
        atomic_store(&birth_before, cl);
        CHECK_EQUAL(tn_workers_add(cl, 1), EAGAIN);
        pthread_join(remover, NULL);
        CHECK_EQUAL(tn_join(f, NULL), 0);
        CHECK_EQUAL(tn_workers(cl), 1);
        runs_on(rt);
        atomic_store(&left, -1);
        CHECK_EQUAL(tn_stop(rt), 0);
    }
}

int main(void)
{
    static const struct test tests[] = {
        {"of a cluster that could not be made nothing is left", test_clusters},
        {"of a runtime neither", test_start},
        {"the last worker stays while another is being born", test_last_worker},
    };
    return HARNESS_RUN("threads", tests);
}
