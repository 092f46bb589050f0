/* SPDX-License-Identifier: MIT
 *
 * Conformance, second part: work behind hogs, wake-ups, workers that come and go, the end with work left.
 */
#include "conformance.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* ---- work behind a hog ---- */

static tn_waiter waiter;
static _Atomic(uint64_t) waiter_seq;

static void hog_until_flag(void)
{
    while (!atomic_load_explicit(&flag, memory_order_acquire)) /* no scheduling point */
        sched_yield();
}

static void *wait_then_set(void *arg)
{
    waiter = tn_wait_prepare();
    atomic_store_explicit(&waiter_seq, waiter.seq, memory_order_release);
    CHECK_EQUAL(tn_wait(TN_FOREVER, NULL), 0);
    return set_flag(arg);
}

static atomic_uint yielded;

static void *yield_then_set(void *arg)
{
    atomic_fetch_add(&yielded, 1);
    tn_yield();
    return set_flag(arg);
}

static void *behind_hog(void *kind)
{
    tn_fibre *f;
    atomic_store(&flag, false);
    switch ((uintptr_t)kind) {
    case 0: /* spawned by the hog */
        f = spawn(set_flag, 0, false);
        break;
    case 1: /* woken by the hog */
        atomic_store(&waiter_seq, 0);
        f = spawn(wait_then_set, 0, false);
        while (atomic_load_explicit(&waiter_seq, memory_order_acquire) == 0)
            tn_yield();
        tn_sleep(200000);
        CHECK(tn_wake(waiter));
        break;
    default: /* yielded softly, perhaps on the hog's worker, before the hog came back */
        atomic_store(&yielded, 0);
        f = spawn(yield_then_set, 0, false);
        while (atomic_load(&yielded) == 0)
            tn_yield();
    }
    hog_until_flag();
    join(f);
    return NULL;
}

void test_behind_hog(void)
{
    for (uintptr_t kind = 0; kind < 3; kind++) {
        start(2);
        for (int i = 0; i < 8; i++) {
            join(spawn(behind_hog, kind, false));
            if (i % 3 == 0)
                nap_us(1000); /* so that the other worker sleeps */
        }
        stop();
    }
}

/* Woken from outside while the worker on which it ran last is hogged, or has left. */
static void *hog_only(void *arg)
{
    atomic_fetch_add(&yielded, 1);
    hog_until_flag();
    return arg;
}

void test_home_is_gone(void)
{
    for (int leaves = 0; leaves < 2; leaves++)
        for (int i = 0; i < 6; i++) {
            start(2);
            atomic_store(&flag, false);
            atomic_store(&waiter_seq, 0);
            atomic_store(&yielded, 0);
            tn_fibre *f = spawn(wait_then_set, 0, false);
            CHECK(EVENTUALLY(atomic_load_explicit(&waiter_seq, memory_order_acquire) != 0));
            nap_us(500);
            if (leaves) {
                CHECK_EQUAL(tn_workers_remove(cl, 1), 0);
            } else {
                spawn(hog_only, 0, true);
                CHECK(EVENTUALLY(atomic_load(&yielded) != 0));
            }
            nap_us(2000);
            CHECK(tn_wake(waiter));
            join(f);
            stop();
        }
}

/* ---- wake-ups ---- */

static unsigned turns;

/* Two fibres that hand one token to and fro, each by a wait that the other's wake ends. */
static struct {
    _Alignas(64) atomic_uint turn;
    _Atomic(uint64_t) seq[2];
    tn_fibre *fibre[2];
} table;

static void *play(void *which)
{
    uintptr_t me = (uintptr_t)which;
    table.fibre[me] = tn_fibre_self();
    for (unsigned i = 0; i < turns; i++) {
        for (;;) {
            tn_waiter w = tn_wait_prepare();
            atomic_store(&table.seq[me],
                         w.seq); /* seq_cst against the other's turn: either it sees me, or I its turn */
            if (atomic_load(&table.turn) % 2 == me)
                break;
            tn_wait(TN_FOREVER, NULL);
        }
        atomic_fetch_add(&table.turn, 1);
        uint64_t seq = atomic_load(&table.seq[1 - me]);
        if (seq != 0)
            tn_wake((tn_waiter){table.fibre[1 - me], seq});
    }
    return NULL;
}

