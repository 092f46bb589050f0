/* SPDX-License-Identifier: MIT
 *
 * The module multiq: for each value of each knob the order, or the counter, that differs; priorities, and what they are worth.
 * One worker, so that an order is always the same. How far the structure's order is off is test_multiqueue.c's.
 */
#include "harness.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MANY = 300 };

static void run(int64_t workers, const char *spec, void *(*fn)(void *), void *arg)
{
    struct tn_config c = with(workers, spec);
    CHECK_EQUAL(tn_run(&c, fn, arg, NULL), 0);
}

static uint64_t mine(const char *name)
{
    return counter(tn_cluster_self(), name);
}

/* ---- orders ---- */

static int order[MANY];
static unsigned at;

static void *write_down(void *number)
{
    order[at++] = (int)(intptr_t)number;
    return NULL;
}

/* The i-th of n has the number i, and the priority of a table if there is one. */
static void spawn_all(unsigned n, const int *priorities)
{
    tn_fibre *f[MANY];
    at = 0;
    for (unsigned i = 0; i < n; i++) {
        struct tn_attr attr = {.priority = priorities != NULL ? priorities[i] : 0};
        CHECK_EQUAL(tn_spawn(&f[i], &attr, write_down, (void *)(intptr_t)i), 0);
    }
    for (unsigned i = 0; i < n; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    CHECK_EQUAL(at, n);
}

static unsigned inversions(void)
{
    unsigned n = 0;
    for (unsigned i = 1; i < at; i++)
        n += order[i] < order[i - 1];
    return n;
}

static void *count_inversions(void *n)
{
    spawn_all(MANY, NULL);
    *(unsigned *)n = inversions();
    return NULL;
}

/* One queue is exact, and so are two of which two are drawn, but for stamps that are equal; with more, the first of all may not be among those drawn. */
static void test_queues(void)
{
    unsigned one = 1, two = 1, eight = 0;
    if (migration_forced())
        SKIP("a single draw for each push");
    run(1, "multiq:queues=1", count_inversions, &one);
    run(1, "multiq:queues=2:stick=1", count_inversions, &two);
    run(1, "multiq:queues=8:stick=1", count_inversions, &eight);
    CHECK_EQUAL(one, 0);
    CHECK(two <= MANY / 50);
    CHECK(eight > MANY / 10);
    unsigned sticky = 0;
    run(1, "multiq:queues=8:stick=64", count_inversions, &sticky);
    CHECK(sticky > 0 && sticky < eight); /* long runs from one queue, in order, and few jumps */
}

static const int mixed[] = {0, -1, 5, 0, 31, -31, 5, 1};
enum { MIXED = sizeof mixed / sizeof *mixed };

static void *check_order(void *wanted)
{
    spawn_all(MIXED, mixed);
    for (int i = 0; i < MIXED; i++)
        if (!CHECK_EQUAL(order[i], ((const int *)wanted)[i]))
            harness_note("place %d", i);
    return NULL;
}

static void test_level(void)
{
    static const int by_age[] = {0, 1, 2, 3, 4, 5, 6, 7}, by_priority[] = {4, 2, 6, 7, 0, 3, 1, 5};
    run(1, "multiq:queues=1:level=0", check_order, (void *)(uintptr_t)by_age);
    /* A step is worth more time than a spawner may be stopped for. */
    run(1, "multiq:queues=1:level=1000000000", check_order, (void *)(uintptr_t)by_priority);
    run(1, "multiq:queues=1:level=1000000000:buffer=1", check_order, (void *)(uintptr_t)by_priority);
    run(1, "fifo:layout=global", check_order, (void *)(uintptr_t)by_age); /* which knows no priorities */
}

/* One that has waited for longer than what lies between the priorities is worth is no longer overtaken. */
static void *age(void *arg)
{
    tn_fibre *f[2];
    struct tn_attr low = {.priority = -31}, high = {.priority = 31};
    at = 0;
    CHECK_EQUAL(tn_spawn(&f[0], &low, write_down, (void *)0), 0);
    for (tn_time from = tn_now(); tn_now() - from < 62 * 2000 + 1000;)
        ;
    CHECK_EQUAL(tn_spawn(&f[1], &high, write_down, (void *)1), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    CHECK_EQUAL(order[0], *(int *)arg);
    return NULL;
}

static void test_ageing(void)
{
    int low = 0, high = 1;
    run(1, "multiq:queues=1:level=2", age, &low);
    run(1, "multiq:queues=1:level=1000000", age, &high);
}

static void *try_priorities(void *arg)
{
    static const int bad[] = {TN_PRIORITY_MAX + 1, -TN_PRIORITY_MAX - 1, 1 << 30, -(1 << 30)};
    tn_fibre *f;
    for (int i = 0; i < 4; i++) {
        struct tn_attr attr = {.priority = bad[i]};
        f = (tn_fibre *)arg;
        CHECK_EQUAL(tn_spawn(&f, &attr, write_down, NULL), EINVAL);
        CHECK(f == NULL);
    }
    for (int sign = -1; sign <= 1; sign += 2) {
        struct tn_attr attr = {.priority = sign * TN_PRIORITY_MAX};
        CHECK_EQUAL(tn_spawn(&f, &attr, write_down, NULL), 0);
        CHECK_EQUAL(tn_join(f, NULL), 0);
    }
    return NULL;
}

static void test_priorities(void)
{
    int any = 0;
    run(1, "multiq", try_priorities, &any);
    run(1, "fifo", try_priorities, &any);
}

/* Among fibres that yield for ever to each other, whatever their priority, the least urgent comes to run. */
static atomic_bool ran;

static void *yield_until_ran(void *arg)
{
    while (!atomic_load(&ran))
        tn_yield();
    return arg;
}

static void *set_ran(void *arg)
{
    atomic_store(&ran, true);
    return arg;
}

static void *starving(void *arg)
{
    tn_fibre *f[6];
    struct tn_attr low = {.priority = -31}, high = {.priority = 31};
    atomic_store(&ran, false);
    for (int i = 0; i < 6; i++)
        CHECK_EQUAL(tn_spawn(&f[i], i == 2 ? &low : &high, i == 2 ? set_ran : yield_until_ran, NULL), 0);
    for (int i = 0; i < 6; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    return arg;
}

static void test_nobody_starves(void)
{
    for (int64_t workers = 1; workers <= 2; workers++) {
        run(workers, "multiq:level=100", starving, NULL);
        run(workers, "multiq:queues=1:level=100:buffer=1", starving, NULL);
    }
}

/* ---- counters ---- */

struct counts {
    uint64_t drawn, refilled;
};

static void *count(void *arg)
{
    struct counts *c = arg;
    spawn_all(MANY, NULL);
    *c = (struct counts){mine("drawn"), mine("refilled")};
    return NULL;
}

static void test_counters(void)
{
    struct counts each, rare, small, large;
    if (migration_forced() || !counting())
        SKIP("it is told by counters of a plain build");
    run(1, "multiq:stick=1", count, &each);
    run(1, "multiq:stick=64", count, &rare);
    CHECK(each.drawn >= 3 * MANY); /* one for a push, two for a pop */
    CHECK(rare.drawn < each.drawn / 4);
    run(1, "multiq:buffer=1", count, &small);
    run(1, "multiq:buffer=1024", count, &large);
    CHECK(small.refilled > MANY / 2);
    CHECK_EQUAL(large.refilled, 0);
}

/* A worker leaves: its queues' share is still found, in the others. */
static atomic_uint done;

static void *add_one(void *arg)
{
    atomic_fetch_add(&done, 1);
    return arg;
}

static void *leave(void *arg)
{
    tn_cluster *cl = tn_cluster_self();
    for (int round = 0; round < 20; round++) {
        atomic_store(&done, 0);
        while (tn_workers(cl) < 4)
            if (tn_workers_add(cl, 1) != 0) /* one that leaves still has its slot */
                tn_yield();
        for (int i = 0; i < MANY; i++)
            CHECK_EQUAL(tn_spawn(NULL, NULL, add_one, NULL), 0);
        while (tn_workers_remove(cl, 3) == EAGAIN && tn_workers(cl) > 1)
            tn_yield();
        while (atomic_load(&done) != MANY)
            tn_yield();
    }
    *(uint64_t *)arg = mine("emptied");
    return NULL;
}

static void test_leaving(void)
{
    uint64_t emptied = 0;
    struct tn_config c = with(4, "multiq:queues=3");
    c.slots = 8;
    CHECK_EQUAL(tn_run(&c, leave, &emptied, NULL), 0);
    if (counting())
        CHECK(emptied >= 3);
}

int main(void)
{
    static const struct test tests[] = {
        {"queues and stick: orders", test_queues},
        {"level: by age, by priority", test_level},
        {"level: who has waited long enough", test_ageing},
        {"priorities out of range", test_priorities},
        {"nobody starves", test_nobody_starves},
        {"stick and buffer: counters", test_counters},
        {"a worker leaves", test_leaving},
    };
    return HARNESS_RUN("multiq", tests);
}
