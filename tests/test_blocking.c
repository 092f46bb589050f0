/* SPDX-License-Identifier: MIT
 *
 * Calls that block the thread: the pool of tn_blocking: who runs what, bounds, growing and shrinking, errors, tn_stop.
 */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static void take(sem_t *s)
{
    while (sem_wait(s) != 0 && errno_get() == EINTR)
        ;
}

static void *take_in_call(void *s)
{
    take(s);
    return s;
}

static tn_runtime *started(int64_t workers, int64_t pool, int64_t pool_ms)
{
    struct tn_config c = with(workers, NULL);
    tn_runtime *rt = NULL;
    c.pool = pool;
    c.pool_ms = pool_ms;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    return rt;
}

static void in_fibre(tn_runtime *rt, void *(*fn)(void *), void *arg)
{
    tn_fibre *f;
    if (CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, fn, arg), 0))
        CHECK_EQUAL(tn_join(f, NULL), 0);
}

/* ---- where it runs, and what it returns ---- */

static void *look_around(void *thread)
{
    CHECK(tn_fibre_self() == NULL && tn_cluster_self() == NULL);
    CHECK_EQUAL(tn_sleep(1), EPERM);
    *(pthread_t *)thread = pthread_self();
    CHECK_EQUAL(errno_get(), 7);
    errno_set(11);
    return (void *)42;
}

static void *call_once(void *arg)
{
    pthread_t other;
    void *value = NULL;
    errno_set(7);
    CHECK_EQUAL(tn_blocking(look_around, &other, &value), 0);
    CHECK_EQUAL(errno_get(), 11);
    CHECK_EQUAL((uintptr_t)value, 42);
    CHECK(!pthread_equal(other, *(pthread_t *)arg));
    errno_set(7);
    CHECK_EQUAL(tn_blocking(look_around, &other, NULL), 0);
    return NULL;
}

static void test_call(void)
{
    pthread_t self = pthread_self(), where;
    void *value = NULL;
    tn_runtime *rt = started(1, 4, 1000);
    in_fibre(rt, call_once, &self);
    errno_set(7); /* on a plain thread it runs right here */
    CHECK_EQUAL(tn_blocking(look_around, &where, &value), 0);
    CHECK_EQUAL(errno_get(), 11);
    CHECK(pthread_equal(where, self) && (uintptr_t)value == 42);
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void *post(void *s)
{
    sem_post(s);
    return NULL;
}

static void *wait_for_other(void *arg)
{
    sem_t s;
    tn_fibre *f;
    sem_init(&s, 0, 0);
    CHECK_EQUAL(tn_spawn(&f, NULL, post, &s), 0);
    CHECK_EQUAL(tn_blocking(take_in_call, &s, NULL), 0); /* the only worker goes on meanwhile */
    CHECK_EQUAL(tn_join(f, NULL), 0);
    sem_destroy(&s);
    return arg;
}

static void test_worker_goes_on(void)
{
    tn_runtime *rt = started(1, 1, 1000);
    in_fibre(rt, wait_for_other, NULL);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- bounds ---- */

static atomic_int inside, most;
static pthread_barrier_t together;

static void *count_inside(void *arg)
{
    int now = atomic_fetch_add(&inside, 1) + 1, seen = atomic_load(&most);
    while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now))
        ;
    nap_us(500);
    atomic_fetch_sub(&inside, 1);
    return arg;
}

static void *meet(void *arg)
{
    pthread_barrier_wait(&together);
    return arg;
}

static void *(*what)(void *);

static void *call_it(void *n)
{
    void *value = NULL;
    CHECK_EQUAL(tn_blocking(what, n, &value), 0);
    CHECK(value == n);
    return NULL;
}

static void *many_calls(void *n)
{
    tn_fibre *f[64];
    for (uintptr_t i = 0; i < (uintptr_t)n; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, call_it, (void *)i), 0);
    for (uintptr_t i = 0; i < (uintptr_t)n; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    return NULL;
}

