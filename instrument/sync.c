/* SPDX-License-Identifier: MIT */
/*
 * POSIX and C11 threads for the code under test, made of the operations in ops.h on the words of its own objects: zero
 * bytes are what the static initialisers are.  Which of several waiters a signal wakes is a choice, whether a wait with a
 * deadline times out is one, and so are spurious wake-ups where they are asked for.
 */
#define _GNU_SOURCE
#include "instrument.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <threads.h>

#define LOG 3
#define ME  ((uint64_t)in_cur->id + 1)

enum { KEYS = 64 };
static struct own {
    void *value[KEYS];
    uint64_t woken; /* how often a condition woke it */
} own[IN_THREADS];
static void (*destructor[KEYS])(void *);

/* Words of the library itself, put back with the rest. */
static uint64_t *signals_of(unsigned t)
{
    return (uint64_t *)(in_thread[t].low - 64);
}

static uint64_t *keys_made(void)
{
    return (uint64_t *)(in_thread[IN_THREADS - 1].low - 128);
}

static bool used; /* any of these, in this execution */

void in_sync_reset(void);
void in_sync_reset(void)
{
    if (!used)
        return;
    used = false;
    for (unsigned t = 0; t < IN_THREADS; t++)
        *signals_of(t) = 0;
    memset(own, 0, sizeof(own));
    *keys_made() = 0;
}

static void fresh(void *object, size_t size)
{
    in_plain(object, size, true, in_cur->pc);
    memset(object, 0, size);
}

/* ---- threads ---- */

int ex_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int ex_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    IN_CALL();
    uint64_t id = IN_OP(OP_CREATE, LOG, fn, arg, 0);
    int state = PTHREAD_CREATE_JOINABLE;
    if (attr != NULL)
        pthread_attr_getdetachstate(attr, &state);
    in_thread[id].detached = state == PTHREAD_CREATE_DETACHED;
    in_plain(t, sizeof(*t), true, in_cur->pc);
    *t = id + 1;
    return 0;
}

static struct in_thread *thread_of(pthread_t t, const char *what)
{
    struct in_thread *to = t >= 1 && t <= IN_THREADS ? &in_thread[t - 1] : NULL;
    if (to == NULL || !to->alive)
        in_bug("misuse", "%s of what is no thread", what);
    if (to->joined)
        in_bug("misuse", "%s of a thread that has been joined", what);
    if (to->detached)
        in_bug("misuse", "%s of a thread that is detached", what);
    return to;
}

int ex_pthread_join(pthread_t t, void **result);
int ex_pthread_join(pthread_t t, void **result)
{
    IN_CALL();
    struct in_thread *to = thread_of(t, "join");
    if (to == in_cur)
        in_bug("misuse", "a thread joins itself");
    IN_OP(OP_JOIN, LOG, 0, to->id, 0);
    if (result != NULL) {
        in_plain(result, sizeof(*result), true, in_cur->pc);
        *result = to->result;
    }
    return 0;
}

int ex_pthread_detach(pthread_t t);
int ex_pthread_detach(pthread_t t)
{
    IN_CALL();
    thread_of(t, "detach")->detached = true;
    return 0;
}

pthread_t ex_pthread_self(void);
pthread_t ex_pthread_self(void)
{
    return ME;
}

int ex_pthread_equal(pthread_t a, pthread_t b);
int ex_pthread_equal(pthread_t a, pthread_t b)
{
    return a == b;
}

void in_thread_done(void);
void in_thread_done(void)
{
    struct own *o = &own[in_cur->id];
    if (!used)
        return;
    for (int round = 0, again = 1; again != 0 && round < PTHREAD_DESTRUCTOR_ITERATIONS; round++) {
        again = 0;
        for (unsigned k = 0; k < KEYS && k < *keys_made(); k++) {
            void *value = o->value[k];
            o->value[k] = NULL;
            if (value != NULL && destructor[k] != NULL) {
                destructor[k](value);
                again = 1;
            }
        }
    }
}

