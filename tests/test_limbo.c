/* SPDX-License-Identifier: MIT
 *
 * What a worker steals that goes on afterwards, in a hard yield or in passing, was nowhere for a moment: who looked just
 * then, and went to sleep, is woken. Argument: the plug-in tests/modules/limbo.c.
 */
#include "harness.h"

#include <stdatomic.h>
#include <stdio.h>

static const char *plugin;
static atomic_bool in_place, at_work;
static atomic_uint hogs, done;

/* One of the two that are stolen. It does not let go before the other one has begun, on another worker. */
static void *one_of_two(void *arg)
{
    atomic_fetch_add(&hogs, 1);
    while (atomic_load(&hogs) < 2)
        ;
    atomic_fetch_add(&done, 1);
    return arg;
}

/* They lie behind this one. */
static void *in_front(void *arg)
{
    atomic_store(&in_place, true);
    while (!atomic_load(&at_work))
        ;
    CHECK_EQUAL(tn_spawn(NULL, NULL, one_of_two, NULL), 0);
    CHECK_EQUAL(tn_spawn(NULL, NULL, one_of_two, NULL), 0);
    while (atomic_load(&done) < 2)
        ;
    return arg;
}

static void *yields(void *arg)
{
    for (atomic_store(&at_work, true); atomic_load(&done) < 2;)
        tn_yield_hard();
    return arg;
}

/* A crowd of which each ends and makes nobody ready: nothing but the theft itself can wake the one that sleeps. */
static void *ends_soon(void *arg)
{
    for (tn_time end = tn_now() + 20000; tn_now() < end;)
        ;
    return arg;
}

static void *has_a_crowd(void *arg)
{
    for (int i = build_has("sanitize=none") ? 3000 : 300; i > 0; i--)
        CHECK_EQUAL(tn_spawn(NULL, NULL, ends_soon, NULL), 0);
    atomic_store(&at_work, true);
    return arg;
}

static void steal_by(void *(*thief)(void *))
{
    struct tn_config c = with(3, plugin);
    tn_runtime *rt;
    tn_fibre *f, *g;
    if (migration_forced())
        SKIP("all fibres go through the shared queue");
    c.idle = TN_IDLE_BLOCK;
    for (int i = 0; i < 3; i++) {
        atomic_store(&in_place, false);
        atomic_store(&at_work, false);
        atomic_store(&hogs, 0);
        atomic_store(&done, 0);
        if (!CHECK_EQUAL(tn_start(&rt, &c), 0))
            return;
        CHECK_EQUAL(tn_spawn(&g, &(struct tn_attr){.runtime = rt}, in_front, NULL), 0);
        CHECK(EVENTUALLY(atomic_load(&in_place)));
        CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, thief, NULL), 0); /* on another worker */
        CHECK_EQUAL(tn_join(f, NULL), 0);
        CHECK_EQUAL(tn_join(g, NULL), 0);
        CHECK_EQUAL(tn_stop(rt), 0);
    }
}

static void test_yield(void)
{
    steal_by(yields);
}

static void test_in_passing(void)
{
    steal_by(has_a_crowd);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"a hard yield that steals two", test_yield},
        {"a busy worker that steals two in passing", test_in_passing},
    };
    if (argc < 2) {
        fprintf(stderr, "usage: test_limbo PLUGIN\n");
        return 2;
    }
    plugin = argv[1];
    return HARNESS_RUN("limbo", tests);
}
