/* SPDX-License-Identifier: MIT
 *
 * Idle workers: what each mode does, who is woken, workers that start on demand, pinning, where the null
 * poller parks.
 */
#include "harness.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static tn_runtime *rt;
static tn_cluster *cl;

static void start(struct tn_config c)
{
    if (!CHECK_EQUAL(tn_start(&rt, &c), 0))
        exit(1);
    cl = tn_cluster_first(rt);
}

static void stop(void)
{
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void *echo(void *arg)
{
    return arg;
}

static void spawn_and_join(void *(*fn)(void *), void *arg)
{
    tn_fibre *f;
    if (CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.cluster = cl}, fn, arg), 0))
        CHECK_EQUAL(tn_join(f, NULL), 0);
}

/* ---- modes ---- */

static uint64_t sleeps(void)
{
    return counter(cl, "park") + counter(cl, "watch");
}

/* Idle and blocked: sooner or later nothing is counted any more. */
static void becomes_quiet(void)
{
    for (int i = 0; i < 100; i++) {
        uint64_t before = sleeps() + counter(cl, "switch") + counter(cl, "steal_try");
        nap_us(50000);
        if (sleeps() + counter(cl, "switch") + counter(cl, "steal_try") == before)
            return;
    }
    harness_note("it is never quiet");
    CHECK(false);
}

static void test_block(void)
{
    static const int64_t modes[] = {TN_IDLE_BLOCK, TN_IDLE_SPIN_BLOCK};
    if (!counting())
        SKIP("it is told by counters");
    for (int m = 0; m < 2; m++)
        for (int source = 0; source < 2; source++) {
            struct tn_config c = with(2, NULL);
            c.idle = modes[m];
            c.poller = source ? TEST_IN_POLLER : NULL;
            start(c);
            CHECK(EVENTUALLY(sleeps() >= 2));
            becomes_quiet();
            for (int i = 0; i < 50; i++) /* each wakes somebody */
                spawn_and_join(echo, NULL);
            CHECK(EVENTUALLY(sleeps() >= 3));
            becomes_quiet();
            CHECK(counter(cl, "announce") >= sleeps());
            stop();
        }
}

static void test_spin(void)
{
    struct tn_config c = with(1, NULL);
    if (!counting())
        SKIP("it is told by counters");
    c.idle = TN_IDLE_SPIN;
    start(c);
    for (int i = 0; i < 50; i++) {
        spawn_and_join(echo, NULL);
        nap_us(200);
    }
    CHECK_EQUAL(sleeps(), 0);
    CHECK_EQUAL(counter(cl, "unpark"), 0);
    stop();
}

/* spin_us tells spin-block from block: a worker that spins for long has not parked yet when work comes; if that takes more
 * than the second that it spins, once a second. */
static void test_spin_block(void)
{
    if (!counting())
        SKIP("it is told by counters");
    for (int k = 0; k < 2; k++) {
        struct tn_config c = with(1, NULL);
        c.idle = TN_IDLE_SPIN_BLOCK;
        c.spin_us = k ? 1000000 : 0;
        tn_time began = tn_now();
        start(c);
        for (unsigned i = 0; i < 20; i++) {
            spawn_and_join(echo, NULL);
            if (k == 0)
                CHECK(EVENTUALLY(sleeps() > i));
            else
                nap_us(1000);
        }
        if (k == 1)
            CHECK(sleeps() <= (tn_now() - began) / 1000000000);
        stop();
    }
}

/* No wake-up per ready fibre while nobody sleeps. */
static void *spawn_many(void *arg)
{
    for (int i = 0; i < 1000; i++) {
        tn_fibre *f;
        if (tn_spawn(&f, NULL, echo, NULL) != 0 || tn_join(f, NULL) != 0)
            CHECK(false);
    }
    return arg;
}

static void test_no_needless_wakes(void)
{
    if (!counting() || migration_forced())
        SKIP("it is told by counters of a plain build");
    struct tn_config c = with(1, NULL);
    start(c);
    spawn_and_join(spawn_many, NULL);
    CHECK(counter(cl, "unpark") <= 2);
    stop();
}

