/* SPDX-License-Identifier: MIT
 *
 * A random program of pthreads, which is built twice as pthread_program.c is: with threads, and with fibres in their place.
 * Mutexes of each kind, also two at a time and with deadlines, a reader-writer lock, a semaphore, a queue with two conditions of
 * two clocks, a barrier: what each excludes holds at each moment, and in the end what went in is what came out. Threads are
 * the yardstick: they pass.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#undef NDEBUG
#include <assert.h>

enum { LOCKS = 5, THREADS = 24, ROUNDS = 500, UNITS = 3, PLACES = 4, MEETINGS = 20, WORDS = 4 };

static pthread_mutex_t lock[LOCKS], queue_lock = PTHREAD_MUTEX_INITIALIZER;
static const int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
static int holder[LOCKS];
static long value[LOCKS], words[WORDS];
static pthread_rwlock_t guard = PTHREAD_RWLOCK_INITIALIZER;
static sem_t room;
static atomic_int inside;
static pthread_cond_t more, fewer = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t together;
static int queue[PLACES], queued, at_work = THREADS, serial;
static long added, sent, taken, too_late;

struct me {
    int number;
    uint64_t random;
    long added, too_late;
};

static unsigned some(struct me *me, unsigned below)
{
    me->random ^= me->random << 13;
    me->random ^= me->random >> 7;
    me->random ^= me->random << 17;
    return (unsigned)(me->random % below);
}

static struct timespec soon(struct me *me, clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += 1000 * (long)some(me, 300);
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    return t;
}

/* rc of what had a deadline: true if it was granted. */
static bool granted(struct me *me, int rc)
{
    assert(rc == 0 || rc == ETIMEDOUT);
    me->too_late += rc != 0;
    return rc == 0;
}

static void one_lock(struct me *me)
{
    unsigned k = some(me, LOCKS), how = some(me, 3);
    struct timespec t = soon(me, CLOCK_REALTIME);
    int rc = how == 0 ? pthread_mutex_lock(&lock[k])
                      : (how == 1 ? pthread_mutex_timedlock(&lock[k], &t) : pthread_mutex_trylock(&lock[k]));
    if (how == 2 ? rc == EBUSY : !granted(me, rc))
        return;
    assert(rc == 0 && holder[k] == 0);
    holder[k] = me->number;
    value[k]++;
    me->added++;
    if (k % 3 == 1)
        assert(pthread_mutex_lock(&lock[k]) == 0 && pthread_mutex_unlock(&lock[k]) == 0);
    if (k % 3 == 2)
        assert(pthread_mutex_lock(&lock[k]) == EDEADLK);
    if (some(me, 4) == 0)
        sched_yield();
    assert(holder[k] == me->number);
    holder[k] = 0;
    assert(pthread_mutex_unlock(&lock[k]) == 0);
}

static void two_locks(struct me *me)
{
    unsigned a = some(me, LOCKS - 1), b = a + 1 + some(me, LOCKS - 1 - a);
    assert(pthread_mutex_lock(&lock[a]) == 0 && pthread_mutex_lock(&lock[b]) == 0);
    assert(holder[a] == 0 && holder[b] == 0);
    value[a]++;
    value[b]--;
    assert(pthread_mutex_unlock(&lock[a]) == 0 && pthread_mutex_unlock(&lock[b]) == 0);
}

static void reads(struct me *me)
{
    struct timespec t = soon(me, CLOCK_REALTIME);
    if (!granted(me, some(me, 2) ? pthread_rwlock_rdlock(&guard) : pthread_rwlock_timedrdlock(&guard, &t)))
        return;
    long first = words[0];
    sched_yield();
    for (int i = 0; i < WORDS; i++)
        assert(words[i] == first);
    assert(pthread_rwlock_unlock(&guard) == 0);
}

static void writes(struct me *me)
{
    struct timespec t = soon(me, CLOCK_REALTIME);
    if (!granted(me, some(me, 2) ? pthread_rwlock_wrlock(&guard) : pthread_rwlock_timedwrlock(&guard, &t)))
        return;
    for (int i = 0; i < WORDS; i++) {
        words[i]++;
        if (i == 1)
            sched_yield();
    }
    assert(pthread_rwlock_unlock(&guard) == 0);
}

static void enters(struct me *me)
{
    struct timespec t = soon(me, CLOCK_REALTIME);
    if (!granted(me, (some(me, 2) ? sem_wait(&room) : sem_timedwait(&room, &t)) == 0 ? 0 : errno))
        return;
    assert(atomic_fetch_add(&inside, 1) < UNITS);
    sched_yield();
    atomic_fetch_sub(&inside, 1);
    assert(sem_post(&room) == 0);
}

