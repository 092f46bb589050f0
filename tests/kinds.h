/* SPDX-License-Identifier: MIT
 *
 * Ten kinds of wait that nobody ends but a cancellation or a deadline, and what they wait for.
 */
#ifndef TESTS_KINDS_H
#define TESTS_KINDS_H

#include "sync.h"

static tn_mutex held, mutex;
static tn_sem sem;
static tn_cond cond;
static tn_rwlock written;
static tn_barrier barrier;
static tn_latch latch;
static tn_token never;

static inline int in_mutex(void)
{
    return tn_mutex_lock_until(&held, TN_FOREVER, NULL);
}
static inline int in_sem(void)
{
    return tn_sem_wait(&sem);
}
static inline int in_cond(void)
{
    tn_mutex_lock(&mutex);
    int rc = tn_cond_wait(&cond, &mutex);
    tn_mutex_unlock(&mutex);
    return rc;
}
static inline int in_read(void)
{
    return tn_rwlock_rdlock_until(&written, TN_FOREVER, NULL);
}
static inline int in_write(void)
{
    return tn_rwlock_wrlock_until(&written, TN_FOREVER, NULL);
}
static inline int in_barrier(void)
{
    return tn_barrier_wait(&barrier);
}
static inline int in_latch(void)
{
    return tn_latch_wait(&latch);
}
static inline int in_sleep(void)
{
    return tn_sleep_until(TN_FOREVER, NULL);
}
static inline int in_token(void)
{
    tn_wait_prepare();
    return tn_wait(TN_FOREVER, &never);
}
static inline void nobody(tn_waiter waiter, void *arg)
{
    (void)waiter, (void)arg;
}
static inline int in_suspend(void)
{
    return tn_suspend(nobody, NULL, TN_FOREVER, NULL);
}
static int (*const kinds[])(void) = {in_mutex,   in_sem,   in_cond,  in_read,  in_write,
                                     in_barrier, in_latch, in_sleep, in_token, in_suspend};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* `design`: of the mutex that is held; one that spins is waited for by yielding. */
static inline void block_all(int design)
{
    CHECK_EQUAL(tn_mutex_init(&held, &(struct tn_mutex_attr){design, TN_MUTEX_NORMAL}), 0);
    CHECK_EQUAL(tn_mutex_init(&mutex, NULL), 0);
    CHECK_EQUAL(tn_sem_init(&sem, 0, 0), 0);
    tn_cond_init(&cond);
    CHECK_EQUAL(tn_rwlock_init(&written, TN_RWLOCK_FAIR), 0);
    CHECK_EQUAL(tn_barrier_init(&barrier, 1000000), 0);
    tn_latch_init(&latch, 1);
    tn_token_init(&never);
    CHECK_EQUAL(tn_mutex_lock(&held), 0);
    CHECK_EQUAL(tn_rwlock_wrlock(&written), 0);
}

/* Nobody is left in any of them. */
static inline void unblock_all(void)
{
    CHECK_EQUAL(tn_mutex_unlock(&held), 0);
    CHECK_EQUAL(tn_rwlock_unlock(&written), 0);
    CHECK_EQUAL(tn_mutex_destroy(&held), 0);
    CHECK_EQUAL(tn_mutex_destroy(&mutex), 0);
    CHECK_EQUAL(tn_sem_destroy(&sem), 0);
    CHECK_EQUAL(tn_cond_destroy(&cond), 0);
    CHECK_EQUAL(tn_rwlock_destroy(&written), 0);
    CHECK_EQUAL(tn_barrier_destroy(&barrier), 0);
    CHECK_EQUAL(barrier.waits.state, 0);
    CHECK_EQUAL(tn_latch_destroy(&latch), 0);
}

#endif
