/* SPDX-License-Identifier: MIT
 *
 * For a whole file of C (not C++, whose library has these names in its headers): the names of pthreads, of POSIX
 * semaphores and of <threads.h> mean fibres. Included before anything else (cc -include tenter_pthread.h), an ordinary
 * program runs on Tenter as it is: its threads are fibres of one runtime, which the first of them starts with what
 * TENTER_… says, and main stays a plain thread. All files that share such objects must include it.
 *
 * Contracts are those of the names, with these limits: attributes other than stack size, detached state, type of a mutex,
 * and clock of a condition are not there, so that who sets others learns it from the compiler; there is no pthread_cancel
 * (see tn_token) and nothing shared between processes; a fibre that calls what blocks its thread (read, sleep) blocks its
 * worker (see tn_blocking, and the knob monitor_us). main ends by returning or exit(), not by pthread_exit (which ends
 * the program with a message), and is not joined. A name that is not here is the system's. What a file defines for the
 * system's headers (_GNU_SOURCE) comes too late in its text: give it on the command line (-D_GNU_SOURCE).
 */
#ifndef TENTER_PTHREAD_H
#define TENTER_PTHREAD_H

#if defined __STRICT_ANSI__ && !defined _POSIX_C_SOURCE && !defined _XOPEN_SOURCE && !defined _GNU_SOURCE && \
    !defined _DEFAULT_SOURCE
#define _POSIX_C_SOURCE 200809L /* cc -std=c17: what is below needs it */
#endif

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

#include "tenter_group.h"
#include "tenter_sync.h"

/* ---- one runtime; weak, so that all files of a program have the same ---- */

__attribute__((weak)) tn_once tn_pthread_once = TN_ONCE_INIT;
__attribute__((weak)) tn_runtime *tn_pthread_runtime;

/* In a child of fork, which has none of the parent's fibres: its first thread starts a runtime of its own. */
static inline void tn_pthread_forked(void)
{
    tn_pthread_once = (tn_once)TN_ONCE_INIT;
}

static inline void tn_pthread_start(void)
{
    if (pthread_atfork(NULL, NULL, tn_pthread_forked) != 0 || tn_start(&tn_pthread_runtime, NULL) != 0) {
        fputs("tenter: no runtime for pthread_create\n", stderr);
        abort();
    }
}

/* A time of the clock as a deadline. */
static inline int tn_pthread_deadline(clockid_t clock, const struct timespec *at, tn_time *deadline)
{
    struct timespec now;
    if (at->tv_nsec < 0 || at->tv_nsec >= 1000000000 || clock_gettime(clock, &now) != 0)
        return EINVAL;
    int64_t s = 0, ns = at->tv_nsec - now.tv_nsec;
    if (__builtin_sub_overflow((int64_t)at->tv_sec, (int64_t)now.tv_sec, &s)) /* further than there are numbers */
        s = at->tv_sec < 0 ? -1 : INT64_MAX;
    if (s > INT64_C(1) << 32)
        *deadline = TN_FOREVER;
    else
        *deadline = s < 0 || s * 1000000000 + ns < 0 ? 0 : tn_now() + (uint64_t)(s * 1000000000 + ns);
    return 0;
}

/* ---- threads ---- */

typedef tn_fibre *tn_pthread;

static inline int tn_pthread_attr_init(struct tn_attr *attr)
{
    *attr = (struct tn_attr){.name = NULL};
    return 0;
}

static inline int tn_pthread_attr_destroy(struct tn_attr *attr)
{
    (void)attr;
    return 0;
}

static inline int tn_pthread_attr_setstacksize(struct tn_attr *attr, size_t size)
{
    if (size < 4096 || size > TN_STACK_MAX) /* what tn_spawn refuses */
        return EINVAL;
    attr->stack = size;
    return 0;
}

static inline int tn_pthread_attr_setdetachstate(struct tn_attr *attr, int state)
{
    if (state != PTHREAD_CREATE_DETACHED && state != PTHREAD_CREATE_JOINABLE)
        return EINVAL;
    attr->detached = state == PTHREAD_CREATE_DETACHED;
    return 0;
}

static inline int tn_pthread_create(tn_fibre **out, const struct tn_attr *attr, void *(*fn)(void *), void *arg)
{
    struct tn_attr mine = attr != NULL ? *attr : (struct tn_attr){.name = NULL};
    if (tn_fibre_self() == NULL) {
        int rc = tn_once_do(&tn_pthread_once, tn_pthread_start);
        if (rc != 0)
            return rc;
        mine.runtime = tn_pthread_runtime;
    }
    return tn_spawn(out, &mine, fn, arg);
}