static void test_bound(void)
{
    tn_runtime *rt = started(2, 2, 1000000); /* no thread ends meanwhile, however busy the machine is */
    what = count_inside;
    atomic_store(&most, 0);
    in_fibre(rt, many_calls, (void *)24);
    CHECK(atomic_load(&most) >= 1 && atomic_load(&most) <= 2);
    if (counting()) {
        CHECK_EQUAL(counter(tn_cluster_first(rt), "blocking"), 24);
        CHECK(counter(tn_cluster_first(rt), "pool_thread") <= 2);
    }
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void test_grows(void)
{
    enum { N = 12 };
    tn_runtime *rt = started(1, N, 1000);
    what = meet; /* returns only when all are there at once */
    pthread_barrier_init(&together, NULL, N);
    in_fibre(rt, many_calls, (void *)N);
    if (counting())
        CHECK_EQUAL(counter(tn_cluster_first(rt), "pool_thread"), N);
    pthread_barrier_destroy(&together);
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void *nothing(void *arg)
{
    return arg;
}

/* Which thread has run it? */
static void *which_thread(void *number)
{
    *(long *)number = syscall(SYS_gettid);
    return number;
}

static void *asks_which(void *number)
{
    CHECK_EQUAL(tn_blocking(which_thread, number, NULL), 0);
    return NULL;
}

/* A thread that is patient serves the next call too, unless that comes before the thread is idle again. */
static bool serves_again(tn_runtime *rt)
{
    enum { CALLS = 60 };
    long by[CALLS];
    for (int i = 0; i < CALLS; i++) {
        in_fibre(rt, asks_which, &by[i]);
        for (int k = 0; k < i; k++)
            if (by[k] == by[i])
                return true;
        nap_us(1000);
    }
    return false;
}

static void test_shrinks(void)
{
    CHECK_EQUAL(tn_run(NULL, nothing, NULL, NULL), 0); /* what a first thread brings along */
    unsigned before = harness_count("task");
    tn_runtime *rt = started(1, 8, 1);
    for (int round = 0; round < 3; round++) {
        what = meet;
        pthread_barrier_init(&together, NULL, 8);
        in_fibre(rt, many_calls, (void *)8);
        pthread_barrier_destroy(&together);
        CHECK(EVENTUALLY(harness_count("task") == before + 1 + poller_threads())); /* the worker */
    }
    if (counting())
        CHECK(counter(tn_cluster_first(rt), "pool_thread") >= 24);
    CHECK_EQUAL(tn_stop(rt), 0);
    rt = started(1, 100, 1000000);
    CHECK(serves_again(rt));
    CHECK_EQUAL(tn_stop(rt), 0);
    CHECK(EVENTUALLY(harness_count("task") == before));
}

/* No thread to be had: the one that is busy must do, or the call is refused. */
static sem_t begun, go_on;

static void *sleep_for_ever(void *arg)
{
    for (;;)
        nap_us(1000000);
    return arg;
}

static bool exhaust_threads(void)
{
    pthread_t t;
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    if (f == NULL || fscanf(f, "%lu", &pages) != 1)
        return false;
    fclose(f);
    struct rlimit limit = {pages * 4096 + (1 << 20), RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return false;
    while (pthread_create(&t, NULL, sleep_for_ever, NULL) == 0) /* stacks that the C library has kept */
        ;
    return true;
}

static void *busy(void *arg)
{
    sem_post(&begun);
    take(&go_on);
    return arg;
}

static void *call_busy(void *arg)
{
    return tn_blocking(busy, arg, NULL) == 0 ? NULL : "the busy call";
}

static void *call_nothing(void *arg)
{
    void *value = NULL;
    int rc = tn_blocking(nothing, arg, &value);
    return rc == (arg != NULL ? 0 : EAGAIN) && value == arg ? NULL : "another outcome";
}

static void *until_no_thread(void *some)
{
    tn_fibre *f, *g = NULL;
    void *value, *other = NULL;
    if (some != NULL) {
        if (tn_spawn(&g, NULL, call_busy, NULL) != 0)
            return "spawn";
        while (sem_trywait(&begun) != 0)
            tn_yield();
    }
    if (!exhaust_threads())
        return "no limit";
    if (tn_spawn(&f, NULL, call_nothing, some) != 0)
        return "spawn";
    for (int i = 0; i < 5; i++)
        tn_yield();
    sem_post(&go_on);
    tn_join(f, &value);
    if (g != NULL)
        tn_join(g, &other);
    return value != NULL ? value : other;
}

static int no_thread(void *arg)
{
    struct tn_config c = with(1, NULL);
    void *value = arg;
    c.pool = 8;
    sem_init(&begun, 0, 0);
    sem_init(&go_on, 0, 0);
    if (tn_run(&c, until_no_thread, arg, &value) != 0)
        return 3;
    if (value != NULL)
        fprintf(stderr, "%s\n", (char *)value);
    return value != NULL;
}

static void test_no_thread(void)
{
    char err[512];
    if (build_has("sanitize=address") || build_has("sanitize=thread"))
        SKIP("the sanitizer needs its terabytes");
    if (build_has("stacks=split"))
        SKIP("a limit of address space for threads is one for stacks that grow too");
    for (uintptr_t some = 0; some < 2; some++) {
        int status = harness_child(no_thread, (void *)some, err, sizeof err);
        if (!CHECK(exited(status, 0)))
            harness_note("status %x: %s", (unsigned)status, err);
    }
}

/* ---- tn_stop ---- */

static atomic_int runs, ends;

static void *slow(void *arg)
{
    atomic_fetch_add(&runs, 1);
    sem_post(&begun);
    take(&go_on);
    nap_us(1000);
    atomic_fetch_add(&ends, 1);
    return arg;
}

static void *stop_from_call(void *rt)
{
    return (void *)(intptr_t)tn_stop(rt);
}

static void *calls_stop(void *rt)
{
    void *value = NULL;
    CHECK_EQUAL(tn_blocking(stop_from_call, rt, &value), 0);
    CHECK_EQUAL((intptr_t)value, EPERM);
    return NULL;
}

static void test_stop(void)
{
    for (int round = 0; round < 10; round++) {
        tn_runtime *rt = started(1 + round % 2, 2, 1000);
        in_fibre(rt, calls_stop, rt);
        sem_init(&begun, 0, 0);
        sem_init(&go_on, 0, 0);
        atomic_store(&runs, 0);
        atomic_store(&ends, 0);
        what = slow;
        for (uintptr_t i = 0; i < 5; i++)
            CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.runtime = rt}, call_it, (void *)i), 0);
        take(&begun);
        take(&begun); /* two are under way, three wait */
        sem_post(&go_on);
        sem_post(&go_on);
        if (round % 3 == 0) { /* some that tn_stop finds at work, and some that it finds done */
            take(&begun);
            sem_post(&go_on);
        }
        for (int i = 0; i < 8; i++)
            sem_post(&go_on);
        CHECK_EQUAL(tn_stop(rt), 0);
        CHECK(atomic_load(&runs) >= 2 && atomic_load(&runs) == atomic_load(&ends));
        int seen = atomic_load(&runs);
        nap_us(500);
        CHECK_EQUAL(atomic_load(&runs), seen);
        sem_destroy(&begun);
        sem_destroy(&go_on);
    }
}

