/* SPDX-License-Identifier: MIT
 *
 * Who watches on behalf of all: whatever becomes ready, and whatever timer is armed, is seen to although the worker
 * that knew of it runs a hog from then on. Each program here ends by itself only if another worker takes over;
 * where none does, the hog gives up after many naps and tells.
 */
#include "harness.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 6 };

static tn_runtime *rt;
static tn_cluster *cl;
static atomic_bool happened, armed;

static void start(struct tn_config c)
{
    atomic_store(&happened, false);
    atomic_store(&armed, false);
    if (!CHECK_EQUAL(tn_start(&rt, &c), 0))
        exit(1);
    cl = tn_cluster_first(rt);
}

static tn_fibre *spawn(void *(*fn)(void *), void *arg)
{
    tn_fibre *f = NULL;
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.cluster = cl}, fn, arg), 0);
    return f;
}

static bool past(tn_time limit)
{
    return tn_now() >= limit;
}

static tn_time seconds(unsigned n)
{
    return tn_now() + n * UINT64_C(1000000000);
}

/* No scheduling point until it happened. NULL: it did. */
static void *hog(void *arg)
{
    return EVENTUALLY(atomic_load(&happened)) ? arg : &happened;
}

static bool join_hog(tn_fibre *f)
{
    void *value = NULL;
    CHECK_EQUAL(tn_join(f, &value), 0);
    return CHECK(value == NULL);
}

static void *sleep_far(void *arg)
{
    tn_sleep(UINT64_C(3600000000000));
    return arg;
}

/* ---- a deadline becomes the earliest ---- */

/* All others are asleep, one of them with a deadline: it is counted, and nobody searches any more. */
static void until_they_sleep(void)
{
    tn_time limit = seconds(3), quiet = tn_now();
    for (uint64_t tries = 0; !past(limit) && (counter(cl, "watch") == 0 || !past(quiet + 20000000));) {
        uint64_t now = counter(cl, "steal_try");
        if (now != tries)
            quiet = tn_now();
        tries = now;
        sched_yield();
    }
}

static void *sleep_near(void *arg)
{
    until_they_sleep();
    atomic_store(&armed, true);
    tn_sleep(80000000);
    atomic_store(&happened, true);
    return arg;
}

/* The watcher sleeps with a deadline that is far. The other worker arms an earlier one, searches, and finds a hog:
 * nobody was woken for that, since it was searching. The watcher must have been told of the deadline. */
static void test_earliest(void)
{
    bool good = true;
    if (!counting())
        SKIP("it takes counters to see who sleeps");
    for (int i = 0; i < ROUNDS && good; i++) {
        struct tn_config c = with(2, "fifo");
        c.idle = TN_IDLE_SPIN_BLOCK;
        c.spin_us = 100000;
        start(c);
        spawn(sleep_far, NULL);
        tn_fibre *near = spawn(sleep_near, NULL);
        EVENTUALLY(atomic_load(&armed));
        nap_us(5000);
        good = join_hog(spawn(hog, NULL));
        CHECK_EQUAL(tn_join(near, NULL), 0);
        CHECK_EQUAL(tn_stop(rt), 0);
    }
}

/* ---- the watcher goes to work ---- */

static tn_waiter waiter[2];
static atomic_uint waiting;

static void wait_here(int which)
{
    waiter[which] = tn_wait_prepare();
    atomic_fetch_add(&waiting, 1);
    tn_wait(TN_FOREVER, NULL);
}

static void *wait_then_hog(void *arg)
{
    wait_here(0);
    return hog(arg);
}

static void *wait_then_sleep(void *arg)
{
    wait_here(1);
    atomic_store(&armed, true);
    tn_sleep(60000000);
    atomic_store(&happened, true);
    return arg;
}

static uint64_t sleeps(void)
{
    return counter(cl, "park") + counter(cl, "watch");
}

/* Two fibres have their home at the first worker. One of them sleeps there, so that this worker watches; then the
 * other one is woken, at home, and hogs. The second worker, asleep without a deadline, must take over the watch. */
