/* SPDX-License-Identifier: MIT */
/* Mutexes and reader-writer locks: see sync.h. */
#define _GNU_SOURCE
#include "sync.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <threads.h>

void in_fresh(void *object, size_t size)
{
    in_plain(object, size, true, in_cur->pc);
    memset(object, 0, size);
}

/* ---- mutexes ---- */

int in_lock(struct in_mutex *m, unsigned op)
{
    if (m->owner == IN_ME) {
        if (m->kind == PTHREAD_MUTEX_RECURSIVE_NP) {
            if (in_ahead)
                in_op(0, 0, 0, 0, 0, OP_STOP * 8);
            m->count++;
            return 0;
        }
        if (op == OP_TRYLOCK)
            return EBUSY;
        if (m->kind == PTHREAD_MUTEX_ERRORCHECK_NP)
            return EDEADLK;
        in_bug("deadlock", "a thread locks a mutex that it holds already");
    }
    uint64_t done = IN_OP(op, IN_WORD, &m->owner, IN_ME, 0);
    if (op == OP_TRYLOCK && !done)
        return EBUSY;
    if (m->last != IN_ME) {
        m->hands = (m->hands + 1) & 0xffffff;
        m->last = IN_ME & 0xff;
    }
    return 0;
}

int in_unlock(struct in_mutex *m)
{
    if (m->owner != IN_ME) {
        if (m->kind == PTHREAD_MUTEX_ERRORCHECK_NP)
            return EPERM;
        in_bug("misuse",
               m->owner == 0 ? "unlock of a mutex that nobody holds" : "unlock of a mutex that another thread holds");
    }
    if (m->count > 0) {
        m->count--;
        return 0;
    }
    IN_OP(OP_STORE, IN_WORD, &m->owner, 0, 0);
    return 0;
}

int ex_pthread_mutex_init(struct in_mutex *m, const pthread_mutexattr_t *attr);
int ex_pthread_mutex_init(struct in_mutex *m, const pthread_mutexattr_t *attr)
{
    IN_CALL();
    in_fresh(m, sizeof(pthread_mutex_t));
    if (attr != NULL)
        pthread_mutexattr_gettype(attr, &m->kind);
    return 0;
}

int ex_pthread_mutex_destroy(struct in_mutex *m);
int ex_pthread_mutex_destroy(struct in_mutex *m)
{
    IN_CALL();
    if (m->owner != 0)
        in_bug("misuse", "a mutex is destroyed while it is held");
    in_plain(m, sizeof(pthread_mutex_t), true, in_cur->pc);
    return 0;
}

int ex_pthread_mutex_lock(struct in_mutex *m);
int ex_pthread_mutex_lock(struct in_mutex *m)
{
    IN_CALL();
    return in_lock(m, OP_LOCK);
}

int ex_pthread_mutex_trylock(struct in_mutex *m);
int ex_pthread_mutex_trylock(struct in_mutex *m)
{
    IN_CALL_READS();
    return in_lock(m, OP_TRYLOCK);
}

int ex_pthread_mutex_timedlock(struct in_mutex *m, const struct timespec *until);
int ex_pthread_mutex_timedlock(struct in_mutex *m, const struct timespec *until)
{
    (void)until;
    IN_CALL();
    return in_lock(m, OP_TRYLOCK) == 0 ? 0 : ETIMEDOUT;
}

int ex_pthread_mutex_unlock(struct in_mutex *m);
int ex_pthread_mutex_unlock(struct in_mutex *m)
{
    IN_CALL();
    return in_unlock(m);
}

/* ---- reader-writer locks: a count of readers, or the highest bit and the writer; then who reads how often, as nibbles ---- */

static const uint64_t writer = UINT64_C(1) << 63;

#define READS (UINT64_C(1) << (4 * in_cur->id))

