/* SPDX-License-Identifier: MIT
 *
 * The monitor that replaces workers that are stuck in the kernel.
 */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t begun, go_on;

static void take(sem_t *s)
{
    while (sem_wait(s) != 0 && errno_get() == EINTR)
        ;
}

static void in_fibre(tn_runtime *rt, void *(*fn)(void *), void *arg)
{
    tn_fibre *f;
    if (CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, fn, arg), 0))
        CHECK_EQUAL(tn_join(f, NULL), 0);
}

static void *post(void *s)
{
    sem_post(s);
    return NULL;
}

static void *release_later(void *arg)
{
    nap_us(5000);
    for (int i = 0; i < 8; i++)
        sem_post(&go_on);
    return arg;
}

static tn_runtime *watched(int64_t workers, int64_t slots, int64_t period_us)
{
    struct tn_config c = with(workers, NULL);
    tn_runtime *rt = NULL;
    c.slots = slots;
    c.monitor_us = period_us;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    return rt;
}

static void *stuck_until_other(void *arg)
{
    sem_t s;
    tn_fibre *f;
    sem_init(&s, 0, 0);
    CHECK_EQUAL(tn_spawn(&f, NULL, post, &s), 0);
    take(&s); /* only another worker can run the one that posts */
    CHECK_EQUAL(tn_join(f, NULL), 0);
    sem_destroy(&s);
    return arg;
}

static void *all_stuck(void *n)
{
    tn_fibre *f[16];
    for (uintptr_t i = 0; i < (uintptr_t)n; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, stuck_until_other, NULL), 0);
    for (uintptr_t i = 0; i < (uintptr_t)n; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    return NULL;
}

static void test_monitor(void)
{
    for (int64_t workers = 1; workers <= 2; workers++) {
        tn_runtime *rt = watched(workers, TN_UNSET, 500);
        tn_cluster *cl = tn_cluster_first(rt);
        for (int round = 0; round < 3; round++)
            in_fibre(rt, all_stuck, (void *)(uintptr_t)8);
        if (counting())
            CHECK(counter(cl, "replaced") >= 1);
        CHECK(EVENTUALLY(tn_workers(cl) == (unsigned)workers)); /* and they go away again */
        in_fibre(rt, all_stuck, (void *)(uintptr_t)2);
        CHECK_EQUAL(tn_stop(rt), 0);
    }
}

static void *stuck_till_told(void *arg)
{
    sem_post(&begun);
    take(&go_on);
    return arg;
}

static void test_monitor_bound(void) /* slots bound it, and tn_stop waits for what is stuck */
{
    tn_runtime *rt = watched(1, 3, 200);
    pthread_t other;
    sem_init(&begun, 0, 0);
    sem_init(&go_on, 0, 0);
    for (int i = 0; i < 5; i++)
        CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.runtime = rt}, stuck_till_told, NULL), 0);
    for (int i = 0; i < 3; i++)
        take(&begun);
    CHECK_EQUAL(tn_workers(tn_cluster_first(rt)), 3);
    nap_us(5000);
    CHECK_EQUAL(tn_workers(tn_cluster_first(rt)), 3);
    int more;
    sem_getvalue(&begun, &more);
    CHECK_EQUAL(more, 0);
    pthread_create(&other, NULL, release_later, NULL);
    CHECK_EQUAL(tn_stop(rt), 0);
    pthread_join(other, NULL);
    sem_destroy(&begun);
    sem_destroy(&go_on);
}

static void *compute(void *arg)
{
    for (tn_time end = tn_now() + 20000000; tn_now() < end;)
        tn_work(1000);
    return arg;
}

static void test_monitor_leaves_hogs(void) /* who computes is not stuck */
{
    tn_runtime *rt = watched(1, TN_UNSET, 300);
    tn_work_calibrate();
    in_fibre(rt, compute, NULL);
    if (counting())
        CHECK_EQUAL(counter(tn_cluster_first(rt), "replaced"), 0);
    CHECK_EQUAL(tn_workers(tn_cluster_first(rt)), 1);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* Somebody else takes the monitor's replacements for workers that he may remove: it then has none, and adds none. */
static void test_monitor_and_others(void)
{
    tn_runtime *rt = watched(1, 6, 2000);
    tn_cluster *cl = tn_cluster_first(rt);
    tn_fibre *f[3];
    sem_init(&begun, 0, 0);
    sem_init(&go_on, 0, 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(tn_spawn(&f[i], &(struct tn_attr){.runtime = rt}, stuck_till_told, NULL), 0);
    for (int i = 0; i < 3; i++)
        take(&begun);
    for (int i = 0; i < 3; i++)
        sem_post(&go_on);
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    while (tn_workers(cl) > 1)
        tn_workers_remove(cl, 1);
    uint64_t replaced = counter(cl, "replaced");
    tn_work_calibrate();
    for (int i = 0; i < 3; i++)
        in_fibre(rt, compute, NULL);
    CHECK_EQUAL(counter(cl, "replaced"), replaced);
    CHECK_EQUAL(tn_workers(cl), 1);
    CHECK_EQUAL(tn_stop(rt), 0);
    sem_destroy(&begun);
    sem_destroy(&go_on);
}

int main(void)
{
    static const struct test tests[] = {
        {"the monitor replaces stuck workers, for a while", test_monitor},
        {"slots bound the monitor", test_monitor_bound},
        {"the monitor leaves hogs alone", test_monitor_leaves_hogs},
        {"somebody else removes workers, too", test_monitor_and_others},
    };
    return HARNESS_RUN("monitor", tests);
}
