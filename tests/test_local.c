/* SPDX-License-Identifier: MIT
 *
 * Fibre-local storage: values by key, destructors at the fibre's end, which may block.
 */
#include "harness.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int destroyed;

static void count(void *value)
{
    atomic_fetch_add_explicit(&destroyed, (int)(intptr_t)value, memory_order_relaxed);
}

static void count_slowly(void *value)
{
    tn_fibre *self = tn_fibre_self();
    for (int i = 0; i < 5; i++) {
        tn_yield();
        tn_sleep(20000);
    }
    CHECK(self != NULL && self == tn_fibre_self());
    count(value);
}

static tn_key plain, counted = {count}, slow = {count_slowly}, many[40];

static void in_runtime(int64_t workers, void *(*fn)(void *), void *arg)
{
    struct tn_config c = with(workers, NULL);
    CHECK_EQUAL(tn_run(&c, fn, arg, NULL), 0);
}

static void *sets(void *arg)
{
    intptr_t mine = (intptr_t)arg;
    unsigned wrong = 0;
    CHECK(tn_local_get(&plain) == NULL && tn_local_get(&counted) == NULL);
    CHECK_EQUAL(tn_local_set(&plain, NULL), 0);
    for (int round = 0; round < 20; round++) {
        wrong += tn_local_set(&plain, (void *)(mine + round)) != 0;
        for (intptr_t k = 0; k < 40; k++)
            wrong += tn_local_set(&many[k], (void *)(mine * 100 + k)) != 0;
        tn_yield();
        wrong += (intptr_t)tn_local_get(&plain) != mine + round;
        for (intptr_t k = 0; k < 40; k++)
            wrong += (intptr_t)tn_local_get(&many[k]) != mine * 100 + k;
        for (intptr_t k = 0; k < 40; k += 1 + round % 3) {
            wrong += tn_local_set(&many[k], NULL) != 0;
            wrong += tn_local_get(&many[k]) != NULL;
        }
    }
    CHECK_EQUAL(wrong, 0);
    return NULL;
}

static void *crowd(void *fn)
{
    tn_fibre *f[16];
    for (int round = 0; round < 3; round++) { /* stacks and blocks that others have used before */
        for (uintptr_t i = 0; i < 16; i++)
            CHECK_EQUAL(tn_spawn(&f[i], NULL, *(void *(**)(void *))fn, (void *)(i + 1)), 0);
        for (int i = 0; i < 16; i++)
            CHECK_EQUAL(tn_join(f[i], NULL), 0);
    }
    return NULL;
}

static void test_values(void)
{
    void *(*fn)(void *) = sets;
    in_runtime(3, crowd, &fn);
}

/* ---- destructors ---- */

static void *leaves_values(void *arg)
{
    CHECK_EQUAL(tn_local_set(&counted, (void *)1), 0);
    CHECK_EQUAL(tn_local_set(&slow, (void *)100), 0);
    CHECK_EQUAL(tn_local_set(&plain, arg), 0);
    if ((uintptr_t)arg % 2)
        tn_exit(arg);
    return arg;
}

static void *joins_after_destructors(void *arg)
{
    for (uintptr_t i = 0; i < 10; i++) {
        tn_fibre *f;
        void *value = NULL;
        atomic_store(&destroyed, 0);
        CHECK_EQUAL(tn_spawn(&f, NULL, leaves_values, (void *)i), 0);
        CHECK_EQUAL(tn_join(f, &value), 0);
        CHECK_EQUAL(atomic_load(&destroyed), 101); /* before the join is told */
        CHECK_EQUAL((uintptr_t)value, i);
        CHECK(tn_local_get(&counted) == NULL);
    }
    return arg;
}

static void test_destructors(void)
{
    in_runtime(1, joins_after_destructors, NULL);
    in_runtime(2, joins_after_destructors, NULL);
}

static char order[8];
static void write_down(void *letter)
{
    strncat(order, letter, sizeof order - strlen(order) - 1);
}
static tn_key in_order[] = {{write_down}, {write_down}, {write_down}};

static void *sets_in_order(void *arg)
{
    static char letters[][2] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++)
        tn_local_set(&in_order[i], letters[i]);
    return arg;
}

static int again_left, again_runs;
static void again(void *value);
static tn_key again_key = {again};
static void again(void *value)
{
    again_runs++;
    if (again_left-- > 0)
        CHECK_EQUAL(tn_local_set(&again_key, value), 0);
    if (again_runs == 2)
        tn_exit(value); /* the rest is done all the same */
}

static void *sets_again(void *arg)
{
    tn_local_set(&again_key, arg);
    return NULL;
}

static void *odd_ones(void *arg)
{
    tn_fibre *f;
    order[0] = '\0';
    CHECK_EQUAL(tn_spawn(&f, NULL, sets_in_order, NULL), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK(strcmp(order, "cba") == 0);
    again_left = 3;
    again_runs = 0;
    CHECK_EQUAL(tn_spawn(&f, NULL, sets_again, &f), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK_EQUAL(again_runs, 4);
    again_left = 1000000; /* for ever: it ends nevertheless */
    again_runs = 2;
    CHECK_EQUAL(tn_spawn(&f, NULL, sets_again, &f), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK_EQUAL(again_runs - 2, 4 * 6); /* four times as often as there is room for in its one block */
    CHECK_EQUAL(tn_spawn(&f, NULL, sets, (void *)1), 0); /* what was forgotten is nobody else's */
    CHECK_EQUAL(tn_join(f, NULL), 0);
    return arg;
}

static void test_odd_ones(void)
{
    in_runtime(1, odd_ones, NULL);
}

static void *sets_and_waits(void *arg)
{
    tn_local_set(&counted, (void *)1);
    atomic_fetch_add(&destroyed, 1000);
    tn_wait_prepare();
    tn_wait(TN_FOREVER, NULL);
    return arg;
}

static void test_dropped(void) /* no destructor, and (test leaks) no byte left */
{
    struct tn_config c = with(2, NULL);
    tn_runtime *rt;
    atomic_store(&destroyed, 0);
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    for (int i = 0; i < 20; i++)
        CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.runtime = rt}, sets_and_waits, NULL), 0);
    CHECK(EVENTUALLY(atomic_load(&destroyed) == 20000));
    CHECK_EQUAL(tn_stop(rt), 0);
    CHECK_EQUAL(atomic_load(&destroyed), 20000);
}

static void test_plain_thread(void)
{
    CHECK_EQUAL(tn_local_set(&plain, &plain), EPERM);
    CHECK(tn_local_get(&plain) == NULL);
}

int main(void)
{
    static const struct test tests[] = {
        {"each fibre has its own values", test_values},
        {"destructors run at the end, and may block", test_destructors},
        {"order, values set again, exit in a destructor", test_odd_ones},
        {"fibres that tn_stop drops", test_dropped},
        {"plain threads have none", test_plain_thread},
    };
    return HARNESS_RUN("local", tests);
}
