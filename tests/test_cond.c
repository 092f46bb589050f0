/* SPDX-License-Identifier: MIT
 *
 * Condition variables: signals go to who waits, one each, for fibres and plain threads; a crowd that is woken together;
 * deadlines against signals.
 */
#include "sync.h"

static tn_mutex m;
static tn_cond cond, full;
static int items, taken; /* plain: under the mutex */
static int rounds;

/* ---- a buffer of one: each item is taken once ---- */

static void *trades(void *number)
{
    for (int i = 0; i < rounds; i++) {
        bool brings = (uintptr_t)number % 2 == 0;
        CHECK_EQUAL(tn_mutex_lock(&m), 0);
        while (items == brings)
            CHECK_EQUAL(tn_cond_wait(brings ? &full : &cond, &m), 0);
        items = brings;
        taken += !brings;
        tn_cond_signal(brings ? &cond : &full);
        CHECK_EQUAL(tn_mutex_unlock(&m), 0);
    }
    return NULL;
}

static void trade(void)
{
    static const int kinds[] = {TN_MUTEX_NORMAL, TN_MUTEX_RECURSIVE, TN_MUTEX_CHECKED};
    for (unsigned k = 0; k < 3; k++) {
        rounds = stress ? 10000 : 200;
        items = taken = 0;
        CHECK_EQUAL(tn_mutex_init(&m, &(struct tn_mutex_attr){TN_MUTEX_DEFAULT, kinds[k]}), 0);
        tn_cond_init(&cond);
        tn_cond_init(&full);
        party(6, 2, trades);
        party(0, 4, trades);
        CHECK_EQUAL(taken, 6 * rounds);
        CHECK_EQUAL(tn_cond_destroy(&cond), 0);
        CHECK_EQUAL(tn_cond_destroy(&full), 0);
    }
}

static void test_trade(void)
{
    beside(trade);
}

/* ---- a hundred are woken together, and each yields with the mutex ---- */

static _Atomic(int) out;
static int inside;
static bool go;

static void *crowd(void *arg)
{
    CHECK_EQUAL(tn_mutex_lock(&m), 0);
    while (!go)
        CHECK_EQUAL(tn_cond_wait(&cond, &m), 0);
    CHECK_EQUAL(inside++, 0);
    tn_yield();
    inside--;
    CHECK_EQUAL(tn_mutex_unlock(&m), 0);
    atomic_fetch_add(&out, 1);
    return arg;
}

static void broadcast(void)
{
    for (int design = TN_MUTEX_DEFAULT; design <= TN_MUTEX_BATON; design++) {
        struct party p;
        CHECK_EQUAL(tn_mutex_init(&m, &(struct tn_mutex_attr){design, TN_MUTEX_NORMAL}), 0);
        tn_cond_init(&cond);
        go = false;
        inside = 0;
        atomic_store(&out, 0);
        invite(&p, 100, 3, crowd);
        CHECK(EVENTUALLY(waiting(&cond.waits) == 103));
        CHECK_EQUAL(tn_cond_destroy(&cond), EBUSY);
        CHECK_EQUAL(tn_mutex_lock(&m), 0);
        go = true;
        tn_cond_broadcast(&cond);
        CHECK_EQUAL(tn_mutex_unlock(&m), 0);
        all_gone(&p);
        CHECK_EQUAL(atomic_load(&out), 103);
        CHECK_EQUAL(tn_cond_destroy(&cond), 0);
        CHECK_EQUAL(tn_mutex_destroy(&m), 0);
    }
}

static void test_broadcast(void)
{
    beside(broadcast);
}

/* ---- deadlines ---- */

static int wait_late(tn_time deadline, tn_token *token)
{
    CHECK_EQUAL(tn_mutex_lock(&m), 0);
    int rc = tn_cond_wait_until(&cond, &m, deadline, token);
    CHECK_EQUAL(tn_mutex_trylock(&m), EBUSY); /* the caller has it */
    CHECK_EQUAL(tn_mutex_unlock(&m), 0);
    return rc;
}

static void lates(void)
{
    tn_cond_init(&cond);
    CHECK_EQUAL(tn_mutex_init(&m, &(struct tn_mutex_attr){TN_MUTEX_DEFAULT, TN_MUTEX_CHECKED}), 0);
    too_late(wait_late);
    CHECK_EQUAL(tn_cond_wait(&cond, &m), EPERM); /* does not hold it */
    CHECK_EQUAL(tn_cond_destroy(&cond), 0);
    tn_cond_signal(&cond);
    tn_cond_broadcast(&cond);
    too_late(wait_late); /* what was signalled to nobody is for nobody */
}

static void test_late(void)
{
    CHECK_EQUAL(sizeof(tn_cond), 16);
    beside(lates);
}

/* Of two that wait, one has its deadline about when the only signal comes: it wakes exactly one of them. */
static struct {
    _Atomic(int) rc[2];
    tn_time deadline;
} pair;

static void *waits_for_one(void *number)
{
    CHECK_EQUAL(tn_mutex_lock(&m), 0);
    int rc = tn_cond_wait_until(&cond, &m, number == NULL ? pair.deadline : TN_FOREVER, NULL);
    CHECK_EQUAL(tn_mutex_unlock(&m), 0);
    atomic_store(&pair.rc[(uintptr_t)number], rc);
    return NULL;
}

static void one_signal(void)
{
    uint64_t random = harness_seed();
    int signalled = 0, n = stress ? 5000 : 100;
    tn_cond_init(&cond);
    CHECK_EQUAL(tn_mutex_init(&m, NULL), 0);
    for (int i = 0; i < n; i++) {
        struct party p;
        atomic_store(&pair.rc[0], -1);
        atomic_store(&pair.rc[1], -1);
        pair.deadline = tn_now() + 300000;
        if (i % 2 == 0)
            invite(&p, 2, 0, waits_for_one);
        else
            invite(&p, 0, 2, waits_for_one);
        while (waiting(&cond.waits) < 2 && atomic_load(&pair.rc[0]) < 0)
            sched_yield();
        while (waiting(&cond.waits) < 1)
            sched_yield();
        tn_time at = pair.deadline - 10000 + harness_random(&random) % 80000;
        while (tn_now() < at)
            ;
        tn_cond_signal(&cond);
        while (atomic_load(&pair.rc[0]) < 0)
            sched_yield();
        bool first = atomic_load(&pair.rc[0]) == 0;
        if (first) {
            CHECK_EQUAL(atomic_load(&pair.rc[1]), -1);
            tn_cond_signal(&cond);
        }
        signalled += first;
        all_gone(&p); /* without end, if the signal went to one that gave up */
        CHECK_EQUAL(atomic_load(&pair.rc[1]), 0);
        CHECK(first || atomic_load(&pair.rc[0]) == ETIMEDOUT);
    }
    if (signalled == 0 || signalled == n)
        harness_note("the deadline was never %s the signal", signalled == 0 ? "after" : "before");
    CHECK_EQUAL(tn_cond_destroy(&cond), 0);
}

static void test_one_signal(void)
{
    beside(one_signal);
}

static const struct test tests[] = {{"each item is taken once", test_trade},
                                    {"a hundred that yield with the mutex", test_broadcast},
                                    {"deadlines and tokens", test_late},
                                    {"a deadline against a signal", test_one_signal}};
SYNC_MAIN("cond", tests)
