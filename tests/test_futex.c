/* SPDX-License-Identifier: MIT
 *
 * While nobody sleeps, no primitive calls the kernel: fibres of one worker, which is never idle, wait for each other at each of
 * them, and all calls by which it sleeps or wakes a thread are counted.
 * (The thread that called tn_run goes to sleep once, whenever it gets to it: that call is not a primitive's.)
 */
#include "harness.h"

#include "tenter_channel.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>

enum { FIBRES = 100, TURNS = 20 };

static atomic_long futexes;
static _Thread_local bool counted;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    va_list args;
    long a[6];
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_futex && counted)
        atomic_fetch_add(&futexes, 1);
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static tn_mutex mutex[3];
static tn_rwlock rwlock;
static tn_sem sem;
static tn_cond cond;
static tn_barrier barrier;
static tn_latch latch;
static tn_channel channel;
static unsigned generation, arrived, held_up;

static void meet(void)
{
    tn_mutex_lock(&mutex[0]);
    unsigned mine = generation;
    if (++arrived == FIBRES) {
        arrived = 0;
        generation++;
        tn_cond_broadcast(&cond);
    }
    while (mine == generation)
        tn_cond_wait(&cond, &mutex[0]);
    tn_mutex_unlock(&mutex[0]);
}

static void *member(void *which)
{
    uintptr_t me = (uintptr_t)which;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        for (int d = 0; d < 3; d++) {
            held_up += tn_mutex_trylock(&mutex[d]) != 0 ? tn_mutex_lock(&mutex[d]) == 0 : 0;
            tn_yield();
            tn_mutex_unlock(&mutex[d]);
        }
        if (me % 4 == 0)
            tn_rwlock_wrlock(&rwlock);
        else
            tn_rwlock_rdlock(&rwlock);
        tn_yield();
        tn_rwlock_unlock(&rwlock);
        tn_sem_wait(&sem);
        tn_yield();
        tn_sem_post(&sem);
        if (me % 2 == 0)
            tn_channel_send(&channel, &me);
        else
            tn_channel_receive(&channel, &me);
        me = (uintptr_t)which;
        meet();
        tn_barrier_wait(&barrier);
    }
    tn_latch_down(&latch, 1);
    return NULL;
}

static void *all(void *arg)
{
    counted = true;
    long before = atomic_load(&futexes);
    for (uintptr_t i = 0; i < FIBRES; i++)
        CHECK_EQUAL(tn_spawn(NULL, NULL, member, (void *)i), 0);
    tn_latch_wait(&latch);
    *(long *)arg = atomic_load(&futexes) - before;
    return NULL;
}

static void test_none(void)
{
    struct tn_config c = TN_CONFIG_INIT;
    long calls = -1;
    c.workers = 1;
    c.stall_ms = 0;
    c.monitor_us = 0;
    static const int designs[] = {TN_MUTEX_BLOCK, TN_MUTEX_FAIR, TN_MUTEX_BATON};
    for (int d = 0; d < 3; d++)
        tn_mutex_init(&mutex[d], &(struct tn_mutex_attr){.design = designs[d]});
    tn_rwlock_init(&rwlock, TN_RWLOCK_FAIR);
    tn_sem_init(&sem, 2, 0);
    tn_barrier_init(&barrier, FIBRES);
    latch = (tn_latch)TN_LATCH_INIT(FIBRES);
    tn_channel_init(&channel, NULL, sizeof(uintptr_t), 0);
    CHECK_EQUAL(tn_run(&c, all, &calls, NULL), 0);
    CHECK_EQUAL(calls, 0);
    CHECK(held_up > FIBRES);          /* they did wait */
    CHECK(atomic_load(&futexes) > 0); /* and what is counted is counted: the last fibre wakes who waits in tn_run */
}

int main(void)
{
    static const struct test tests[] = {{"no call while nobody sleeps", test_none}};
    return HARNESS_RUN("futex", tests);
}
