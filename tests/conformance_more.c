/* SPDX-License-Identifier: MIT
 *
 * Conformance, third part: what shows only with several workers that look for work for the last time before they park, with
 * a crowd, and with a second cluster.
 */
#include "conformance.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- work that comes when a worker has looked for the last time, and before it is seen to park ---- */

/* With `spin-block` and no time to spin a worker looks at the clock once in between. (The linker gives us the calls.) */
static pthread_t parker;
static atomic_bool parks, asked, placed, over;
static bool lost;
static atomic_int keeps[2]; /* by worker: a hog keeps it busy */
static tn_waiter waits_for;
static atomic_bool waits;

tn_time __wrap_tn_now(void);
tn_time __real_tn_now(void);
tn_time __wrap_tn_now(void)
{
    if (atomic_load(&parks) && pthread_equal(parker, pthread_self()) && atomic_exchange(&parks, false)) {
        atomic_store(&asked, true);
        while (!atomic_load(&placed))
            sched_yield();
    }
    return __real_tn_now();
}

static void *sleeps(void *arg)
{
    waits_for = tn_wait_prepare();
    atomic_store(&waits, true);
    CHECK_EQUAL(tn_wait(TN_FOREVER, NULL), 0);
    return set_flag(arg);
}

/* Who brings the work: a plain thread that spawns or wakes, or a fibre on the other worker that spawns. */
enum bringer { SPAWNS, WAKES, HOG_SPAWNS, BRINGERS };

static void *hog(void *bringer)
{
    atomic_int *mine = &keeps[tn_worker_self()];
    atomic_store(mine, 1);
    while (atomic_load(mine) != 0 && !atomic_load(&asked))
        sched_yield();
    if (atomic_load(mine) == 0) { /* this worker's next look at the clock is that of its last look for work */
        parker = pthread_self();
        atomic_store(&parks, true);
        return NULL;
    }
    if (bringer == (void *)HOG_SPAWNS) {
        spawn(set_flag, 0, true);
        atomic_store(&placed, true);
    }
    while (!atomic_load(&flag) && !atomic_load(&over))
        sched_yield();
    return NULL;
}

/* Worker `which` of so many parks; the others are busy. False: it has parked, and its look at the clock did not come by here:
 * a worker that has slept and that nobody woke looks around only once (so where a hog's pool had to be helped). */
static bool before_parking(int workers, int which, enum bringer bringer)
{
    struct tn_config c = with_module(workers);
    c.idle = TN_IDLE_SPIN_BLOCK;
    c.spin_us = 0;
    start_as(&c);
    flag = asked = placed = over = waits = lost = false;
    keeps[0] = keeps[1] = 0;
    tn_fibre *f = bringer == WAKES ? spawn(sleeps, 0, false) : NULL, *hogs[2];
    if (f != NULL)
        CHECK(EVENTUALLY(atomic_load(&waits)));
    for (int i = 0; i < workers; i++)
        hogs[i] = spawn(hog, bringer, false);
    for (int i = 0; i < workers && !lost; i++)
        lost = !CHECK(EVENTUALLY(atomic_load(&keeps[i]) != 0));
    if (lost) {
        atomic_store(&over, true);
        atomic_store(&asked, true);
        stop();
        return true;
    }
    uint64_t parked = counter(cl, "park");
    atomic_store(&keeps[which], 0);
    bool seen = EVENTUALLY(atomic_load(&asked) || counter(cl, "park") != parked) && atomic_load(&asked);
    if (!seen) {
        atomic_store(&parks, false);
        atomic_store(&asked, true);
    }
    if (bringer == WAKES)
        tn_wake(waits_for);
    else if (bringer == SPAWNS)
        f = spawn(set_flag, 0, false);
    if (bringer != HOG_SPAWNS)
        atomic_store(&placed, true);
    lost = !CHECK(EVENTUALLY(atomic_load(&flag))); /* then may_have_work() said that there was none */
    atomic_store(&over, true);
    for (int i = 0; i < workers; i++)
        join(hogs[i]);
    if (f != NULL && !lost)
        join(f);
    stop();
    return seen;
}

void test_before_parking(void)
{
    bool seen = false;
    for (int workers = 1; workers <= 2; workers++)
        for (int which = 0; which < workers; which++)
            for (enum bringer b = SPAWNS; b < (workers == 1 ? HOG_SPAWNS : BRINGERS); b++) {
                seen = before_parking(workers, which, b) || seen;
                if (lost)
                    return;
            }
    if (!seen)
        SKIP("link-time optimisation has put the clock into its callers");
}

/* ---- nobody starves in a crowd ---- */

enum { CROWD = 1500, FEWER = 300, SLEEPERS = 100 }; /* FEWER: under a sanitizer */

static tn_fibre *crowded[CROWD];
static int crowd_there, crowd_until, crowd_setter;

/* From inside: a thread would have to wait for the system to run a worker for each that a module with little room refuses. */
static void *spawns_crowd(void *hard)
{
    for (; crowd_there < crowd_until; crowd_there++)
        crowded[crowd_there] =
            spawn(crowd_there == crowd_setter ? set_flag : yield_until_flag, (uintptr_t)hard, false);
    return NULL;
}

