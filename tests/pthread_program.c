/* SPDX-License-Identifier: MIT
 *
 * An ordinary program of pthreads, POSIX semaphores and <threads.h>, which is built twice: as it is, and with
 * tenter_pthread.h before it, when its threads are fibres.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#undef NDEBUG
#include <assert.h>

enum { ITEMS = 1000, WORKERS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_rwlock_t guard = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t together;
static pthread_key_t mine;
static sem_t room;
static int waiting, brought, sum, begun, gone, table[8];

static void begin(void)
{
    begun++;
}

static void gone_too(void *value)
{
    pthread_mutex_lock(&lock);
    gone += *(int *)value;
    pthread_mutex_unlock(&lock);
}

static void *brings(void *arg)
{
    for (int i = 0; i < ITEMS; i++) {
        sem_wait(&room);
        pthread_mutex_lock(&lock);
        waiting++;
        if (i % 2 == 0)
            pthread_cond_signal(&more);
        else
            pthread_cond_broadcast(&more);
        pthread_mutex_unlock(&lock);
        if (i % 16 == 0)
            sched_yield();
    }
    return arg;
}

static void *takes(void *arg)
{
    static int one = 1;
#ifdef TENTER_PTHREAD_H
    assert(tn_fibre_self() != NULL);
#endif
    pthread_once(&once, begin);
    pthread_setspecific(mine, &one);
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (waiting == 0)
            pthread_cond_wait(&more, &lock);
        waiting--;
        brought++;
        pthread_mutex_unlock(&lock);
        sem_post(&room);
    }
    assert(pthread_getspecific(mine) == &one);
    int rc = pthread_barrier_wait(&together);
    if (rc == PTHREAD_BARRIER_SERIAL_THREAD) {
        pthread_rwlock_wrlock(&guard);
        for (int i = 0; i < 8; i++)
            table[i] = i;
        pthread_rwlock_unlock(&guard);
    }
    pthread_barrier_wait(&together);
    pthread_rwlock_rdlock(&guard);
    int s = 0;
    for (int i = 0; i < 8; i++)
        s += table[i];
    pthread_rwlock_unlock(&guard);
    pthread_exit((void *)((intptr_t)arg + s));
}

static void late(void)
{
    struct timespec at;
    pthread_cond_t never;
    pthread_condattr_t attr;
    clock_gettime(CLOCK_MONOTONIC, &at);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&never, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_lock(&lock);
    assert(pthread_cond_timedwait(&never, &lock, &at) == ETIMEDOUT);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&never);
}

static mtx_t m;
static cnd_t c;
static tss_t tss;
static once_flag flag = ONCE_FLAG_INIT;
static int turn;

static int plays(void *arg)
{
    int me = *(int *)arg;
    call_once(&flag, begin);
    tss_set(tss, arg);
    for (int i = 0; i < ITEMS; i++) {
        mtx_lock(&m);
        while (turn % 2 != me)
            cnd_wait(&c, &m);
        turn++;
        cnd_broadcast(&c);
        mtx_unlock(&m);
    }
    assert(tss_get(tss) == arg);
    return me + 10;
}

/* Handlers run where a thread ends within their block, the last one first, or where they are popped with a number. */
static int cleaned;

static void cleans(void *arg)
{
    cleaned = cleaned * 10 + (int)(intptr_t)arg;
}

static void *ends_within(void *arg)
{
    pthread_cleanup_push(cleans, (void *)1);
    pthread_cleanup_push(cleans, (void *)2);
    pthread_cleanup_push(cleans, (void *)3);
    pthread_cleanup_pop(0);
    pthread_cleanup_push(cleans, (void *)4);
    pthread_cleanup_pop(1);
    if (arg == NULL)
        pthread_exit((void *)5);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return arg;
}