_Noreturn void ex_pthread_exit(void *result);
_Noreturn void ex_pthread_exit(void *result)
{
    IN_CALL();
    in_cur->result = result;
    in_thread_done();
    in_op(0, 0, 0, 0, 0, OP_END * 8);
    __builtin_unreachable();
}

/* ---- mutexes: a word (its owner + 1), a count of a recursive one, and the kind where glibc has it ---- */

struct mutex {
    uint64_t owner;
    uint32_t count, spare;
    int kind;
};

static int lock(struct mutex *m, unsigned op)
{
    if (m->owner == ME) {
        if (m->kind == PTHREAD_MUTEX_RECURSIVE_NP) {
            m->count++;
            return 0;
        }
        if (op == OP_TRYLOCK)
            return EBUSY;
        if (m->kind == PTHREAD_MUTEX_ERRORCHECK_NP)
            return EDEADLK;
        in_bug("deadlock", "a thread locks a mutex that it holds already");
    }
    uint64_t done = IN_OP(op, LOG, &m->owner, ME, 0);
    return op == OP_TRYLOCK && !done ? EBUSY : 0;
}

static int unlock(struct mutex *m)
{
    if (m->owner != ME) {
        if (m->kind == PTHREAD_MUTEX_ERRORCHECK_NP)
            return EPERM;
        in_bug("misuse",
               m->owner == 0 ? "unlock of a mutex that nobody holds" : "unlock of a mutex that another thread holds");
    }
    if (m->count > 0) {
        m->count--;
        return 0;
    }
    IN_OP(OP_STORE, LOG, &m->owner, 0, 0);
    return 0;
}

int ex_pthread_mutex_init(struct mutex *m, const pthread_mutexattr_t *attr);
int ex_pthread_mutex_init(struct mutex *m, const pthread_mutexattr_t *attr)
{
    IN_CALL();
    fresh(m, sizeof(pthread_mutex_t));
    if (attr != NULL)
        pthread_mutexattr_gettype(attr, &m->kind);
    return 0;
}

int ex_pthread_mutex_destroy(struct mutex *m);
int ex_pthread_mutex_destroy(struct mutex *m)
{
    IN_CALL();
    if (m->owner != 0)
        in_bug("misuse", "a mutex is destroyed while it is held");
    in_plain(m, sizeof(pthread_mutex_t), true, in_cur->pc);
    return 0;
}

int ex_pthread_mutex_lock(struct mutex *m);
int ex_pthread_mutex_lock(struct mutex *m)
{
    IN_CALL();
    return lock(m, OP_LOCK);
}

int ex_pthread_mutex_trylock(struct mutex *m);
int ex_pthread_mutex_trylock(struct mutex *m)
{
    IN_CALL();
    return lock(m, OP_TRYLOCK);
}

int ex_pthread_mutex_timedlock(struct mutex *m, const struct timespec *until);
int ex_pthread_mutex_timedlock(struct mutex *m, const struct timespec *until)
{
    (void)until;
    IN_CALL();
    return lock(m, OP_TRYLOCK) == 0 ? 0 : ETIMEDOUT;
}

int ex_pthread_mutex_unlock(struct mutex *m);
int ex_pthread_mutex_unlock(struct mutex *m)
{
    IN_CALL();
    return unlock(m);
}

/* ---- condition variables: a queue of threads; each waits for its own count of signals ---- */

static int cond_wait(uint64_t *c, struct mutex *m, bool timed)
{
    if (m->owner != ME)
        in_bug("misuse", "a wait on a condition variable without its mutex");
    unsigned id = in_cur->id;
    int how = 0;
    used = true;
    IN_OP(OP_ENQUEUE, LOG, c, ME, 0);
    unlock(m);
    if ((timed || in_spurious_wake) && IN_OP(OP_CHOOSE, 0, 0, 2, 0) == 1 && IN_OP(OP_REMOVE, LOG, c, ME, 0)) {
        how = timed ? ETIMEDOUT : 0;
    } else {
        IN_OP(OP_AWAIT_OVER, LOG, signals_of(id), own[id].woken, 0);
        own[id].woken++;
    }
    lock(m, OP_LOCK);
    return how;
}

