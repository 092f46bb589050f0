/* SPDX-License-Identifier: MIT
 *
 * The module pushing: the order of each kind of queue, and for each value of the other knobs the counter, or the worker, that
 * differs. What the four queues do when several are at them is test_queues.c's.
 */
#include "harness.h"

#include <stdatomic.h>
#include <stdio.h>

enum { MANY = 300, FEW = 24 /* every 64th yield is a hard one */ };

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

static int order[2 * FEW];
static unsigned at;

static void *twice(void *number)
{
    order[at++] = (int)(intptr_t)number;
    tn_yield();
    order[at++] = (int)(intptr_t)number;
    return NULL;
}

/* Oldest first, also after a yield: all have run once before the first runs again. */
static void *in_order(void *arg)
{
    tn_fibre *f[FEW];
    at = 0;
    for (int i = 0; i < FEW; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, twice, (void *)(intptr_t)i), 0);
    for (int i = 0; i < FEW; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    unsigned wrong = 0;
    for (int i = 0; i < 2 * FEW; i++)
        wrong += order[i] != i % FEW;
    CHECK_EQUAL(wrong, 0);
    return arg;
}

static void test_order(void)
{
    static const char *const kinds[] = {"locked", "node", "stub", "nemesis"};
    char spec[80];
    if (migration_forced())
        SKIP("every fibre goes through the staging queue");
    for (int i = 0; i < 4; i++) {
        snprintf(spec, sizeof spec, "pushing:fresh=push:queue=%s", kinds[i]);
        run(1, spec, in_order, NULL);
    }
}

/* ---- fresh ---- */

static void *nothing(void *arg)
{
    return arg;
}

static void *spawn_many(void *staged)
{
    tn_fibre *f[MANY];
    uint64_t before = mine("staged");
    for (int i = 0; i < MANY; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, nothing, NULL), 0);
    for (int i = 0; i < MANY; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    *(uint64_t *)staged = mine("staged") - before;
    return NULL;
}

static void test_fresh(void)
{
    uint64_t staging = 0, push = 1;
    if (!counting() || migration_forced())
        SKIP("no counters, or every fibre is staged");
    run(2, "pushing:fresh=staging", spawn_many, &staging);
    run(2, "pushing:fresh=push", spawn_many, &push);
    CHECK(staging >= MANY);
    CHECK_EQUAL(push, 0);
}

/* ---- steal ---- */

static atomic_int stolen;
static atomic_bool over;

static void *count_once(void *arg)
{
    atomic_fetch_add(&stolen, 1);
    return arg;
}

/* Keeps its worker until all others have run somewhere else: those that were pushed behind it have to be stolen. */
static void *hog(void *others)
{
    while (atomic_load(&stolen) != *(int *)others)
        ;
    atomic_store(&over, true);
    return NULL;
}

static void *behind_a_hog(void *tries)
{
    enum { OTHERS = 8 };
    tn_fibre *f[OTHERS + 1];
    int others = OTHERS;
    uint64_t before = mine("steal_hit");
    atomic_store(&stolen, 0);
    atomic_store(&over, false);
    CHECK_EQUAL(tn_spawn(&f[0], NULL, hog, &others), 0);
    for (int i = 1; i <= OTHERS; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, count_once, NULL), 0);
    for (int i = 0; i <= OTHERS; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    CHECK(atomic_load(&over));
    *(uint64_t *)tries = mine("steal_hit") - before;
    return NULL;
}

static void test_steal(void)
{
    uint64_t hits = 0;
    if (!counting() || migration_forced())
        SKIP("no counters, or every fibre is staged");
    run(2, "pushing:fresh=push:steal=one", behind_a_hog, &hits);
    CHECK(hits > 0);
    hits = 0;
    run(2, "pushing:fresh=push:steal=stuck", behind_a_hog, &hits);
    CHECK(hits > 0);
}

/* Each of two workers has its own fibres, which yield: nobody is stuck, so nothing is stolen. */
static void *yield_often(void *arg)
{
    for (int i = 0; i < 2000; i++)
        tn_yield();
    return arg;
}

static void *nobody_stuck(void *returned)
{
    tn_fibre *f[16];
    for (int i = 0; i < 16; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, yield_often, NULL), 0);
    for (int i = 0; i < 16; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    *(uint64_t *)returned = mine("returned");
    return NULL;
}

/* With one worker nothing can be elsewhere; a fibre that was stolen goes back to its owner when it yields. */
static void test_returned(void)
{
    uint64_t returned = 1;
    if (!counting() || migration_forced())
        SKIP("no counters, or every fibre is staged");
    run(1, "pushing:fresh=push", nobody_stuck, &returned);
    CHECK_EQUAL(returned, 0);
}

static const struct test tests[] = {
    {"queue: oldest first", test_order},
    {"fresh: staged or pushed", test_fresh},
    {"steal: behind a hog", test_steal},
    {"returned: not with one worker", test_returned},
};

int main(void)
{
    return HARNESS_RUN("pushing", tests);
}