static void cleanups(void)
{
    pthread_t t;
    void *value;
    assert(pthread_create(&t, NULL, ends_within, NULL) == 0 && pthread_join(t, &value) == 0);
    assert(value == (void *)5 && cleaned == 421);
    assert(pthread_create(&t, NULL, ends_within, &cleaned) == 0 && pthread_join(t, &value) == 0);
    assert(value == &cleaned && cleaned == 4214);
    pthread_cleanup_push(cleans, (void *)6);
    pthread_cleanup_pop(1);
    assert(cleaned == 42146);
}

/* By a time that is over, and where it is free whatever the time. */
static void timed(void)
{
    struct timespec over = {1, 0};
    assert(pthread_rwlock_timedwrlock(&guard, &over) == 0);
    assert(pthread_rwlock_tryrdlock(&guard) == EBUSY && pthread_rwlock_unlock(&guard) == 0);
    assert(pthread_rwlock_timedrdlock(&guard, &over) == 0 && pthread_rwlock_timedrdlock(&guard, &over) == 0);
    assert(pthread_rwlock_timedwrlock(&guard, &over) == ETIMEDOUT);
    assert(pthread_rwlock_unlock(&guard) == 0 && pthread_rwlock_unlock(&guard) == 0);
}

/* What else there is of the names: ways not to wait, to let go, and to tell who is who. */
static sem_t done;

static void *lets_go(void *arg)
{
    pthread_t *me = arg;
    *me = pthread_self();
    assert(pthread_equal(pthread_self(), *me) && sem_post(&done) == 0);
    return NULL;
}

static void *holds_all(void *arg)
{
    struct timespec over = {1, 0};
    pthread_rwlock_t *guarded = arg;
    assert(pthread_mutex_trylock(&lock) == EBUSY && pthread_mutex_timedlock(&lock, &over) == ETIMEDOUT);
    assert(pthread_rwlock_trywrlock(guarded) == EBUSY);
    return arg;
}

static void others(void)
{
    struct timespec over = {1, 0};
    pthread_t t, us[2];
    pthread_attr_t detached;
    pthread_rwlock_t guarded;
    pthread_key_t short_lived;
    assert(sem_init(&done, 0, 0) == 0 && pthread_key_create(&short_lived, NULL) == 0);
    assert(pthread_attr_init(&detached) == 0);
    assert(pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED) == 0);
    assert(pthread_create(&t, &detached, lets_go, &us[0]) == 0 && pthread_attr_destroy(&detached) == 0);
    assert(pthread_create(&t, NULL, lets_go, &us[1]) == 0 && pthread_detach(t) == 0);
    assert(sem_wait(&done) == 0 && sem_wait(&done) == 0);
    assert(sem_timedwait(&done, &over) == -1 && errno == ETIMEDOUT && sem_destroy(&done) == 0);

    assert(pthread_rwlock_init(&guarded, NULL) == 0 && pthread_rwlock_trywrlock(&guarded) == 0);
    assert(pthread_mutex_trylock(&lock) == 0 && pthread_create(&t, NULL, holds_all, &guarded) == 0);
    assert(pthread_join(t, NULL) == 0 && pthread_mutex_unlock(&lock) == 0 && pthread_rwlock_unlock(&guarded) == 0);
    assert(pthread_mutex_timedlock(&lock, &over) == 0 && pthread_mutex_unlock(&lock) == 0);
    assert(pthread_rwlock_destroy(&guarded) == 0 && pthread_key_delete(short_lived) == 0);
}

/* Waits until it is told, and says so. */
static struct {
    mtx_t m;
    cnd_t c;
    int here, told;
} talk;

static int is_told(void *all)
{
    assert(thrd_equal(thrd_current(), thrd_current()) && mtx_lock(&talk.m) == thrd_success);
    talk.here++;
    while (talk.told == 0)
        cnd_wait(&talk.c, &talk.m);
    talk.here--;
    mtx_unlock(&talk.m);
    if (all != NULL)
        thrd_exit(7);
    return 8;
}