/* ---- waking, again and again, by each way of sleeping ---- */

static tn_waiter waiter;
static _Atomic(uint64_t) seq;

static void *wait_often(void *arg)
{
    for (uintptr_t i = 0; i < (uintptr_t)arg; i++) {
        waiter = tn_wait_prepare();
        atomic_store_explicit(&seq, waiter.seq, memory_order_release);
        CHECK_EQUAL(tn_wait(TN_FOREVER, NULL), 0);
    }
    return NULL;
}

static void wakes(struct tn_config c, uintptr_t n)
{
    tn_fibre *f;
    uint64_t last = 0;
    start(c);
    atomic_store(&seq, 0);
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.cluster = cl}, wait_often, (void *)n), 0);
    for (uintptr_t i = 0; i < n; i++) {
        uint64_t now;
        while ((now = atomic_load_explicit(&seq, memory_order_acquire)) == last)
            sched_yield();
        last = now;
        if (i % 16 == 0)
            nap_us(200); /* until they sleep */
        CHECK(tn_wake((tn_waiter){waiter.fibre, now}));
    }
    CHECK_EQUAL(tn_join(f, NULL), 0);
    stop();
}

static void test_wakes(void)
{
    static const char *const pollers[] = {NULL, TEST_IN_POLLER};
    for (int64_t workers = 1; workers <= 3; workers++)
        for (int p = 0; p < 2; p++)
            for (int64_t idle = 0; idle <= 2; idle++) {
                struct tn_config c = with(workers, NULL);
                c.poller = pollers[p];
                c.idle = idle;
                wakes(c, idle == TN_IDLE_SPIN ? 100 : 400);
            }
}

/* Sleepers with a deadline are woken by time, and by an earlier deadline. */
static void *sleep_ms(void *ms)
{
    tn_time t0 = tn_now();
    CHECK_EQUAL(tn_sleep((uintptr_t)ms * 1000000), 0);
    CHECK(tn_now() - t0 >= (uintptr_t)ms * 1000000);
    return NULL;
}

static void test_deadlines(void)
{
    static const char *const pollers[] = {NULL, TEST_IN_POLLER};
    for (int64_t workers = 1; workers <= 2; workers++)
        for (int p = 0; p < 2; p++) {
            struct tn_config c = with(workers, NULL);
            tn_fibre *late;
            c.poller = pollers[p];
            c.idle = TN_IDLE_BLOCK;
            start(c);
            CHECK_EQUAL(tn_spawn(&late, &(struct tn_attr){.cluster = cl}, sleep_ms, (void *)(uintptr_t)3600000), 0);
            nap_us(2000);
            for (uintptr_t ms = 1; ms < 8; ms += 3)
                spawn_and_join(sleep_ms, (void *)ms);
            stop();
        }
}

/* An expired timer runs at the first scheduling points after a hog. */
static atomic_bool slept;

static void *sleep_then_tell(void *arg)
{
    tn_sleep(1000000);
    atomic_store(&slept, true);
    return arg;
}

static void *hog_then_yield(void *arg)
{
    tn_fibre *f;
    atomic_store(&slept, false);
    CHECK_EQUAL(tn_spawn(&f, NULL, sleep_then_tell, NULL), 0);
    tn_yield();
    for (tn_time end = tn_now() + 5000000; tn_now() < end;)
        ;
    unsigned yields = 0;
    while (!atomic_load(&slept) && yields < 1000) {
        tn_yield();
        yields++;
    }
    CHECK(yields <= 200);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    return arg;
}

static void test_timer_after_hog(void)
{
    start(with(1, NULL));
    spawn_and_join(hog_then_yield, NULL);
    stop();
}

/* ---- on demand, pinned ---- */

static atomic_bool other_ran;

static void *tell(void *arg)
{
    atomic_store(&other_ran, true);
    return arg;
}

static void *hog_until_told(void *arg)
{
    tn_fibre *f;
    atomic_store(&other_ran, false);
    CHECK_EQUAL(tn_spawn(&f, NULL, tell, NULL), 0);
    while (!atomic_load(&other_ran)) /* no scheduling point */
        sched_yield();
    CHECK_EQUAL(tn_join(f, NULL), 0);
    return arg;
}