/* NULL is main, which is no fibre: it does not end before the program does. */
static inline int tn_pthread_join(tn_fibre *f, void **value)
{
    return f != NULL ? tn_join(f, value) : tn_fibre_self() == NULL ? EDEADLK : EINVAL;
}

static inline int tn_pthread_detach(tn_fibre *f)
{
    return f != NULL ? tn_detach(f) : 0;
}

static inline int tn_pthread_equal(tn_fibre *a, tn_fibre *b)
{
    return a == b;
}

static inline int tn_pthread_yield(void)
{
    tn_yield();
    return 0;
}

/* ---- clean-up handlers; main, which is no fibre, has none, but what it pops it may call ---- */

struct tn_pthread_cleanup {
    struct tn_cleanup own;
    void (*fn)(void *arg);
    void *arg;
    bool pushed;
};

static inline void tn_pthread_cleanup_push(struct tn_pthread_cleanup *c, void (*fn)(void *arg), void *arg)
{
    c->fn = fn;
    c->arg = arg;
    c->pushed = tn_cleanup_push(&c->own, fn, arg) == 0;
}

static inline void tn_pthread_cleanup_pop(const struct tn_pthread_cleanup *c, bool run)
{
    if (c->pushed)
        tn_cleanup_pop(run);
    else if (run)
        c->fn(c->arg);
}

/* ---- mutexes, conditions, locks ---- */

static inline int tn_pthread_mutexattr_init(struct tn_mutex_attr *attr)
{
    *attr = (struct tn_mutex_attr){TN_MUTEX_DEFAULT, TN_MUTEX_NORMAL};
    return 0;
}

static inline int tn_pthread_mutexattr_destroy(struct tn_mutex_attr *attr)
{
    (void)attr;
    return 0;
}

static inline int tn_pthread_mutexattr_settype(struct tn_mutex_attr *attr, int type)
{
    if (type == PTHREAD_MUTEX_RECURSIVE)
        attr->kind = TN_MUTEX_RECURSIVE;
    else if (type == PTHREAD_MUTEX_ERRORCHECK)
        attr->kind = TN_MUTEX_CHECKED;
    else if (type == PTHREAD_MUTEX_NORMAL || type == PTHREAD_MUTEX_DEFAULT)
        attr->kind = TN_MUTEX_NORMAL;
    else
        return EINVAL;
    return 0;
}

static inline int tn_pthread_mutex_timedlock(tn_mutex *m, const struct timespec *at)
{
    tn_time deadline;
    int rc = tn_mutex_trylock(m);
    if (rc != EBUSY || (rc = tn_pthread_deadline(CLOCK_REALTIME, at, &deadline)) != 0)
        return rc;
    return tn_mutex_lock_until(m, deadline, NULL);
}

typedef struct tn_pthread_cond {
    tn_cond cond;
    clockid_t clock;
} tn_pthread_cond;

static inline int tn_pthread_condattr_init(clockid_t *attr)
{
    *attr = CLOCK_REALTIME;
    return 0;
}

static inline int tn_pthread_condattr_destroy(clockid_t *attr)
{
    (void)attr;
    return 0;
}

static inline int tn_pthread_condattr_setclock(clockid_t *attr, clockid_t clock)
{
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
        return EINVAL;
    *attr = clock;
    return 0;
}

static inline int tn_pthread_cond_init(tn_pthread_cond *c, const clockid_t *attr)
{
    tn_cond_init(&c->cond);
    c->clock = attr != NULL ? *attr : CLOCK_REALTIME;
    return 0;
}

static inline int tn_pthread_cond_destroy(tn_pthread_cond *c)
{
    return tn_cond_destroy(&c->cond);
}

static inline int tn_pthread_cond_wait(tn_pthread_cond *c, tn_mutex *m)
{
    return tn_cond_wait(&c->cond, m);
}

static inline int tn_pthread_cond_timedwait(tn_pthread_cond *c, tn_mutex *m, const struct timespec *at)
{
    tn_time deadline;
    int rc = tn_pthread_deadline(c->clock, at, &deadline);
    return rc != 0 ? rc : tn_cond_wait_until(&c->cond, m, deadline, NULL);
}

static inline int tn_pthread_cond_signal(tn_pthread_cond *c)
{
    tn_cond_signal(&c->cond);
    return 0;
}

static inline int tn_pthread_cond_broadcast(tn_pthread_cond *c)
{
    tn_cond_broadcast(&c->cond);
    return 0;
}

