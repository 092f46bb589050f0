/* SPDX-License-Identifier: MIT
 *
 * Barriers, latches and what is done once: fibres and plain threads, deadlines and tokens.
 */
#include "sync.h"

static int rounds;
static _Atomic(int) arrived, serials;

/* ---- barrier ---- */

enum { HERE = 7 };
static tn_barrier barrier;

static void *meets(void *arg)
{
    for (int i = 0; i < rounds; i++) {
        atomic_fetch_add(&arrived, 1);
        int rc = tn_barrier_wait(&barrier);
        CHECK(rc == 0 || rc == TN_BARRIER_SERIAL);
        CHECK(atomic_load(&arrived) >= HERE * (i + 1));
        if (rc == TN_BARRIER_SERIAL)
            atomic_fetch_add(&serials, 1);
    }
    return arg;
}

static int meet_late(tn_time deadline, tn_token *token)
{
    return tn_barrier_wait_until(&barrier, deadline, token);
}

static void meet(void)
{
    rounds = stress ? 10000 : 200;
    CHECK_EQUAL(tn_barrier_init(&barrier, HERE), 0);
    for (unsigned threads = 0; threads <= HERE; threads += 3) {
        atomic_store(&arrived, 0);
        atomic_store(&serials, 0);
        party(HERE - threads, threads, meets);
        CHECK_EQUAL(atomic_load(&serials), rounds);
    }
    too_late(meet_late);
    CHECK_EQUAL(barrier.waits.state, 0); /* who gave up has not been here */
    CHECK_EQUAL(tn_barrier_destroy(&barrier), 0);
    CHECK_EQUAL(tn_barrier_init(&barrier, 1), 0);
    CHECK_EQUAL(tn_barrier_wait(&barrier), TN_BARRIER_SERIAL);
    CHECK_EQUAL(tn_barrier_init(&barrier, 0), EINVAL);
}

/* Two meet, and one of them gives up about when the other comes: either both have met, or it alone gives up. */
static _Atomic(int) met;

static void *hurries(void *number)
{
    uint64_t random = harness_seed() + (uintptr_t)number;
    for (int i = 0; i < rounds; i++) {
        int rc = tn_barrier_wait_until(&barrier, tn_now() + harness_random(&random) % 40000, NULL);
        CHECK(rc == 0 || rc == TN_BARRIER_SERIAL || rc == ETIMEDOUT);
        if (rc == 0)
            atomic_fetch_add(&met, 1);
        else if (rc == TN_BARRIER_SERIAL)
            atomic_fetch_sub(&met, 1);
    }
    return NULL;
}

static void hurry(void)
{
    rounds = stress ? 20000 : 500;
    atomic_store(&met, 0);
    CHECK_EQUAL(tn_barrier_init(&barrier, 2), 0);
    party(2, 0, hurries);
    party(0, 2, hurries);
    party(3, 2, hurries);
    CHECK_EQUAL(atomic_load(&met), 0);
    CHECK_EQUAL(barrier.waits.state, 0);
    CHECK_EQUAL(tn_barrier_destroy(&barrier), 0);
}

static void test_barrier(void)
{
    CHECK_EQUAL(sizeof(tn_barrier), 24);
    beside(meet);
}

static void test_barrier_hurry(void)
{
    beside(hurry);
}

/* ---- latch ---- */

static tn_latch latch;

static void *waits(void *arg)
{
    CHECK_EQUAL(tn_latch_wait(&latch), 0);
    CHECK_EQUAL(atomic_load(&arrived), 4);
    return arg;
}

static void *counts(void *arg)
{
    tn_yield();
    atomic_fetch_add(&arrived, 1);
    CHECK_EQUAL(tn_latch_down(&latch, 1), 0);
    return arg;
}

static int latch_late(tn_time deadline, tn_token *token)
{
    return tn_latch_wait_until(&latch, deadline, token);
}

static void count_down(void)
{
    for (int i = 0; i < (stress ? 500 : 20); i++) {
        struct party p, q;
        atomic_store(&arrived, 0);
        tn_latch_init(&latch, 2);
        CHECK_EQUAL(tn_latch_up(&latch, 2), 0);
        invite(&p, 3, 2, waits);
        invite(&q, 2, 2, counts);
        all_gone(&p);
        all_gone(&q);
        CHECK_EQUAL(tn_latch_trywait(&latch), 0);
        CHECK_EQUAL(tn_latch_destroy(&latch), 0);
    }
    CHECK_EQUAL(tn_latch_down(&latch, 1), EINVAL);
    CHECK_EQUAL(tn_latch_up(&latch, 1), 0);
    CHECK_EQUAL(tn_latch_up(&latch, UINT32_MAX), EOVERFLOW);
    CHECK_EQUAL(tn_latch_trywait(&latch), EBUSY);
    too_late(latch_late);
    CHECK_EQUAL(tn_latch_destroy(&latch), 0);
}