static void test_on_demand(void)
{
    CHECK_EQUAL(tn_run(NULL, echo, NULL, NULL), 0); /* a sanitizer's thread comes with the first */
    unsigned none = harness_count("task"), before = none + poller_threads();
    struct tn_config c = with(4, NULL);
    c.on_demand = 1;
    start(c);
    CHECK_EQUAL(tn_workers(cl), 4);
    CHECK_EQUAL(harness_count("task"), before + 1);
    for (uint64_t i = 1; counting() && i < 20;
         i++) { /* one worker is enough for that, if it sleeps when work comes */
        CHECK(EVENTUALLY(sleeps() >= i));
        nap_us(500);
        spawn_and_join(echo, NULL);
    }
    if (counting())
        CHECK_EQUAL(harness_count("task"), before + 1);
    spawn_and_join(hog_until_told, NULL);
    CHECK(harness_count("task") >= before + 2);
    CHECK(harness_count("task") <= before + 4);
    stop();
    CHECK(EVENTUALLY(harness_count("task") == none));
    c.on_demand = 0;
    start(c);
    CHECK_EQUAL(harness_count("task"), before + 4);
    stop();
}

static void *count_processors(void *arg)
{
    cpu_set_t set;
    CHECK_EQUAL(sched_getaffinity(0, sizeof set, &set), 0);
    *(int *)arg = CPU_COUNT(&set);
    return NULL;
}

static void test_pin(void)
{
    cpu_set_t all;
    int n = 0;
    CHECK_EQUAL(sched_getaffinity(0, sizeof all, &all), 0);
    for (int64_t pin = 0; pin < 2; pin++) {
        struct tn_config c = with(2, NULL);
        c.pin = pin;
        start(c);
        for (int i = 0; i < 10; i++) {
            spawn_and_join(count_processors, &n);
            CHECK_EQUAL(n, pin ? 1 : CPU_COUNT(&all));
        }
        stop();
        cpu_set_t after;
        CHECK_EQUAL(sched_getaffinity(0, sizeof after, &after), 0);
        CHECK(CPU_EQUAL(&all, &after)); /* of this thread, untouched */
    }
}

/* ---- with --stress: the processor's time itself ---- */

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void test_idle_time(void)
{
    static const int64_t modes[] = {TN_IDLE_BLOCK, TN_IDLE_SPIN_BLOCK};
    for (int m = 0; m < 2; m++) {
        struct tn_config c = with(2, NULL);
        c.idle = modes[m];
        start(c);
        spawn_and_join(spawn_many, NULL);
        nap_us(100000);
        double t0 = cpu_seconds();
        nap_us(2000000);
        double used = cpu_seconds() - t0;
        harness_note("%.1f %% of a processor a worker ", used / 2 / 2 * 100);
        CHECK(used < 2 * 2 * 0.01);
        stop();
    }
}

static void test_many_wakes(void)
{
    harness_watchdog(300);
    for (int p = 0; p < 2; p++) {
        struct tn_config c = with(2, NULL);
        c.poller = p ? TEST_IN_POLLER : NULL;
        c.idle = TN_IDLE_BLOCK;
        wakes(c, 100000);
    }
}

int main(int argc, char **argv)
{
    static const struct test fast[] = {
        {"a blocked runtime is quiet", test_block},
        {"spinning workers never sleep", test_spin},
        {"spin-block sleeps after spin_us", test_spin_block},
        {"no wake-up while nobody sleeps", test_no_needless_wakes},
        {"every way of sleeping can be woken", test_wakes},
        {"deadlines wake, the earlier first", test_deadlines},
        {"an expired timer runs soon after a hog", test_timer_after_hog},
        {"workers on demand", test_on_demand},
        {"pinned workers", test_pin},
    };
    static const struct test stress[] = {
        {"idle costs no processor", test_idle_time},
        {"wake-ups, many", test_many_wakes},
    };
    if (argc > 1 && strcmp(argv[1], "--stress") == 0)
        return HARNESS_RUN("idle-stress", stress);
    return HARNESS_RUN("idle", fast);
}