/* One in the midst of many that yield comes to run. Meanwhile a dump asks for the lengths of the queues. */
static bool crowd(int64_t workers, bool hard)
{
    const int n = build_has("sanitize=none") ? CROWD : FEWER;
    start(workers);
    atomic_store(&flag, false);
    int nowhere = open("/dev/null", O_WRONLY);
    crowd_there = 0;
    crowd_until = crowd_setter = n / 2;
    join(spawn(spawns_crowd, hard, false));
    CHECK_EQUAL(tn_dump(nowhere), 0);
    crowd_until = n;
    join(spawn(spawns_crowd, hard, false));
    bool came = CHECK(EVENTUALLY(atomic_load(&flag)));
    atomic_store(&flag, true);
    for (int i = 0; i < n; i++)
        join(crowded[i]);
    close(nowhere);
    stop();
    return came;
}

void test_crowd(void)
{
    for (int64_t workers = 1; workers <= 2; workers++)
        for (int hard = 0; hard < 2; hard++)
            if (!crowd(workers, hard))
                return;
}

static tn_waiter sleeper[SLEEPERS];
static atomic_uint asleep, awake;

static void *sleeps_once(void *i)
{
    sleeper[(uintptr_t)i] = tn_wait_prepare();
    atomic_fetch_add(&asleep, 1);
    CHECK_EQUAL(tn_wait(TN_FOREVER, NULL), 0);
    atomic_fetch_add(&awake, 1);
    return NULL;
}

static void *wakes_all(void *arg)
{
    for (int i = 0; i < SLEEPERS; i++)
        tn_wake(sleeper[i]);
    return arg;
}

/* Those that are woken come to run while two yield for ever. */
static bool woken_among_yielders(int64_t workers, bool hard, bool by_fibre)
{
    tn_fibre *f[2 + SLEEPERS];
    start(workers);
    atomic_store(&flag, false);
    asleep = awake = 0;
    for (uintptr_t i = 0; i < SLEEPERS; i++)
        f[2 + i] = spawn(sleeps_once, i, false);
    CHECK(EVENTUALLY(atomic_load(&asleep) == SLEEPERS));
    for (int i = 0; i < 2; i++)
        f[i] = spawn(yield_until_flag, hard, false);
    if (by_fibre)
        join(spawn(wakes_all, 0, false));
    else
        wakes_all(NULL);
    bool woken = CHECK(EVENTUALLY(atomic_load(&awake) == SLEEPERS));
    atomic_store(&flag, true);
    for (int i = 0; i < 2 + SLEEPERS; i++)
        join(f[i]);
    stop();
    return woken;
}

void test_woken_among_yielders(void)
{
    for (int64_t workers = 1; workers <= 2; workers++)
        for (unsigned kind = 0; kind < 4; kind++)
            if (!woken_among_yielders(workers, kind & 1, kind & 2))
                return;
}

/* ---- a hundred thousand at once; a sanitizer's build has room for two ---- */

static uintptr_t host_size;
static atomic_uint gone;

static void *waits_once(void *where)
{
    *(tn_waiter *)where = tn_wait_prepare();
    atomic_fetch_add(&asleep, 1);
    CHECK_EQUAL(tn_wait(TN_FOREVER, NULL), 0);
    tn_yield();
    atomic_fetch_add(&gone, 1);
    return NULL;
}

static void *spawns_host(void *host)
{
    for (uintptr_t i = 0; i < host_size; i++)
        spawn(waits_once, (uintptr_t)((tn_waiter *)host + i), true);
    return NULL;
}

/* All wait at once, and all are ready at once. */
void test_host_long(void)
{
    tn_waiter *host = calloc(host_size = few() ? 2000 : 100000, sizeof *host);
    for (int64_t workers = 1; workers <= 2; workers++) {
        start(workers);
        asleep = gone = 0;
        join(spawn(spawns_host, (uintptr_t)host, false));
        for (unsigned before = 0; atomic_load(&asleep) != host_size; before = atomic_load(&asleep))
            if (!EVENTUALLY(atomic_load(&asleep) == host_size) && !CHECK(atomic_load(&asleep) != before))
                return;
        for (uintptr_t i = 0; i < host_size; i++)
            tn_wake(host[i]);
        for (unsigned before = 0; atomic_load(&gone) != host_size; before = atomic_load(&gone))
            if (!EVENTUALLY(atomic_load(&gone) == host_size) && !CHECK(atomic_load(&gone) != before))
                return;
        stop();
    }
    free(host);
}

/* ---- two clusters ---- */

static tn_cluster *other;

/* There and back, and at last there, where one of `cl` wakes it. */
static void *travels(void *i)
{
    for (unsigned trip = 0; trip < 21; trip++) {
        tn_cluster *to = trip % 2 == 0 ? other : cl;
        CHECK_EQUAL(tn_migrate(to), 0);
        CHECK(tn_cluster_self() == to);
        if (((uintptr_t)i + trip) % 3 == 0)
            tn_yield();
    }
    sleeps_once(i);
    CHECK(tn_cluster_self() == other);
    return NULL;
}

static bool two_clusters(int64_t workers)
{
    struct tn_config c = with_module(workers);
    start_as(&c);
    asleep = awake = 0;
    CHECK_EQUAL(tn_cluster_create(rt, &c, &other), 0);
    for (uintptr_t i = 0; i < SLEEPERS; i++)
        spawn(travels, i, true);
    bool all = CHECK(EVENTUALLY(atomic_load(&asleep) == SLEEPERS));
    if (all) {
        join(spawn(wakes_all, 0, false));
        all = CHECK(EVENTUALLY(atomic_load(&awake) == SLEEPERS));
    }
    stop();
    return all;
}

void test_two_clusters(void)
{
    if (two_clusters(1))
        two_clusters(2);
}