static void players(int64_t workers, unsigned n)
{
    start(workers);
    turns = n;
    atomic_store(&table.turn, 0);
    atomic_store(&table.seq[0], 0);
    atomic_store(&table.seq[1], 0);
    tn_fibre *f[2] = {spawn(play, 0, false), spawn(play, 1, false)};
    for (int i = 0; i < 2; i++)
        join(f[i]);
    CHECK_EQUAL(atomic_load(&table.turn), 2 * n);
    stop();
}

void test_ping_pong(void)
{
    unsigned n = migration_forced() ? 2000 : 20000;
    players(1, n);
    players(2, n);
    players(MOST_WORKERS, n / 4);
}

void test_ping_pong_long(void)
{
    players(2, 100000);
    players(3, 100000);
}

/* ---- wake-ups by plain threads ---- */

enum { SLEEPERS = 16, WAKERS = 2 };
static struct sleeper {
    _Alignas(64) _Atomic(uint64_t) seq; /* 0: not waiting */
    tn_fibre *fibre;
} sleepers[SLEEPERS];
static atomic_bool over;
static atomic_uint woken, signals;

static void *sleeper(void *which)
{
    struct sleeper *me = &sleepers[(uintptr_t)which];
    for (unsigned i = 0; i < turns; i++) {
        tn_waiter w = tn_wait_prepare();
        if (i == 0)
            me->fibre = w.fibre;
        atomic_store_explicit(&me->seq, w.seq, memory_order_release);
        if (tn_wait(TN_FOREVER, NULL) == 0)
            atomic_fetch_add(&woken, 1);
        atomic_store_explicit(&me->seq, 0, memory_order_relaxed);
    }
    return NULL;
}

static void *waker(void *arg)
{
    while (!atomic_load(&over)) {
        for (int i = 0; i < SLEEPERS; i++) {
            uint64_t seq = atomic_load_explicit(&sleepers[i].seq, memory_order_acquire);
            if (seq != 0 && tn_wake((tn_waiter){sleepers[i].fibre, seq}))
                atomic_fetch_add(&signals, 1);
        }
        sched_yield();
    }
    return arg;
}

void test_plain_wakers(void)
{
    for (int64_t workers = 1; workers <= 2; workers++) {
        pthread_t t[WAKERS];
        tn_fibre *f[SLEEPERS];
        start(workers);
        turns = 300;
        atomic_store(&over, false);
        atomic_store(&woken, 0);
        atomic_store(&signals, 0);
        for (uintptr_t i = 0; i < SLEEPERS; i++) {
            atomic_store(&sleepers[i].seq, 0);
            f[i] = spawn(sleeper, i, false);
        }
        for (int i = 0; i < WAKERS; i++)
            pthread_create(&t[i], NULL, waker, NULL);
        for (int i = 0; i < SLEEPERS; i++)
            join(f[i]);
        atomic_store(&over, true);
        for (int i = 0; i < WAKERS; i++)
            pthread_join(t[i], NULL);
        CHECK_EQUAL(atomic_load(&woken), SLEEPERS * turns);
        CHECK_EQUAL(atomic_load(&signals), atomic_load(&woken));
        stop();
    }
}

/* ---- workers come and go during work ---- */

static atomic_uint leaves;

static void *tree(void *depth)
{
    uintptr_t d = (uintptr_t)depth;
    if (d == 0) {
        atomic_fetch_add(&leaves, 1);
        return NULL;
    }
    tn_fibre *left = spawn(tree, d - 1, false), *right = spawn(tree, d - 1, false);
    if (d % 3 == 0)
        tn_yield();
    if (d % 4 == 0)
        tn_sleep(20000);
    join(left);
    join(right);
    return NULL;
}

static void come_and_go(uintptr_t depth, int rounds)
{
    uint64_t random = harness_seed();
    start(2);
    for (int i = 0; i < rounds; i++) {
        atomic_store(&leaves, 0);
        tn_fibre *root = spawn(tree, depth, false);
        for (int k = 0; k < 6; k++) {
            unsigned now = tn_workers(cl);
            if (harness_random(&random) % 2)
                (void)tn_workers_add(cl, 1); /* EAGAIN: no slot is free yet */
            else if (now > 1)
                CHECK_EQUAL(tn_workers_remove(cl, 1), 0);
            CHECK_EQUAL(tn_workers_remove(cl, 9), EINVAL);
            nap_us((unsigned)(harness_random(&random) % 400));
        }
        join(root);
        CHECK_EQUAL(atomic_load(&leaves), 1 << depth);
    }
    stop();
}