static bool cond_signal(uint64_t *c)
{
    uint64_t who = IN_OP(OP_DEQUEUE, LOG, c, 0, 0);
    if (who != 0)
        IN_OP(OP_ADD, LOG, signals_of((unsigned)who - 1), 1, 0);
    return who != 0;
}

int ex_pthread_cond_init(uint64_t *c, const void *attr);
int ex_pthread_cond_init(uint64_t *c, const void *attr)
{
    (void)attr;
    IN_CALL();
    fresh(c, sizeof(pthread_cond_t));
    return 0;
}

int ex_pthread_cond_destroy(uint64_t *c);
int ex_pthread_cond_destroy(uint64_t *c)
{
    IN_CALL();
    if (*c != 0)
        in_bug("misuse", "a condition variable is destroyed while threads wait on it");
    in_plain(c, sizeof(pthread_cond_t), true, in_cur->pc);
    return 0;
}

int ex_pthread_cond_wait(uint64_t *c, struct mutex *m);
int ex_pthread_cond_wait(uint64_t *c, struct mutex *m)
{
    IN_CALL();
    return cond_wait(c, m, false);
}

int ex_pthread_cond_timedwait(uint64_t *c, struct mutex *m, const struct timespec *until);
int ex_pthread_cond_timedwait(uint64_t *c, struct mutex *m, const struct timespec *until)
{
    (void)until;
    IN_CALL();
    return cond_wait(c, m, true);
}

int ex_pthread_cond_signal(uint64_t *c);
int ex_pthread_cond_signal(uint64_t *c)
{
    IN_CALL();
    cond_signal(c);
    return 0;
}

int ex_pthread_cond_broadcast(uint64_t *c);
int ex_pthread_cond_broadcast(uint64_t *c)
{
    IN_CALL();
    /* All at once: those who come later wait for another one. */
    uint64_t all = IN_OP(OP_XCHG, LOG, c, 0, 0);
    for (; all != 0; all >>= 4)
        IN_OP(OP_ADD, LOG, signals_of((unsigned)(all & 15) - 1), 1, 0);
    return 0;
}

/* ---- barriers: who has arrived, the generation, how many ---- */

struct barrier {
    uint64_t arrived, generation, n;
};

int ex_pthread_barrier_init(struct barrier *b, const void *attr, unsigned n);
int ex_pthread_barrier_init(struct barrier *b, const void *attr, unsigned n)
{
    (void)attr;
    IN_CALL();
    if (n == 0)
        return EINVAL;
    fresh(b, sizeof(*b));
    b->n = n;
    return 0;
}

int ex_pthread_barrier_destroy(struct barrier *b);
int ex_pthread_barrier_destroy(struct barrier *b)
{
    IN_CALL();
    if (b->arrived != 0)
        in_bug("misuse", "a barrier is destroyed while threads wait at it");
    in_plain(b, sizeof(*b), true, in_cur->pc);
    return 0;
}

int ex_pthread_barrier_wait(struct barrier *b);
int ex_pthread_barrier_wait(struct barrier *b)
{
    IN_CALL();
    if (b->n == 0)
        in_bug("misuse", "a wait at a barrier that has not been initialised");
    uint64_t generation = IN_OP(OP_LOAD, LOG, &b->generation, 0, 0);
    if (IN_OP(OP_ARRIVE, LOG, &b->arrived, b->n, 0)) {
        IN_OP(OP_STORE, LOG, &b->generation, generation + 1, 0);
        return PTHREAD_BARRIER_SERIAL_THREAD;
    }
    IN_OP(OP_AWAIT_OVER, LOG, &b->generation, generation, 0);
    return 0;
}

/* ---- reader-writer locks: a count of readers, or the highest bit and the writer ---- */

