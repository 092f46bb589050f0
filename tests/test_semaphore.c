/* SPDX-License-Identifier: MIT
 *
 * Semaphores: units are neither lost nor made, for fibres and plain threads; who is served first; deadlines against posts.
 */
#include "sync.h"

static tn_sem sem;
static _Atomic(long) had, missed;

/* ---- units ---- */

static _Atomic(int) inside;
static int rounds;

static void *borrows(void *number)
{
    uint64_t random = harness_seed() + (uintptr_t)number;
    for (int i = 0; i < rounds; i++) {
        uint32_t n = 1 + (uint32_t)(harness_random(&random) % 3);
        CHECK_EQUAL(n == 1 ? tn_sem_wait(&sem) : tn_sem_wait_until(&sem, n, TN_FOREVER, NULL), 0);
        CHECK(atomic_fetch_add(&inside, (int)n) + (int)n <= 3);
        if (harness_random(&random) % 8 == 0)
            tn_yield();
        atomic_fetch_sub(&inside, (int)n);
        CHECK_EQUAL(n == 1 ? tn_sem_post(&sem) : tn_sem_post_n(&sem, n), 0);
    }
    return NULL;
}

static void borrow(void)
{
    rounds = stress ? 20000 : 300;
    CHECK_EQUAL(tn_sem_init(&sem, 3, 3), 0);
    party(8, 2, borrows);
    party(0, 4, borrows);
    CHECK_EQUAL(tn_sem_value(&sem), 3);
    CHECK_EQUAL(tn_sem_destroy(&sem), 0);
}

static void test_units(void)
{
    beside(borrow);
}

/* ---- limits ---- */

static void test_limits(void)
{
    static tn_sem plain = TN_SEM_INIT(1, 1);
    CHECK_EQUAL(sizeof(tn_sem), 24);
    CHECK_EQUAL(tn_sem_wait(&plain), 0);
    CHECK_EQUAL(tn_sem_trywait(&plain), EAGAIN);
    CHECK_EQUAL(tn_sem_post(&plain), 0);
    CHECK_EQUAL(tn_sem_post(&plain), EOVERFLOW);
    CHECK_EQUAL(tn_sem_value(&plain), 1);
    CHECK_EQUAL(tn_sem_wait_until(&plain, 2, 0, NULL), EINVAL);
    CHECK_EQUAL(tn_sem_trywait(&plain), 0);
    CHECK_EQUAL(tn_sem_init(&plain, 2, 1), EINVAL);
    CHECK_EQUAL(tn_sem_init(&plain, 0, (uint32_t)TN_SEM_MAX + 1), EINVAL);
    CHECK_EQUAL(tn_sem_init(&plain, 2, 3), 0);
    CHECK_EQUAL(tn_sem_trywait_n(&plain, 4), EINVAL);
    CHECK_EQUAL(tn_sem_trywait_n(&plain, 3), EAGAIN);
    CHECK_EQUAL(tn_sem_value(&plain), 2);
    CHECK_EQUAL(tn_sem_trywait_n(&plain, 2), 0);
    CHECK_EQUAL(tn_sem_value(&plain), 0);
    CHECK_EQUAL(tn_sem_init(&plain, TN_SEM_MAX, 0), 0);
    CHECK_EQUAL(tn_sem_post(&plain), EOVERFLOW);
}

/* ---- who is served first ---- */

static char order[8];
static _Atomic(unsigned) served;

static void wants(uint32_t n, char name)
{
    CHECK_EQUAL(tn_sem_wait_until(&sem, n, TN_FOREVER, NULL), 0);
    order[atomic_fetch_add(&served, 1)] = name;
}

static void *queue(void *number)
{
    static const uint32_t want[] = {3, 1, 2};
    wants(want[(uintptr_t)number], "abc"[(uintptr_t)number]);
    return NULL;
}

