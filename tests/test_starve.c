/* SPDX-License-Identifier: MIT
 *
 * Work behind a hog, while the other worker is never idle: its fibres yield to each other until that work has run.
 * Thieves that steal only when they have nothing to run would wait for ever (003 §4.4.4).
 */
#include <stdatomic.h>

#include "harness.h"

enum { SPAWNED = 3, YIELDERS = 4 };

static atomic_int ran, running;
static int yielders;

static void *count(void *arg)
{
    atomic_fetch_add(&ran, 1);
    return arg;
}

static void *yielder(void *arg)
{
    atomic_fetch_add(&running, 1);
    while (atomic_load(&ran) < SPAWNED)
        tn_yield();
    return arg;
}

/* Spawns, then computes until that has run: no scheduling point. */
static void *hog(void *arg)
{
    while (atomic_load(&running) < yielders)
        ;
    for (int i = 0; i < SPAWNED; i++)
        while (tn_spawn(NULL, NULL, count, NULL) != 0)
            ;
    while (atomic_load(&ran) < SPAWNED)
        ;
    return arg;
}

static void *first(void *arg)
{
    tn_fibre *f[YIELDERS], *h;
    CHECK_EQUAL(tn_spawn(&h, NULL, hog, NULL), 0);
    for (int i = 0; i < yielders; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, yielder, NULL), 0);
    while (atomic_load(&ran) < SPAWNED)
        tn_yield();
    for (int i = 0; i < yielders; i++)
        tn_join(f[i], NULL);
    tn_join(h, NULL);
    return arg;
}

/* A hang is the failure; the watchdog tells. */
static void starve(const char *spec)
{
    for (yielders = 1; yielders <= YIELDERS; yielders++) {
        struct tn_config config = with(2, spec);
        atomic_store(&ran, 0);
        atomic_store(&running, 0);
        CHECK_EQUAL(tn_run(&config, first, NULL, NULL), 0);
        CHECK_EQUAL(atomic_load(&ran), SPAWNED);
    }
}

static void fifo(void)
{
    starve("fifo");
}
static void fifo_open(void)
{
    starve("fifo:private=0");
}
static void fifo_nearest(void)
{
    starve("fifo:victims=nearest:nearest=1:steal=one");
}
static void fifo_busy(void)
{
    starve("fifo:victims=busy");
}
static void fifo_global(void)
{
    starve("fifo:layout=global");
}
static void lifo(void)
{
    starve("lifo");
}
static void lifo_open(void)
{
    starve("lifo:private=0");
}

int main(void)
{
    static const struct test tests[] = {
        {"fifo", fifo},
        {"fifo without a private part", fifo_open},
        {"fifo, one from the nearest", fifo_nearest},
        {"fifo, the longest busy first", fifo_busy},
        {"fifo, global", fifo_global},
        {"lifo", lifo},
        {"lifo without a private part", lifo_open},
    };
    return HARNESS_RUN("work behind a hog, nobody idle", tests);
}
