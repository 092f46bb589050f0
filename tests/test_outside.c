/* SPDX-License-Identifier: MIT
 *
 * Threads that are no workers, at work: what they make ready is seen at once by parked workers; several runtimes at once;
 * more workers than processors.
 */
#include "harness.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static tn_runtime *rt;

static void *echo(void *arg)
{
    return arg;
}

/* ---- parked workers see at once what a foreign thread makes ready: none of them has a deadline ---- */

static unsigned pings = 300;
static _Atomic(uint64_t) ping_seq;
static tn_fibre *ping_fibre;
static atomic_int ping_ready;

static void *ping_waits(void *arg)
{
    for (unsigned i = 0; i < pings; i++) {
        tn_waiter w = tn_wait_prepare();
        ping_fibre = w.fibre;
        atomic_store_explicit(&ping_seq, w.seq, memory_order_relaxed);
        atomic_store_explicit(&ping_ready, 1, memory_order_release);
        CHECK_EQUAL(tn_wait(TN_FOREVER, NULL), 0);
    }
    return arg;
}

static void *token_waits(void *t)
{
    tn_wait_prepare();
    atomic_store_explicit(&ping_ready, 1, memory_order_release);
    CHECK_EQUAL(tn_wait(TN_FOREVER, t), ECANCELED);
    return NULL;
}

/* Until a worker has parked once more; which is not counted in each build. */
static uint64_t parked;

static void until_parked(void)
{
    tn_cluster *cl = tn_cluster_first(rt);
    nap_us(100);
    CHECK(!counting() || EVENTUALLY(counter(cl, "park") > parked));
    parked = counter(cl, "park");
}

static void until_ready(unsigned i)
{
    while (atomic_load_explicit(&ping_ready, memory_order_acquire) == 0)
        nap_us(1);
    atomic_store_explicit(&ping_ready, 0, memory_order_relaxed);
    if (i % 2)
        until_parked();
}

static void test_parked(void)
{
    for (int64_t workers = 1; workers <= 3; workers++) {
        struct tn_config c = with(workers, NULL);
        tn_fibre *f;
        c.idle = TN_IDLE_BLOCK;
        parked = 0;
        CHECK_EQUAL(tn_start(&rt, &c), 0);
        for (unsigned i = 0; i < pings; i++) { /* spawn */
            if (i % 2)
                until_parked();
            CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, echo, NULL), 0);
            CHECK_EQUAL(tn_join(f, NULL), 0);
        }
        CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, ping_waits, NULL), 0);
        for (unsigned i = 0; i < pings; i++) { /* wake */
            until_ready(i);
            CHECK(tn_wake((tn_waiter){ping_fibre, atomic_load_explicit(&ping_seq, memory_order_relaxed)}));
        }
        CHECK_EQUAL(tn_join(f, NULL), 0);
        for (unsigned i = 0; i < pings / 10; i++) { /* cancel */
            tn_token t;
            tn_token_init(&t);
            CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, token_waits, &t), 0);
            until_ready(i);
            tn_token_fire(&t);
            CHECK_EQUAL(tn_join(f, NULL), 0);
        }
        if (counting())
            CHECK(counter(tn_cluster_first(rt), "park") > pings);
        CHECK_EQUAL(tn_stop(rt), 0);
    }
}

/* ---- everything at once: several runtimes, each with four workers to a processor, from several threads ---- */

enum { RUNTIMES = 3, CROWD = 40 };
static unsigned laps = 20;
static const tn_key home_key;

static void *checks_errno(void *arg)
{
    errno_set(5);
    nap_us(20);
    return arg;
}

static void *busy_fibre(void *home)
{
    tn_cluster *mine = home;
    unsigned wrong = 0;
    uint64_t random = (uintptr_t)tn_fibre_self() ^ harness_seed();
    tn_local_set(&home_key, home);
    for (unsigned i = 0; i < laps; i++) {
        tn_fibre *f;
        void *value = NULL;
        switch (harness_random(&random) % 6) {
        case 0:
            tn_yield();
            break;
        case 1:
            tn_yield_hard();
            break;
        case 2:
            tn_sleep(harness_random(&random) % 200000);
            break;
        case 3:
            wrong += tn_blocking(checks_errno, home, &value) != 0 || value != home || errno_get() != 5;
            break;
        case 4:
            wrong += tn_spawn(&f, NULL, echo, home) != 0 || tn_join(f, &value) != 0 || value != home;
            break;
        default:
            tn_work(2000);
        }
        wrong += tn_cluster_self() != mine || tn_local_get(&home_key) != home;
    }
    CHECK_EQUAL(wrong, 0);
    return home;
}

static void *whole_runtime(void *arg)
{
    long processors = tn_workers(arg); /* of a runtime with the default number */
    struct tn_config c = with(4 * processors, NULL);
    tn_runtime *own;
    tn_fibre *f[CROWD];
    c.pool = 4;
    c.pool_ms = 1;
    CHECK_EQUAL(tn_start(&own, &c), 0);
    for (int i = 0; i < CROWD; i++)
        CHECK_EQUAL(tn_spawn(&f[i], &(struct tn_attr){.runtime = own}, busy_fibre, tn_cluster_first(own)), 0);
    for (int i = 0; i < CROWD; i++) {
        void *value = NULL;
        CHECK_EQUAL(tn_join(f[i], &value), 0);
        CHECK(value == tn_cluster_first(own));
    }
    CHECK_EQUAL(tn_stop(own), 0);
    return NULL;
}

static void test_oversubscribed(void)
{
    pthread_t t[RUNTIMES];
    struct tn_config c = TN_CONFIG_INIT;
    c.on_demand = 1;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    for (int i = 0; i < RUNTIMES; i++)
        pthread_create(&t[i], NULL, whole_runtime, tn_cluster_first(rt));
    for (int i = 0; i < RUNTIMES; i++)
        pthread_join(t[i], NULL);
    CHECK_EQUAL(tn_stop(rt), 0);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"parked workers see what foreign threads make ready", test_parked},
        {"several runtimes, four workers a processor", test_oversubscribed},
    };
    if (argc > 1 && strcmp(argv[1], "--stress") == 0) {
        pings = 5000;
        laps = 1000;
        harness_patience(250);
        return HARNESS_RUN("outside-stress", tests);
    }
    return HARNESS_RUN("outside", tests);
}