static int by_now(void *none)
{
    struct timespec over = {1, 0};
    (void)none;
    return mtx_timedlock(&talk.m, &over);
}

static void others_of_c11(void)
{
    struct timespec over = {1, 0};
    thrd_t t[3];
    tss_t short_lived;
    int value[3];
    assert(mtx_init(&talk.m, mtx_timed) == thrd_success && cnd_init(&talk.c) == thrd_success);
    assert(tss_create(&short_lived, NULL) == thrd_success);
    tss_delete(short_lived);
    for (int i = 0; i < 3; i++)
        assert(thrd_create(&t[i], is_told, i == 1 ? &talk : NULL) == thrd_success);
    assert(thrd_detach(t[2]) == thrd_success);
    mtx_lock(&talk.m);
    assert(cnd_timedwait(&talk.c, &talk.m, &over) == thrd_timedout);
    while (talk.here < 3) {
        mtx_unlock(&talk.m);
        thrd_yield();
        mtx_lock(&talk.m);
    }
    talk.told = 1;
    for (int i = 0; i < 3; i++)
        cnd_signal(&talk.c);
    mtx_unlock(&talk.m);
    for (int i = 0; i < 2; i++)
        assert(thrd_join(t[i], &value[i]) == thrd_success && value[i] == 8 - i);
    for (int here = 1; here > 0;) {
        mtx_lock(&talk.m);
        here = talk.here;
        mtx_unlock(&talk.m);
        thrd_yield();
    }
    mtx_lock(&talk.m);
    assert(thrd_create(&t[0], by_now, NULL) == thrd_success && thrd_join(t[0], &value[0]) == thrd_success);
    assert(value[0] == thrd_timedout);
    mtx_unlock(&talk.m);
    assert(mtx_timedlock(&talk.m, &over) == thrd_success && mtx_unlock(&talk.m) == thrd_success);
    cnd_destroy(&talk.c);
    mtx_destroy(&talk.m);
}

/* What pthreads refuse, and the ends of time. Built as fibres each was something else once: forever in the place of long ago. */
static void odd(void)
{
    pthread_mutexattr_t type;
    pthread_condattr_t clock;
    pthread_attr_t attr;
    pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    struct timespec long_ago = {.tv_sec = INT64_MIN};
    assert(pthread_mutex_lock(&held) == 0);
    assert(pthread_mutex_timedlock(&held, &long_ago) == ETIMEDOUT);
    long_ago.tv_sec = -1;
    assert(pthread_mutex_timedlock(&held, &long_ago) == ETIMEDOUT);
    assert(pthread_mutex_unlock(&held) == 0 && pthread_mutex_destroy(&held) == 0);
    pthread_mutexattr_init(&type);
    assert(pthread_mutexattr_settype(&type, 99) == EINVAL && pthread_mutexattr_settype(&type, -1) == EINVAL);
    pthread_mutexattr_destroy(&type);
    pthread_condattr_init(&clock);
    assert(pthread_condattr_setclock(&clock, CLOCK_PROCESS_CPUTIME_ID) == EINVAL);
    pthread_condattr_destroy(&clock);
    pthread_attr_init(&attr);
    assert(pthread_attr_setstacksize(&attr, 10) == EINVAL && pthread_attr_setdetachstate(&attr, 99) == EINVAL);
    pthread_attr_destroy(&attr);
    assert(pthread_join(pthread_self(), NULL) == EDEADLK); /* main, which is no fibre */
}

/* More keys than there may be at a time; and of one that was deleted no destructor is called any more. */
static void *deletes(void *key)
{
    static int one = 1;
    assert(pthread_setspecific(*(pthread_key_t *)key, &one) == 0 && pthread_key_delete(*(pthread_key_t *)key) == 0);
    return NULL;
}