/* a wants 3, then b 1, then c 2 */
static void serve(void)
{
    struct party p[3];
    memset(order, 0, sizeof(order));
    atomic_store(&served, 0);
    CHECK_EQUAL(tn_sem_init(&sem, 0, 0), 0);
    for (unsigned i = 0; i < 3; i++) {
        p[i] = (struct party){.fibres = 1};
        CHECK_EQUAL(tn_spawn(&p[i].fibre[0], &(struct tn_attr){.runtime = rt}, queue, (void *)(uintptr_t)i), 0);
        CHECK(EVENTUALLY(waiting(&sem.waits) == i + 1));
    }
    CHECK_EQUAL(tn_sem_post(&sem), 0); /* not for a, for b */
    CHECK(EVENTUALLY(atomic_load(&served) == 1));
    CHECK_EQUAL(tn_sem_post_n(&sem, 2), 0); /* not for a, for c */
    CHECK(EVENTUALLY(atomic_load(&served) == 2));
    CHECK_EQUAL(tn_sem_post_n(&sem, 2), 0); /* for nobody */
    CHECK_EQUAL(tn_sem_trywait_n(&sem, 3), EAGAIN);
    CHECK_EQUAL(tn_sem_trywait(&sem), 0); /* who comes later and wants no more than there is */
    CHECK_EQUAL(tn_sem_destroy(&sem), EBUSY);
    CHECK_EQUAL(tn_sem_post_n(&sem, 2), 0);
    for (unsigned i = 0; i < 3; i++)
        all_gone(&p[i]);
    CHECK(strcmp(order, "bca") == 0);
    CHECK_EQUAL(tn_sem_value(&sem), 0);
}

static void test_order(void)
{
    beside(serve);
}

/* ---- deadlines ---- */

static int wait_late(tn_time deadline, tn_token *token)
{
    return tn_sem_wait_until(&sem, 2, deadline, token);
}

static void lates(void)
{
    CHECK_EQUAL(tn_sem_init(&sem, 1, 0), 0);
    too_late(wait_late);
    CHECK_EQUAL(tn_sem_value(&sem), 1);
    CHECK_EQUAL(tn_sem_destroy(&sem), 0); /* nobody is left in its ring */
}

static void test_late(void)
{
    beside(lates);
}

/* Deadlines about as long as a turn: each unit that was brought was had, or is there in the end. */
static void *hurries(void *number)
{
    uint64_t random = harness_seed() + (uintptr_t)number;
    for (int i = 0; i < rounds; i++)
        if ((uintptr_t)number % 2 == 0) {
            CHECK_EQUAL(tn_sem_post(&sem), 0);
            tn_time until = tn_now() + harness_random(&random) % 40000;
            do
                tn_yield();
            while (tn_now() < until);
        } else {
            int rc = tn_sem_wait_until(&sem, 1, tn_now() + harness_random(&random) % 40000, NULL);
            CHECK(rc == 0 || rc == ETIMEDOUT);
            atomic_fetch_add(rc == 0 ? &had : &missed, 1);
        }
    return NULL;
}

static void hurry(void)
{
    rounds = stress ? 20000 : 500;
    atomic_store(&had, 0);
    atomic_store(&missed, 0);
    CHECK_EQUAL(tn_sem_init(&sem, 0, 0), 0);
    party(6, 2, hurries);
    CHECK_EQUAL(atomic_load(&had) + atomic_load(&missed), 4L * rounds);
    CHECK_EQUAL(atomic_load(&had) + (long)tn_sem_value(&sem), 4L * rounds);
    CHECK_EQUAL(tn_sem_destroy(&sem), 0);
}

static void test_hurry(void)
{
    beside(hurry);
}

/* ---- what it costs ---- */

static void *quiet(void *arg)
{
    tn_cluster *cl = tn_cluster_self();
    uint64_t waits = counter(cl, "wait"), wakes = counter(cl, "wake"), yields = counter(cl, "yield");
    for (int i = 0; i < 1000; i++) {
        CHECK_EQUAL(tn_sem_post(&sem), 0);
        CHECK_EQUAL(tn_sem_wait(&sem), 0);
    }
    CHECK_EQUAL(counter(cl, "wait"), waits);
    CHECK_EQUAL(counter(cl, "wake"), wakes);
    CHECK_EQUAL(counter(cl, "yield"), yields);
    return arg;
}

static void alone(void)
{
    CHECK_EQUAL(tn_sem_init(&sem, 0, 0), 0);
    party(1, 0, quiet);
}

static void test_alone(void)
{
    if (counting())
        beside(alone);
}

static const struct test tests[] = {{"units are neither lost nor made", test_units},
                                    {"limits", test_limits},
                                    {"who is served first", test_order},
                                    {"deadlines and tokens", test_late},
                                    {"deadlines against posts", test_hurry},
                                    {"alone it waits for nothing", test_alone}};
SYNC_MAIN("semaphore", tests)