static void test_latch(void)
{
    CHECK_EQUAL(sizeof(tn_latch), 16);
    beside(count_down);
}

/* Who waits frees it as soon as it is told: whoever counts it down has done its last to it. */
static void *frees(void *arg)
{
    tn_latch *mine = arg;
    CHECK_EQUAL(tn_latch_wait(mine), 0);
    memset(mine, 0xff, sizeof(*mine)); /* who touches it now finds its lock held */
    return NULL;
}

static void freed(void)
{
    for (int i = 0; i < (stress ? 20000 : 500); i++) {
        tn_latch mine = TN_LATCH_INIT(1);
        tn_fibre *f = NULL;
        pthread_t t;
        if (i % 2 == 0)
            CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, frees, &mine), 0);
        else
            CHECK_EQUAL(pthread_create(&t, NULL, frees, &mine), 0);
        for (int spins = i % 64 * 8; spins > 0; spins--)
            tn_now();
        CHECK_EQUAL(tn_latch_down(&mine, 1), 0);
        CHECK_EQUAL(i % 2 == 0 ? tn_join(f, NULL) : pthread_join(t, NULL), 0);
    }
}

static void test_freed(void)
{
    beside(freed);
}

/* ---- once ---- */

static tn_once once;
static _Atomic(int) begun, allowed;
static int done; /* plain: seen by all that return */

static void initialise(void)
{
    CHECK_EQUAL(tn_once_do(&once, initialise), EDEADLK);
    atomic_store(&begun, 1);
    while (atomic_load(&allowed) == 0)
        tn_yield();
    done++;
}

static void *needs(void *arg)
{
    CHECK_EQUAL(tn_once_do(&once, initialise), 0);
    CHECK_EQUAL(done, 1);
    return arg;
}

static int once_late(tn_time deadline, tn_token *token)
{
    return tn_once_until(&once, initialise, deadline, token);
}

static void do_once(void)
{
    for (int threads = 0; threads < 3; threads++) {
        struct party p;
        once = (tn_once)TN_ONCE_INIT;
        done = 0;
        atomic_store(&begun, 0);
        atomic_store(&allowed, 0);
        invite(&p, threads < 2, threads == 2, needs); /* it begins */
        CHECK(EVENTUALLY(atomic_load(&begun) == 1));
        too_late(once_late);
        struct party q;
        invite(&q, 4, 2, needs);
        nap_us(500);
        atomic_store(&allowed, 1);
        all_gone(&p);
        all_gone(&q);
        CHECK_EQUAL(tn_once_until(&once, initialise, 0, NULL), 0);
        CHECK_EQUAL(done, 1);
    }
}

static void test_once(void)
{
    CHECK_EQUAL(sizeof(tn_once), 32);
    beside(do_once);
}

/* ---- deadlines against the last that counts a latch down, and the end of what is done once ---- */

static tn_fibre *doer;

static void begin_latch(void)
{
    tn_latch_init(&latch, 1);
}

static void bring_latch(void)
{
    CHECK_EQUAL(tn_latch_down(&latch, 1), 0);
}

static void end_latch(void)
{
    CHECK_EQUAL(tn_latch_destroy(&latch), 0);
    memset(&latch, 0xff, sizeof(latch)); /* nobody touches it any more */
}

static void begin_once(void)
{
    once = (tn_once)TN_ONCE_INIT;
    done = 0;
    atomic_store(&begun, 0);
    atomic_store(&allowed, 0);
    CHECK_EQUAL(tn_spawn(&doer, &(struct tn_attr){.runtime = rt}, needs, NULL), 0);
    while (atomic_load(&begun) == 0)
        sched_yield();
}

static void bring_once(void)
{
    atomic_store(&allowed, 1);
    CHECK_EQUAL(tn_once_do(&once, initialise), 0);
}

static void end_once(void)
{
    CHECK_EQUAL(tn_join(doer, NULL), 0);
    CHECK_EQUAL(done, 1);
    CHECK(once.waits.ring == NULL);
}

static void against_gates(void)
{
    deadlines_against(begin_latch, latch_late, bring_latch, end_latch);
    deadlines_against(begin_once, once_late, bring_once, end_once);
}

static void test_against(void)
{
    beside(against_gates);
}

static const struct test tests[] = {{"a barrier, again and again", test_barrier},
                                    {"a barrier's deadline against the last", test_barrier_hurry},
                                    {"a latch", test_latch},
                                    {"a latch that is freed at once", test_freed},
                                    {"once", test_once},
                                    {"deadlines against a latch and once", test_against}};
SYNC_MAIN("gates", tests)