void test_join_and_leave(void)
{
    come_and_go(8, 10);
}

void test_join_and_leave_long(void)
{
    come_and_go(few() ? 8 : 10, few() ? 40 : 400);
}

/* Who was told to leave may still be there: EAGAIN. */
static bool filled(unsigned slots)
{
    while (tn_workers(cl) < slots && tn_workers_add(cl, 1) == 0)
        ;
    return tn_workers(cl) == slots;
}

/* From one worker to all that there is room for and back, as fast as it goes, while a tree of spawns grows. */
static void extremes(uintptr_t depth, int rounds, unsigned slots)
{
    struct tn_config c = with_module(1);
    c.slots = slots;
    start_as(&c);
    for (int i = 0; i < rounds; i++) {
        atomic_store(&leaves, 0);
        tn_fibre *root = spawn(tree, depth, false);
        for (int k = 0; k < 3; k++) {
            CHECK(EVENTUALLY(filled(slots)));
            for (unsigned now; (now = tn_workers(cl)) > 1;)
                CHECK_EQUAL(tn_workers_remove(cl, now - 1), 0);
        }
        join(root);
        CHECK_EQUAL(atomic_load(&leaves), 1 << depth);
    }
    CHECK_EQUAL(tn_workers(cl), 1);
    stop();
}

void test_extremes(void)
{
    extremes(few() ? 6 : 8, 4, 16);
}

void test_extremes_long(void)
{
    extremes(few() ? 8 : 12, few() ? 5 : 100, 64);
}

/* ---- trees of spawns: as many at once as there are leaves, each parent waits for its children ---- */

static void forest(int64_t workers, uintptr_t depth)
{
    start(workers);
    atomic_store(&leaves, 0);
    join(spawn(tree, depth, false));
    CHECK_EQUAL(atomic_load(&leaves), 1 << depth);
    stop();
}

void test_tree(void)
{
    for (int64_t workers = 1; workers <= MOST_WORKERS; workers *= 2)
        forest(workers, few() ? 6 : 11);
}

void test_tree_long(void)
{
    forest(1, few() ? 10 : 16);
    forest(4, few() ? 10 : 16);
}

/* ---- the end with work left: nothing crashes, and a sanitizer finds no leak ---- */

static void *for_ever(void *kind)
{
    for (uint64_t nap = 50000;;) {
        switch ((uintptr_t)kind % 4) {
        case 0:
            tn_yield();
            break;
        case 1:
            tn_yield_hard();
            break;
        case 2:
            tn_sleep(nap);
            nap *= 2; /* else a slow machine does nothing but wake them, and a lifo never comes to who lies below */
            break;
        default:
            tn_wait_prepare();
            tn_wait(TN_FOREVER, NULL);
        }
    }
    return NULL;
}

static void *breed(void *arg) /* spawns until it is stopped */
{
    for (unsigned i = 0; i < 100000; i++) {
        tn_spawn(NULL, NULL, for_ever, (void *)(uintptr_t)3);
        if (i % 4 == 0)
            tn_yield();
        if (i % 64 == 0)
            tn_sleep(100000);
    }
    return arg;
}

static uintptr_t left;

static void *spawns_for_ever(void *kinds)
{
    for (uintptr_t k = 0; k < left; k++)
        spawn(for_ever, k % (uintptr_t)kinds, true);
    return NULL;
}

static int work_left(void *arg)
{
    left = few() ? 300 : 1000;
    (void)arg;
    for (int i = 0; i < 6; i++) {
        start(1 + i % 3);
        join(spawn(spawns_for_ever, i < 3 ? 4 : 2, false)); /* most of them soon wait, or are ready all at once */
        if (i % 2)
            spawn(breed, 0, true);
        nap_us(i < 2 ? 0 : 3000);
        stop();
    }
    return 0;
}

/* In a child, for what the core says of a drain() that keeps some. */
void test_work_left(void)
{
    char err[512];
    CHECK(exited(harness_child(work_left, NULL, err, sizeof err), 0));
    if (!CHECK_EQUAL(err[0], '\0'))
        harness_note("%s", err);
}
