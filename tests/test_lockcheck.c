/* SPDX-License-Identifier: MIT
 *
 * A build that checks locks: a lock of the operating system held over a scheduling point is reported with the places of
 * both, whatever its kind and whichever function took it; one that is given back in time, never.
 */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER, recursive, robust;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static mtx_t mtx, patient;

static struct timespec soon(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    at.tv_sec += 20;
    return at;
}

/* Each way to take a lock, and what the report calls it. */
static const struct way {
    const char *function, *kind;
} ways[] = {
    {"pthread_mutex_lock", "pthread_mutex"},
    {"pthread_mutex_trylock", "pthread_mutex"},
    {"pthread_mutex_timedlock", "pthread_mutex"},
    {"pthread_mutex_clocklock", "pthread_mutex"},
    {"a recursive one, once too often", "pthread_mutex"},
    {"a robust one, whose owner died", "pthread_mutex"},
    {"pthread_rwlock_rdlock", "pthread_rwlock, to read"},
    {"pthread_rwlock_tryrdlock", "pthread_rwlock, to read"},
    {"pthread_rwlock_timedrdlock", "pthread_rwlock, to read"},
    {"pthread_rwlock_clockrdlock", "pthread_rwlock, to read"},
    {"pthread_rwlock_wrlock", "pthread_rwlock, to write"},
    {"pthread_rwlock_trywrlock", "pthread_rwlock, to write"},
    {"pthread_rwlock_timedwrlock", "pthread_rwlock, to write"},
    {"pthread_rwlock_clockwrlock", "pthread_rwlock, to write"},
    {"pthread_spin_lock", "pthread_spinlock"},
    {"pthread_spin_trylock", "pthread_spinlock"},
    {"mtx_lock", "mtx_t"},
    {"mtx_trylock", "mtx_t"},
    {"mtx_timedlock", "mtx_t"},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* Static: their names stand in the back-traces all the same. */
static int place_that_locks(int way);
static void place_that_switches(int how);

__attribute__((noinline)) int place_that_locks(int way)
{
    struct timespec real = soon(CLOCK_REALTIME), monotonic = soon(CLOCK_MONOTONIC);
    int rc = -1;
    switch (way) {
    case 0:
        rc = pthread_mutex_lock(&mutex);
        break;
    case 1:
        rc = pthread_mutex_trylock(&mutex);
        break;
    case 2:
        rc = pthread_mutex_timedlock(&mutex, &real);
        break;
    case 3:
        rc = pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &monotonic);
        break;
    case 4:
        rc = pthread_mutex_lock(&recursive);
        break;
    case 5:
        rc = pthread_mutex_lock(&robust);
        break;
    case 6:
        rc = pthread_rwlock_rdlock(&rwlock);
        break;
    case 7:
        rc = pthread_rwlock_tryrdlock(&rwlock);
        break;
    case 8:
        rc = pthread_rwlock_timedrdlock(&rwlock, &real);
        break;
    case 9:
        rc = pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &monotonic);
        break;
    case 10:
        rc = pthread_rwlock_wrlock(&rwlock);
        break;
    case 11:
        rc = pthread_rwlock_trywrlock(&rwlock);
        break;
    case 12:
        rc = pthread_rwlock_timedwrlock(&rwlock, &real);
        break;
    case 13:
        rc = pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &monotonic);
        break;
    case 14:
        rc = pthread_spin_lock(&spinlock);
        break;
    case 15:
        rc = pthread_spin_trylock(&spinlock);
        break;
    case 16:
        rc = mtx_lock(&mtx);
        break;
    case 17:
        rc = mtx_trylock(&mtx);
        break;
    case 18:
        rc = mtx_timedlock(&patient, &real);
        break;
    default:
        break;
    }
    __asm__ volatile(""); /* no jump in place of the call */
    return rc;
}

static void give_back(int way)
{
    if (way < 4)
        pthread_mutex_unlock(&mutex);
    else if (way == 4)
        pthread_mutex_unlock(&recursive);
    else if (way == 5)
        pthread_mutex_unlock(&robust);
    else if (way < 14)
        pthread_rwlock_unlock(&rwlock);
    else if (way < 16)
        pthread_spin_unlock(&spinlock);
    else
        mtx_unlock(way < 18 ? &mtx : &patient);
}

/* Its owner ends with it, so that it is the next one's, who is told so. */
static void *dies_with_it(void *arg)
{
    pthread_mutex_lock(&robust);
    return arg;
}

static void make_locks(void)
{
    pthread_mutexattr_t attr;
    pthread_t t;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_NORMAL);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attr);
    pthread_mutexattr_destroy(&attr);
    pthread_create(&t, NULL, dies_with_it, NULL);
    pthread_join(t, NULL);
    pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
    mtx_init(&mtx, mtx_plain);
    mtx_init(&patient, mtx_timed);
}

