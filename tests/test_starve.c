/* SPDX-License-Identifier: MIT
 *
 * Work behind a hog, while the other worker is never idle: its fibres yield to each other until that work has run.
 * Thieves that steal only when they have nothing to run would wait for ever (003 §4.4.4).
 */
#include <errno.h>
#include <stdatomic.h>

#include "harness.h"

#include <string.h>
#include <tenter_sync.h>

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

/* ---- work that is placed with a worker that has left, while the last one is never idle ---- */

static tn_waiter sleeper;
static atomic_bool sleeps;

static void *sleeps_on_1(void *arg)
{
    while (tn_worker_self() != 1)
        tn_sleep(100000);
    sleeper = tn_wait_prepare();
    atomic_store(&sleeps, true);
    tn_wait(TN_FOREVER, NULL);
    atomic_store(&ran, SPAWNED);
    return arg;
}

static void *keeps_busy(void *arg)
{
    while (atomic_load(&ran) < SPAWNED)
        tn_yield();
    return arg;
}

static void *first_of_left(void *arg)
{
    tn_fibre *f, *g;
    uintptr_t handle;
    CHECK_EQUAL(tn_spawn(&f, NULL, sleeps_on_1, NULL), 0);
    while (!atomic_load(&sleeps))
        tn_yield();
    tn_sleep(1000000); /* so that it is off its stack before its worker leaves, as a rule */
    CHECK_EQUAL(tn_workers_remove(tn_cluster_self(), 1), 0);
    while (tn_worker_thread(tn_cluster_self(), 1, &handle) != ESRCH)
        tn_sleep(100000);
    CHECK_EQUAL(tn_spawn(&g, NULL, keeps_busy, NULL), 0);
    CHECK(tn_wake(sleeper)); /* into the inbox of worker 1 */
    keeps_busy(arg);
    tn_join(f, NULL);
    tn_join(g, NULL);
    return arg;
}

static void left_behind(void)
{
    struct tn_config config = with(2, "fifo:place=home");
    atomic_store(&ran, 0);
    atomic_store(&sleeps, false);
    CHECK_EQUAL(tn_run(&config, first_of_left, NULL, NULL), 0);
    CHECK_EQUAL(atomic_load(&ran), SPAWNED);
}

/* ---- more than a queue has room for, that never become fewer: pairs that wake each other ---- */

enum { PAIRS = 500, TURNS = 200 };

static struct pair {
    tn_sem sem[2];
    int turns;
} pair[PAIRS];

static int done[TURNS + 1], most; /* pairs that have had so many turns or more; how far one was ahead of the last */

static void *takes_turns(void *arg)
{
    uintptr_t which = (uintptr_t)arg;
    struct pair *p = &pair[which / 2];
    for (int i = 0; i < TURNS; i++) {
        tn_sem_wait(&p->sem[which % 2]);
        if (which % 2 == 0) {
            done[++p->turns]++;
            for (int behind = p->turns - most; behind > 0 && done[behind] < PAIRS; behind--)
                most++;
        }
        tn_sem_post(&p->sem[1 - which % 2]);
    }
    return NULL;
}

static void *first_of_crowd(void *arg)
{
    static tn_fibre *f[2 * PAIRS];
    memset(done, 0, sizeof done);
    most = 1;
    for (int i = 0; i < PAIRS; i++) {
        pair[i].turns = 0;
        tn_sem_init(&pair[i].sem[0], 1, 1);
        tn_sem_init(&pair[i].sem[1], 0, 1);
    }
    for (int i = 0; i < 2 * PAIRS; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, takes_turns, (void *)(uintptr_t)i), 0);
    for (int i = 0; i < 2 * PAIRS; i++)
        tn_join(f[i], NULL);
    return arg;
}

/* None of them gets far ahead of another one (in the inbox others were behind by all their turns). */
static void crowd(const char *spec)
{
    struct tn_config config = with(1, spec);
    CHECK_EQUAL(tn_run(&config, first_of_crowd, NULL, NULL), 0);
    CHECK(most <= 5);
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

static void crowds(void)
{
    static const char *const specs[] = {"fifo",           "fifo:private=0", "fifo:place=home",   "fifo:place=owner",
                                        "fifo:full=grow", "multiq",         "fifo:layout=global"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        crowd(specs[i]);
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
        {"placed with a worker that has left", left_behind},
        {"many that are always ready", crowds},
    };
    return HARNESS_RUN("work behind a hog, nobody idle", tests);
}