static void *release_later(void *arg)
{
    nap_us(5000);
    for (int i = 0; i < 8; i++)
        sem_post(&go_on);
    return arg;
}

static void test_stop_drops(void) /* what has not begun never runs */
{
    tn_runtime *rt = started(1, 1, 1000);
    pthread_t other;
    sem_init(&begun, 0, 0);
    sem_init(&go_on, 0, 0);
    atomic_store(&runs, 0);
    atomic_store(&ends, 0);
    what = slow;
    for (uintptr_t i = 0; i < 4; i++)
        CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.runtime = rt}, call_it, (void *)i), 0);
    take(&begun);
    pthread_create(&other, NULL, release_later, NULL);
    CHECK_EQUAL(tn_stop(rt), 0);
    CHECK(atomic_load(&ends) == atomic_load(&runs) && atomic_load(&runs) >= 1);
    pthread_join(other, NULL);
    sem_destroy(&begun);
    sem_destroy(&go_on);
}

/* ---- many, with errno, from several clusters ---- */

static unsigned storm_calls = 60;

static void *spoil_errno(void *n)
{
    int mine = errno_get();
    if ((uintptr_t)n % 16 == 0)
        nap_us(50);
    errno_set(mine + 1);
    return (void *)(uintptr_t)mine;
}

static void *storm_fibre(void *arg)
{
    int mine = 1000 * (int)(uintptr_t)arg;
    unsigned wrong = 0;
    errno_set(mine);
    for (unsigned i = 0; i < storm_calls; i++) {
        void *value = NULL;
        wrong += tn_blocking(spoil_errno, (void *)(uintptr_t)i, &value) != 0 || (int)(uintptr_t)value != mine;
        wrong += errno_get() != ++mine;
        if (i % 3 == 0)
            tn_yield();
    }
    CHECK_EQUAL(wrong, 0);
    return NULL;
}

static void test_storm(void)
{
    enum { FIBRES = 24 };
    tn_runtime *rt = started(3, 5, 0); /* no patience: threads come and go all the time */
    tn_cluster *second;
    struct tn_config c = with(2, NULL);
    tn_fibre *f[FIBRES];
    CHECK_EQUAL(tn_cluster_create(rt, &c, &second), 0);
    for (uintptr_t i = 0; i < FIBRES; i++)
        CHECK_EQUAL(tn_spawn(&f[i], &(struct tn_attr){.cluster = i % 2 ? second : tn_cluster_first(rt)}, storm_fibre,
                             (void *)i),
                    0);
    for (int i = 0; i < FIBRES; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    CHECK_EQUAL(tn_stop(rt), 0);
}

int main(int argc, char **argv)
{
    static const struct test fast[] = {
        {"a call runs on a thread of the pool, with its errno", test_call},
        {"the worker goes on meanwhile", test_worker_goes_on},
        {"no more threads than the knob says", test_bound},
        {"the pool grows with the calls", test_grows},
        {"it shrinks when there are none", test_shrinks},
        {"no thread to be had: EAGAIN, or the others do it", test_no_thread},
        {"tn_stop waits for calls under way", test_stop},
        {"tn_stop drops calls that have not begun", test_stop_drops},
        {"many calls while threads come and go", test_storm},
    };
    static const struct test stress[] = {
        {"many calls while threads come and go, long", test_storm},
    };
    if (argc > 1 && strcmp(argv[1], "--stress") == 0) {
        storm_calls = 3000;
        harness_patience(250);
        return HARNESS_RUN("blocking-stress", stress);
    }
    return HARNESS_RUN("blocking", fast);
}