static void *echo(void *arg)
{
    return arg;
}

__attribute__((noinline)) static void place_that_switches(int how)
{
    tn_fibre *f;
    switch (how) {
    case 0:
    case 1:
        tn_yield();
        break;
    case 2:
        tn_sleep(1000);
        break;
    case 3:
        tn_blocking(echo, NULL, NULL);
        break;
    default:
        tn_spawn(&f, NULL, echo, NULL);
        tn_join(f, NULL);
    }
    __asm__ volatile("");
}

static void *wrong_fibre(void *how)
{
    volatile int way = *(int *)how; /* no copy of the place made for one of them */
    pthread_mutex_lock(&other);     /* what was given back is not the culprit */
    if (way == 4)
        place_that_locks(way);
    int rc = place_that_locks(way);
    pthread_mutex_unlock(&other);
    if (way == 4)
        pthread_mutex_unlock(&recursive);
    if (rc == (way == 5 ? EOWNERDEAD : 0))
        place_that_switches(way % 5);
    return NULL;
}

static int wrong(void *how)
{
    struct tn_config c = with(1, NULL);
    tn_runtime *rt;
    tn_fibre *f;
    make_locks();
    if (tn_start(&rt, &c) != 0 ||
        tn_spawn(&f, &(struct tn_attr){.name = "culprit", .runtime = rt}, wrong_fibre, how) != 0)
        return 2;
    tn_join(f, NULL);
    return 0;
}

static void test_found(void)
{
    for (int way = 0; way < WAYS; way++) {
        static char err[16384];
        char kind[64];
        snprintf(kind, sizeof kind, "fibre 'culprit' holds a %s (0x", ways[way].kind);
        int status = harness_child(wrong, &way, err, sizeof err);
        const char *locked = strstr(err, "place_that_locks"), *at = strstr(err, "place_that_switches");
        bool good = CHECK(killed(status, 6));
        good = CHECK(strstr(err, kind) != NULL) && good;
        good = CHECK(locked != NULL && at != NULL && locked < at) && good;
        if (!good)
            harness_note("%s, status %x: %.3000s", ways[way].function, (unsigned)status, err);
    }
}

static void *keep_locked(void *arg)
{
    pthread_mutex_lock(&mutex);
    return arg;
}

static int exits_with_it(void *arg)
{
    struct tn_config c = with(1, NULL);
    return tn_run(&c, keep_locked, arg, NULL);
}

static void test_found_at_exit(void)
{
    char err[8192];
    CHECK(killed(harness_child(exits_with_it, NULL, err, sizeof err), 6));
    CHECK(strstr(err, "'main' holds a pthread_mutex") != NULL);
}

static int shared_count;

static void *right_fibre(void *arg)
{
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_lock(&other);
        shared_count++;
        pthread_mutex_unlock(&mutex); /* not in the order of a stack */
        pthread_mutex_unlock(&other);
        struct timespec past = {0, 0};
        pthread_mutex_lock(&mutex);
        if (i % 64 == 0)
            pthread_cond_timedwait(&cond, &mutex, &past);
        pthread_mutex_unlock(&mutex);
        for (int way = 0; way < WAYS; way++) { /* those that only try may fail, which is no lock */
            int rc = place_that_locks(way);
            if (rc == EOWNERDEAD)
                pthread_mutex_consistent(&robust);
            if (way == 4 && place_that_locks(way) == 0)
                give_back(way);
            if (rc == 0 || rc == EOWNERDEAD)
                give_back(way);
        }
        tn_yield();
    }
    return arg;
}

static void *right(void *arg)
{
    tn_fibre *f[8];
    for (int i = 0; i < 8; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, right_fibre, NULL), 0);
    for (int i = 0; i < 8; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    return arg;
}

static void test_not_found(void)
{
    struct tn_config c = with(2, NULL);
    make_locks();
    CHECK(build_has("\"lock_check\":\"yes\""));
    pthread_mutex_lock(&mutex); /* a plain thread may hold what it likes */
    tn_yield();
    pthread_mutex_unlock(&mutex);
    CHECK_EQUAL(tn_run(&c, right, NULL, NULL), 0);
    CHECK_EQUAL(shared_count, 8 * 200);
}

int main(void)
{
    static const struct test tests[] = {
        {"held over a scheduling point: both places are shown", test_found},
        {"held at a fibre's end", test_found_at_exit},
        {"given back in time: nothing is said", test_not_found},
    };
    return HARNESS_RUN("lockcheck", tests);
}