int ex_pthread_rwlock_init(uint64_t *l, const void *attr);
int ex_pthread_rwlock_init(uint64_t *l, const void *attr)
{
    (void)attr;
    IN_CALL();
    in_fresh(l, sizeof(pthread_rwlock_t));
    return 0;
}

int ex_pthread_rwlock_destroy(uint64_t *l);
int ex_pthread_rwlock_destroy(uint64_t *l)
{
    IN_CALL();
    if (*l != 0)
        in_bug("misuse", "a reader-writer lock is destroyed while it is held");
    in_plain(l, sizeof(pthread_rwlock_t), true, in_cur->pc);
    return 0;
}

int ex_pthread_rwlock_rdlock(uint64_t *l);
int ex_pthread_rwlock_rdlock(uint64_t *l)
{
    IN_CALL();
    IN_OP(OP_RDLOCK, IN_WORD, l, 0, 0);
    l[1] += READS;
    return 0;
}

int ex_pthread_rwlock_tryrdlock(uint64_t *l);
int ex_pthread_rwlock_tryrdlock(uint64_t *l)
{
    IN_CALL_READS();
    if (!IN_OP(OP_TRYRDLOCK, IN_WORD, l, 0, 0))
        return EBUSY;
    l[1] += READS;
    return 0;
}

int ex_pthread_rwlock_wrlock(uint64_t *l);
int ex_pthread_rwlock_wrlock(uint64_t *l)
{
    IN_CALL();
    if (*l == (writer | IN_ME))
        in_bug("deadlock", "a thread locks a reader-writer lock that it holds already");
    IN_OP(OP_LOCK, IN_WORD, l, writer | IN_ME, 0);
    return 0;
}

int ex_pthread_rwlock_trywrlock(uint64_t *l);
int ex_pthread_rwlock_trywrlock(uint64_t *l)
{
    IN_CALL_READS();
    return IN_OP(OP_TRYLOCK, IN_WORD, l, writer | IN_ME, 0) ? 0 : EBUSY;
}

int ex_pthread_rwlock_unlock(uint64_t *l);
int ex_pthread_rwlock_unlock(uint64_t *l)
{
    IN_CALL();
    if (*l != (writer | IN_ME) && (l[1] & 15 * READS) == 0)
        in_bug("misuse", "unlock of a reader-writer lock that this thread does not hold");
    if (*l == (writer | IN_ME)) {
        IN_OP(OP_STORE, IN_WORD, l, 0, 0);
        return 0;
    }
    l[1] -= READS;
    IN_OP(OP_SUB, IN_WORD, l, 1, 0);
    return 0;
}

/* ---- C11: the same under other names ---- */

int ex_mtx_init(struct in_mutex *m, int type);
int ex_mtx_init(struct in_mutex *m, int type)
{
    IN_CALL();
    in_fresh(m, sizeof(mtx_t));
    m->kind = (type & mtx_recursive) != 0 ? PTHREAD_MUTEX_RECURSIVE_NP : 0;
    return thrd_success;
}

int ex_mtx_lock(struct in_mutex *m);
int ex_mtx_lock(struct in_mutex *m)
{
    IN_CALL();
    in_lock(m, OP_LOCK);
    return thrd_success;
}

int ex_mtx_trylock(struct in_mutex *m);
int ex_mtx_trylock(struct in_mutex *m)
{
    IN_CALL_READS();
    return in_lock(m, OP_TRYLOCK) == 0 ? thrd_success : thrd_busy;
}

int ex_mtx_timedlock(struct in_mutex *m, const struct timespec *until);
int ex_mtx_timedlock(struct in_mutex *m, const struct timespec *until)
{
    (void)until;
    IN_CALL();
    return in_lock(m, OP_TRYLOCK) == 0 ? thrd_success : thrd_timedout;
}

int ex_mtx_unlock(struct in_mutex *m);
int ex_mtx_unlock(struct in_mutex *m)
{
    IN_CALL();
    in_unlock(m);
    return thrd_success;
}