static inline int tn_pthread_rwlock_init(tn_rwlock *rw, const void *none)
{
    (void)none;
    return tn_rwlock_init(rw, TN_RWLOCK_FAIR);
}

static inline int tn_pthread_rwlock_timedrdlock(tn_rwlock *rw, const struct timespec *at)
{
    tn_time deadline;
    int rc = tn_rwlock_tryrdlock(rw);
    if (rc != EBUSY || (rc = tn_pthread_deadline(CLOCK_REALTIME, at, &deadline)) != 0)
        return rc;
    return tn_rwlock_rdlock_until(rw, deadline, NULL);
}

static inline int tn_pthread_rwlock_timedwrlock(tn_rwlock *rw, const struct timespec *at)
{
    tn_time deadline;
    int rc = tn_rwlock_trywrlock(rw);
    if (rc != EBUSY || (rc = tn_pthread_deadline(CLOCK_REALTIME, at, &deadline)) != 0)
        return rc;
    return tn_rwlock_wrlock_until(rw, deadline, NULL);
}

static inline int tn_pthread_barrier_init(tn_barrier *b, const void *none, unsigned count)
{
    (void)none;
    return tn_barrier_init(b, count);
}

/* ---- keys: a fibre's, and main's by the system ---- */

typedef struct tn_pthread_pair {
    tn_key key;
    pthread_key_t system;
    struct tn_pthread_pair
        *next; /* of those that were deleted: fibres may hold values under them, and so they stay */
} * tn_pthread_key;

__attribute__((weak)) tn_pthread_key tn_pthread_deleted;
__attribute__((weak)) tn_mutex tn_pthread_deleting = TN_MUTEX_INIT;

static inline int tn_pthread_key_create(tn_pthread_key *key, void (*destructor)(void *))
{
    int rc = ENOMEM;
    if ((*key = (tn_pthread_key)malloc(sizeof(**key))) == NULL)
        return rc;
    (*key)->key.destructor = destructor;
    if ((rc = pthread_key_create(&(*key)->system, destructor)) != 0)
        free(*key);
    return rc;
}

static inline int tn_pthread_key_delete(tn_pthread_key key)
{
    key->key.destructor = NULL; /* none is called any more */
    tn_mutex_lock(&tn_pthread_deleting);
    key->next = tn_pthread_deleted;
    tn_pthread_deleted = key;
    tn_mutex_unlock(&tn_pthread_deleting);
    return pthread_key_delete(key->system);
}

static inline int tn_pthread_setspecific(tn_pthread_key key, const void *value)
{
    return tn_fibre_self() != NULL ? tn_local_set(&key->key, (void *)(uintptr_t)value)
                                   : pthread_setspecific(key->system, value);
}

static inline void *tn_pthread_getspecific(tn_pthread_key key)
{
    return tn_fibre_self() != NULL ? tn_local_get(&key->key) : pthread_getspecific(key->system);
}

/* ---- semaphores: -1 and errno ---- */

static inline int tn_pthread_failed(int rc)
{
    if (rc == 0)
        return 0;
    errno = rc;
    return -1;
}

static inline int tn_pthread_sem_init(tn_sem *s, int shared, unsigned value)
{
    return tn_pthread_failed(shared != 0 ? ENOSYS : tn_sem_init(s, value, 0));
}

static inline int tn_pthread_sem_destroy(tn_sem *s)
{
    return tn_pthread_failed(tn_sem_destroy(s));
}

static inline int tn_pthread_sem_wait(tn_sem *s)
{
    return tn_pthread_failed(tn_sem_wait(s));
}

static inline int tn_pthread_sem_trywait(tn_sem *s)
{
    return tn_pthread_failed(tn_sem_trywait(s));
}

static inline int tn_pthread_sem_timedwait(tn_sem *s, const struct timespec *at)
{
    tn_time deadline;
    int rc = tn_sem_trywait(s);
    if (rc == EAGAIN && (rc = tn_pthread_deadline(CLOCK_REALTIME, at, &deadline)) == 0)
        rc = tn_sem_wait_until(s, 1, deadline, NULL);
    return tn_pthread_failed(rc);
}

static inline int tn_pthread_sem_post(tn_sem *s)
{
    return tn_pthread_failed(tn_sem_post(s));
}

static inline int tn_pthread_sem_getvalue(tn_sem *s, int *value)
{
    *value = (int)tn_sem_value(s);
    return 0;
}

/* ---- <threads.h>, and the names ---- */

#include "tenter_c11.h"

#include "tenter_names.h"

#endif