static void keys(void)
{
    pthread_key_t key;
    pthread_t t;
    int before = gone;
    for (int i = 0; i < 3000; i++)
        assert(pthread_key_create(&key, gone_too) == 0 && pthread_key_delete(key) == 0);
    assert(pthread_key_create(&key, gone_too) == 0 && pthread_create(&t, NULL, deletes, &key) == 0);
    assert(pthread_join(t, NULL) == 0 && gone == before);
}

/* A child of fork makes threads as its parent does. */
static void *echoes(void *arg)
{
    return arg;
}

static void forks(void)
{
#ifdef __SANITIZE_THREAD__
    return; /* it knows no threads of a child */
#endif
    int status;
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        pthread_t t;
        void *value = NULL;
        bool good = pthread_create(&t, NULL, echoes, &status) == 0 && pthread_join(t, &value) == 0;
        _exit(good && value == &status ? 7 : 1);
    }
    assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(void)
{
    pthread_t bring[WORKERS], take[WORKERS];
    pthread_attr_t attr;
    pthread_mutexattr_t type;
    pthread_mutex_t twice;
    pthread_mutexattr_init(&type);
    pthread_mutexattr_settype(&type, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&twice, &type);
    assert(pthread_mutex_lock(&twice) == 0 && pthread_mutex_lock(&twice) == 0);
    assert(pthread_mutex_unlock(&twice) == 0 && pthread_mutex_unlock(&twice) == 0);
    pthread_mutexattr_settype(&type, PTHREAD_MUTEX_ERRORCHECK);
    assert(pthread_mutex_destroy(&twice) == 0 && pthread_mutex_init(&twice, &type) == 0);
    assert(pthread_mutexattr_destroy(&type) == 0);
    assert(pthread_mutex_lock(&twice) == 0 && pthread_mutex_lock(&twice) == EDEADLK);
    assert(pthread_mutex_unlock(&twice) == 0 && pthread_mutex_unlock(&twice) == EPERM);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    sem_init(&room, 0, 3);
    pthread_barrier_init(&together, NULL, WORKERS);
    pthread_key_create(&mine, gone_too);
    for (intptr_t i = 0; i < WORKERS; i++) {
        assert(pthread_create(&take[i], NULL, takes, (void *)i) == 0);
        assert(pthread_create(&bring[i], &attr, brings, (void *)i) == 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        void *value;
        pthread_join(bring[i], NULL);
        pthread_join(take[i], &value);
        sum += (int)(intptr_t)value;
    }
    assert(pthread_barrier_destroy(&together) == 0);
    late();
    odd();
    keys();
    forks();
    cleanups();
    timed();
    others();
    others_of_c11();
    int left;
    sem_getvalue(&room, &left);
    assert(sem_trywait(&room) == 0 && sem_trywait(&room) == 0 && sem_trywait(&room) == 0);
    assert(sem_trywait(&room) == -1 && errno == EAGAIN);
    assert(brought == WORKERS * ITEMS && left == 3 && sum == 6 + 28 * WORKERS && begun == 1 && gone == WORKERS);
    printf("%d brought, %d left, sum %d, begun %d, gone %d\n", brought, left, sum, begun, gone);

    thrd_t t[2];
    int who[2] = {0, 1}, value[2];
    assert(mtx_init(&m, mtx_timed) == thrd_success && cnd_init(&c) == thrd_success);
    tss_create(&tss, NULL);
    for (int i = 0; i < 2; i++)
        assert(thrd_create(&t[i], plays, &who[i]) == thrd_success);
    for (int i = 0; i < 2; i++)
        assert(thrd_join(t[i], &value[i]) == thrd_success);
    assert(mtx_lock(&m) == thrd_success && mtx_trylock(&m) == thrd_busy);
    mtx_unlock(&m);
    printf("%d turns, %d and %d, begun %d\n", turn, value[0], value[1], begun);
    assert(turn == 2 * ITEMS && value[0] == 10 && value[1] == 11 && begun == 2);
    return 0;
}