static const uint64_t writer = UINT64_C(1) << 63;

int ex_pthread_rwlock_init(uint64_t *l, const void *attr);
int ex_pthread_rwlock_init(uint64_t *l, const void *attr)
{
    (void)attr;
    IN_CALL();
    fresh(l, sizeof(pthread_rwlock_t));
    return 0;
}

int ex_pthread_rwlock_destroy(uint64_t *l);
int ex_pthread_rwlock_destroy(uint64_t *l)
{
    IN_CALL();
    if (*l != 0)
        in_bug("misuse", "a reader-writer lock is destroyed while it is held");
    return 0;
}

int ex_pthread_rwlock_rdlock(uint64_t *l);
int ex_pthread_rwlock_rdlock(uint64_t *l)
{
    IN_CALL();
    IN_OP(OP_RDLOCK, LOG, l, 0, 0);
    return 0;
}

int ex_pthread_rwlock_tryrdlock(uint64_t *l);
int ex_pthread_rwlock_tryrdlock(uint64_t *l)
{
    IN_CALL();
    return IN_OP(OP_TRYRDLOCK, LOG, l, 0, 0) ? 0 : EBUSY;
}

int ex_pthread_rwlock_wrlock(uint64_t *l);
int ex_pthread_rwlock_wrlock(uint64_t *l)
{
    IN_CALL();
    if (*l == (writer | ME))
        in_bug("deadlock", "a thread locks a reader-writer lock that it holds already");
    IN_OP(OP_LOCK, LOG, l, writer | ME, 0);
    return 0;
}

int ex_pthread_rwlock_trywrlock(uint64_t *l);
int ex_pthread_rwlock_trywrlock(uint64_t *l)
{
    IN_CALL();
    return IN_OP(OP_TRYLOCK, LOG, l, writer | ME, 0) ? 0 : EBUSY;
}

int ex_pthread_rwlock_unlock(uint64_t *l);
int ex_pthread_rwlock_unlock(uint64_t *l)
{
    IN_CALL();
    if (*l == 0 || ((*l & writer) != 0 && *l != (writer | ME)))
        in_bug("misuse", "unlock of a reader-writer lock that this thread does not hold");
    if (*l == (writer | ME))
        IN_OP(OP_STORE, LOG, l, 0, 0);
    else
        IN_OP(OP_SUB, LOG, l, 1, 0);
    return 0;
}

/* ---- once, keys, semaphores ---- */

int ex_pthread_once(int *once, void (*fn)(void));
int ex_pthread_once(int *once, void (*fn)(void))
{
    IN_CALL();
    uint64_t was = IN_OP(OP_CAS_VAL, 2, once, 0, 1);
    if (was == 0) {
        fn();
        IN_OP(OP_STORE, 2, once, 2, 0);
    } else if (was == 1) {
        IN_OP(OP_AWAIT_OVER, 2, once, 1, 0);
    }
    return 0;
}

int ex_pthread_key_create(pthread_key_t *key, void (*fn)(void *));
int ex_pthread_key_create(pthread_key_t *key, void (*fn)(void *))
{
    IN_CALL();
    used = true;
    uint64_t k = IN_OP(OP_ADD, LOG, keys_made(), 1, 0);
    if (k >= KEYS)
        return EAGAIN;
    destructor[k] = fn;
    *key = (pthread_key_t)k;
    return 0;
}

int ex_pthread_key_delete(pthread_key_t key);
int ex_pthread_key_delete(pthread_key_t key)
{
    IN_CALL();
    destructor[key % KEYS] = NULL;
    return 0;
}

int ex_pthread_setspecific(pthread_key_t key, const void *value);
int ex_pthread_setspecific(pthread_key_t key, const void *value)
{
    IN_CALL();
    if (key >= *keys_made())
        in_bug("misuse", "pthread_setspecific with a key that was not created");
    own[in_cur->id].value[key] = (void *)value;
    return 0;
}