static void test_hand_on(void)
{
    bool good = true;
    if (!counting())
        SKIP("it takes counters to see who sleeps");
    for (int i = 0; i < ROUNDS && good; i++) {
        struct tn_config c = with(1, "fifo:place=home");
        c.slots = 2;
        c.idle = TN_IDLE_BLOCK;
        atomic_store(&waiting, 0);
        start(c);
        tn_fibre *hogs = spawn(wait_then_hog, NULL), *sleeper = spawn(wait_then_sleep, NULL);
        CHECK(EVENTUALLY(atomic_load(&waiting) == 2));
        nap_us(2000);
        uint64_t before = sleeps();
        CHECK_EQUAL(tn_workers_add(cl, 1), 0);
        EVENTUALLY(sleeps() != before);
        nap_us(2000);
        before = counter(cl, "watch");
        CHECK(tn_wake(waiter[1]));
        EVENTUALLY(atomic_load(&armed) && counter(cl, "watch") != before);
        nap_us(2000);
        CHECK(tn_wake(waiter[0]));
        good = join_hog(hogs);
        CHECK_EQUAL(tn_join(sleeper, NULL), 0);
        CHECK_EQUAL(tn_stop(rt), 0);
    }
}

/* ---- a search that others relied on ends ---- */

enum { ALL = 3 };
static atomic_uint running;

static void *hog_together(void *arg)
{
    (void)arg;
    if (atomic_fetch_add(&running, 1) + 1 == ALL)
        atomic_store(&happened, true);
    return hog(NULL);
}

static void *spawn_and_hog(void *out)
{
    tn_fibre **f = out;
    for (int i = 1; i < ALL; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, hog_together, NULL), 0);
    return hog_together(NULL);
}

/* A burst wakes one worker: it searches. What it finds hogs it, so it must wake a successor for the rest. */
static void test_burst(void)
{
    bool good = true;
    struct tn_config c = with(ALL, "fifo");
    c.idle = TN_IDLE_BLOCK;
    start(c);
    for (int i = 0; i < 100 && good; i++) {
        tn_fibre *f[ALL];
        atomic_store(&happened, false);
        atomic_store(&running, 0);
        if (i % 4 != 0)
            nap_us(500); /* until they sleep */
        f[0] = spawn(i % 2 == 0 ? hog_together : spawn_and_hog, f);
        for (int k = 1; k < ALL && i % 2 == 0; k++)
            f[k] = spawn(hog_together, NULL);
        for (int k = 0; k < ALL; k++)
            good = join_hog(f[k]) && good;
    }
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- an owner that moves is asked ---- */

static void *keep_moving(void *arg)
{
    for (int i = 0; i < 50; i++)
        tn_yield();
    return arg;
}

/* The owner holds several fibres to itself and goes from one to the next; the other worker spins. */
static void *hold_some(void *arg)
{
    uint64_t before = counter(tn_cluster_self(), "asked");
    while (counter(tn_cluster_self(), "asked") == before) { /* if never, the watchdog tells */
        tn_fibre *f[8];
        for (int i = 0; i < 8; i++)
            CHECK_EQUAL(tn_spawn(&f[i], NULL, keep_moving, NULL), 0);
        for (int i = 0; i < 8; i++)
            CHECK_EQUAL(tn_join(f[i], NULL), 0);
    }
    return arg;
}

static void test_asked(void)
{
    static const char *const specs[] = {"fifo", "lifo", "fifo:private=32:steal=one", "lifo:private=32"};
    if (migration_forced() || !counting())
        SKIP("it is told by counters of a plain build");
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct tn_config c = with(2, specs[i]);
        c.idle = TN_IDLE_SPIN;
        CHECK_EQUAL(tn_run(&c, hold_some, NULL, NULL), 0);
    }
}

int main(void)
{
    static const struct test tests[] = {
        {"a deadline that becomes the earliest is watched", test_earliest},
        {"a watcher that goes to work hands the watch on", test_hand_on},
        {"a burst wakes one worker after the other", test_burst},
        {"an owner that moves is asked for work", test_asked},
    };
    return HARNESS_RUN("watch", tests);
}