static void sends(struct me *me)
{
    struct timespec t = soon(me, CLOCK_REALTIME);
    int rc = 0;
    assert(pthread_mutex_lock(&queue_lock) == 0);
    while (queued == PLACES && rc == 0)
        rc = pthread_cond_timedwait(&fewer, &queue_lock, &t);
    if (queued < PLACES) {
        sent += queue[queued++] = me->number;
        pthread_cond_signal(&more);
    } else {
        granted(me, rc);
    }
    assert(pthread_mutex_unlock(&queue_lock) == 0);
}

static void takes(struct me *me)
{
    struct timespec t = soon(me, CLOCK_MONOTONIC);
    int rc = 0;
    assert(pthread_mutex_lock(&queue_lock) == 0);
    while (queued == 0 && rc == 0)
        rc = pthread_cond_timedwait(&more, &queue_lock, &t);
    if (queued > 0) {
        taken += queue[--queued];
        pthread_cond_signal(&fewer);
    } else {
        granted(me, rc);
    }
    assert(pthread_mutex_unlock(&queue_lock) == 0);
}

/* Takes until nobody sends any more. */
static void ends(struct me *me)
{
    assert(pthread_mutex_lock(&queue_lock) == 0);
    added += me->added;
    too_late += me->too_late;
    at_work--;
    pthread_cond_broadcast(&more);
    while (at_work > 0 || queued > 0)
        if (queued > 0) {
            taken += queue[--queued];
            pthread_cond_broadcast(&fewer);
        } else {
            assert(pthread_cond_wait(&more, &queue_lock) == 0);
        }
    assert(pthread_mutex_unlock(&queue_lock) == 0);
}

static void *does(void *seed)
{
    static void (*const what[])(struct me *) = {one_lock, one_lock, two_locks, reads, reads,
                                                writes,   enters,   sends,     takes};
    struct me me = {.number = 1 + (int)((uintptr_t)seed % THREADS), .random = (uintptr_t)seed * 2654435761u + 1};
    for (int i = 0; i < ROUNDS; i++)
        what[some(&me, sizeof what / sizeof what[0])](&me);
    ends(&me);
    for (int i = 0; i < MEETINGS; i++)
        if (pthread_barrier_wait(&together) == PTHREAD_BARRIER_SERIAL_THREAD)
            serial++;
    return seed;
}

int main(int argc, char **argv)
{
    uintptr_t seed = THREADS * (argc > 1 ? strtoul(argv[1], NULL, 10) : (unsigned long)time(NULL));
    pthread_t thread[THREADS];
    pthread_mutexattr_t kind;
    pthread_condattr_t clock;
    long sum = 0;
    int left;
    fprintf(stderr, "seed %lu\n", (unsigned long)seed / THREADS); /* the program's argument */
    pthread_mutexattr_init(&kind);
    for (int i = 0; i < LOCKS; i++) {
        pthread_mutexattr_settype(&kind, kinds[i % 3]);
        assert(pthread_mutex_init(&lock[i], &kind) == 0);
    }
    pthread_condattr_init(&clock);
    assert(pthread_condattr_setclock(&clock, CLOCK_MONOTONIC) == 0 && pthread_cond_init(&more, &clock) == 0);
    assert(sem_init(&room, 0, UNITS) == 0 && pthread_barrier_init(&together, NULL, THREADS) == 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert(pthread_create(&thread[i], NULL, does, (void *)(seed + i)) == 0);
    for (uintptr_t i = 0; i < THREADS; i++) {
        void *told;
        assert(pthread_join(thread[i], &told) == 0 && (uintptr_t)told == seed + i);
    }
    for (int i = 0; i < LOCKS; i++) {
        sum += value[i];
        assert(pthread_mutex_destroy(&lock[i]) == 0);
    }
    assert(sem_getvalue(&room, &left) == 0 && left == UNITS && sem_destroy(&room) == 0);
    assert(sum == added && sent == taken && queued == 0 && serial == MEETINGS);
    assert(pthread_rwlock_destroy(&guard) == 0 && pthread_barrier_destroy(&together) == 0);
    assert(pthread_cond_destroy(&more) == 0 && pthread_cond_destroy(&fewer) == 0);
    printf("%ld locked, %ld sent, %ld too late\n", added, sent, too_late);
    return 0;
}