void *ex_pthread_getspecific(pthread_key_t key);
void *ex_pthread_getspecific(pthread_key_t key)
{
    return key < KEYS ? own[in_cur->id].value[key] : NULL;
}

int ex_sem_init(uint64_t *s, int shared, unsigned value);
int ex_sem_init(uint64_t *s, int shared, unsigned value)
{
    (void)shared;
    IN_CALL();
    fresh(s, sizeof(sem_t));
    *s = value;
    return 0;
}

int ex_sem_destroy(uint64_t *s);
int ex_sem_destroy(uint64_t *s)
{
    (void)s;
    return 0;
}

int ex_sem_wait(uint64_t *s);
int ex_sem_wait(uint64_t *s)
{
    IN_CALL();
    IN_OP(OP_TAKE, LOG, s, 0, 0);
    return 0;
}

int ex_sem_trywait(uint64_t *s);
int ex_sem_trywait(uint64_t *s)
{
    IN_CALL();
    if (IN_OP(OP_TRYTAKE, LOG, s, 0, 0))
        return 0;
    errno = EAGAIN;
    return -1;
}

int ex_sem_post(uint64_t *s);
int ex_sem_post(uint64_t *s)
{
    IN_CALL();
    IN_OP(OP_ADD, LOG, s, 1, 0);
    return 0;
}

/* ---- C11 threads: the same under other names ---- */

int ex_thrd_create(thrd_t *t, thrd_start_t fn, void *arg);
int ex_thrd_create(thrd_t *t, thrd_start_t fn, void *arg)
{
    union {
        thrd_start_t from;
        void *(*to)(void *); /* the result is the low half of a register either way */
    } as = {fn};
    IN_CALL();
    uint64_t id = IN_OP(OP_CREATE, LOG, as.to, arg, 0);
    in_plain(t, sizeof(*t), true, in_cur->pc);
    *t = id + 1;
    return thrd_success;
}

int ex_thrd_join(thrd_t t, int *result);
int ex_thrd_join(thrd_t t, int *result)
{
    IN_CALL();
    struct in_thread *to = thread_of(t, "join");
    if (to == in_cur)
        in_bug("misuse", "a thread joins itself");
    IN_OP(OP_JOIN, LOG, 0, to->id, 0);
    if (result != NULL)
        *result = (int)(intptr_t)to->result;
    return thrd_success;
}

int ex_mtx_init(struct mutex *m, int type);
int ex_mtx_init(struct mutex *m, int type)
{
    IN_CALL();
    fresh(m, sizeof(mtx_t));
    m->kind = (type & mtx_recursive) != 0 ? PTHREAD_MUTEX_RECURSIVE_NP : 0;
    return thrd_success;
}

int ex_mtx_lock(struct mutex *m);
int ex_mtx_lock(struct mutex *m)
{
    IN_CALL();
    lock(m, OP_LOCK);
    return thrd_success;
}

int ex_mtx_trylock(struct mutex *m);
int ex_mtx_trylock(struct mutex *m)
{
    IN_CALL();
    return lock(m, OP_TRYLOCK) == 0 ? thrd_success : thrd_busy;
}

int ex_mtx_unlock(struct mutex *m);
int ex_mtx_unlock(struct mutex *m)
{
    IN_CALL();
    unlock(m);
    return thrd_success;
}

void ex_mtx_destroy(struct mutex *m);
void ex_mtx_destroy(struct mutex *m)
{
    IN_CALL();
    if (m->owner != 0)
        in_bug("misuse", "a mutex is destroyed while it is held");
}

int ex_cnd_timedwait(uint64_t *c, struct mutex *m, const struct timespec *until);
int ex_cnd_timedwait(uint64_t *c, struct mutex *m, const struct timespec *until)
{
    (void)until;
    IN_CALL();
    return cond_wait(c, m, true) == 0 ? thrd_success : thrd_timedout;
}

void ex_cnd_destroy(uint64_t *c);
void ex_cnd_destroy(uint64_t *c)
{
    (void)c;
}
