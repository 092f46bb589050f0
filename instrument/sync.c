/* SPDX-License-Identifier: MIT */
/*
 * Condition variables, barriers, semaphores: see sync.h.  Which of several waiters a signal wakes is a choice, whether a
 * wait with a deadline times out is one, and so are spurious wake-ups where they are asked for.
 */
#define _GNU_SOURCE
#include "sync.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <threads.h>

static uint64_t woken[IN_THREADS]; /* how often a condition or a barrier woke it */
static bool used;                  /* any of them, in this execution */

/* A thread that has woken for no reason, and waits again before its mutex has changed hands, has done nothing that it
 * could not do by waking later: it is not to wake for no reason again, or it might do so for ever. */
static struct {
    const uint64_t *from;
    uint32_t hands; /* of its mutex, then */
} for_nothing[IN_THREADS];

/* How often it is to be woken: a word of the library itself, put back with the rest. */
static uint64_t *signals_of(unsigned t)
{
    return (uint64_t *)(in_thread[t].low - 64);
}

void in_sync_reset(void)
{
    if (!used)
        return;
    used = false;
    for (unsigned t = 0; t < IN_THREADS; t++)
        *signals_of(t) = 0;
    memset(woken, 0, sizeof(woken));
    memset(for_nothing, 0, sizeof(for_nothing));
}

/* ---- condition variables: a queue of threads; each waits for its own count of signals ---- */

/* A timed one is stuck nowhere: its time runs out at last. */
static void await_signal(bool timed)
{
    unsigned id = in_cur->id;
    IN_OP(OP_AWAIT_OVER, IN_WORD, signals_of(id), woken[id], timed);
    woken[id]++;
}

static void wake(uint64_t all)
{
    for (; all != 0; all >>= 4)
        IN_OP(OP_ADD, IN_WORD, signals_of((unsigned)(all & 15) - 1), 1, 0);
}

static int cond_wait(uint64_t *c, struct in_mutex *m, bool timed)
{
    if (m->owner != IN_ME)
        in_bug("misuse", "a wait on a condition variable without its mutex");
    unsigned id = in_cur->id;
    bool spurious = in_spurious_wake && (for_nothing[id].from != c || for_nothing[id].hands != m->hands),
         early = false;
    used = true;
    IN_OP(OP_ENQUEUE, IN_WORD, c, IN_ME, 0);
    in_unlock(m);
    if ((timed || spurious) && IN_OP(OP_CHOOSE, 0, 0, 2, 0) == 1)
        early = IN_OP(OP_REMOVE, IN_WORD, c, IN_ME, 0);
    if (!early)
        await_signal(timed);
    in_lock(m, OP_LOCK);
    for_nothing[id].from = early ? c : NULL;
    for_nothing[id].hands = m->hands;
    return early && timed ? ETIMEDOUT : 0;
}

static bool cond_signal(uint64_t *c)
{
    uint64_t who = IN_OP(OP_DEQUEUE, IN_WORD, c, 0, 0);
    if (who != 0)
        IN_OP(OP_ADD, IN_WORD, signals_of((unsigned)who - 1), 1, 0);
    return who != 0;
}

int ex_pthread_cond_init(uint64_t *c, const void *attr);
int ex_pthread_cond_init(uint64_t *c, const void *attr)
{
    (void)attr;
    IN_CALL();
    in_fresh(c, sizeof(pthread_cond_t));
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

int ex_pthread_cond_wait(uint64_t *c, struct in_mutex *m);
int ex_pthread_cond_wait(uint64_t *c, struct in_mutex *m)
{
    IN_CALL();
    return cond_wait(c, m, false);
}

int ex_pthread_cond_timedwait(uint64_t *c, struct in_mutex *m, const struct timespec *until);
int ex_pthread_cond_timedwait(uint64_t *c, struct in_mutex *m, const struct timespec *until)
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
    wake(IN_OP(OP_XCHG, IN_WORD, c, 0, 0));
    return 0;
}

/* ---- barriers: a queue of those who have arrived, how many they are to be ---- */

struct barrier {
    uint64_t queue, n;
};

int ex_pthread_barrier_init(struct barrier *b, const void *attr, unsigned n);
int ex_pthread_barrier_init(struct barrier *b, const void *attr, unsigned n)
{
    (void)attr;
    IN_CALL();
    if (n == 0)
        return EINVAL;
    in_fresh(b, sizeof(*b));
    b->n = n;
    return 0;
}

int ex_pthread_barrier_destroy(struct barrier *b);
int ex_pthread_barrier_destroy(struct barrier *b)
{
    IN_CALL();
    if (b->queue != 0)
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
    used = true;
    uint64_t n = b->n, before = IN_OP(OP_ARRIVE, IN_WORD, &b->queue, IN_ME, n), arrived = 1;
    for (uint64_t rest = before; rest != 0; rest >>= 4)
        arrived++;
    if (arrived == n) { /* the barrier is no more looked at, by anybody: it may be destroyed */
        wake(before);
        return PTHREAD_BARRIER_SERIAL_THREAD;
    }
    await_signal(false);
    return 0;
}

/* ---- semaphores ---- */

int ex_sem_init(uint64_t *s, int shared, unsigned value);
int ex_sem_init(uint64_t *s, int shared, unsigned value)
{
    (void)shared;
    IN_CALL();
    in_fresh(s, sizeof(sem_t));
    *s = value;
    return 0;
}

int ex_sem_destroy(uint64_t *s);
int ex_sem_destroy(uint64_t *s)
{
    IN_CALL();
    in_plain(s, sizeof(sem_t), true, in_cur->pc);
    return 0;
}

int ex_sem_getvalue(uint64_t *s, int *value);
int ex_sem_getvalue(uint64_t *s, int *value)
{
    IN_CALL_READS();
    int now = (int)IN_OP(OP_LOAD, IN_WORD, s, 0, 0);
    in_plain(value, sizeof(*value), true, in_cur->pc);
    *value = now;
    return 0;
}

int ex_sem_wait(uint64_t *s);
int ex_sem_wait(uint64_t *s)
{
    IN_CALL();
    IN_OP(OP_TAKE, IN_WORD, s, 0, 0);
    return 0;
}

/* Waiting until it can take one comes to the same as asking later. */
static int take(uint64_t *s, int otherwise)
{
    if (IN_OP(OP_TRYTAKE, IN_WORD, s, 0, 0))
        return 0;
    in_cur->error = otherwise;
    return -1;
}

int ex_sem_trywait(uint64_t *s);
int ex_sem_trywait(uint64_t *s)
{
    IN_CALL_READS();
    return take(s, EAGAIN);
}

int ex_sem_timedwait(uint64_t *s, const struct timespec *until);
int ex_sem_timedwait(uint64_t *s, const struct timespec *until)
{
    (void)until;
    IN_CALL();
    return take(s, ETIMEDOUT);
}

int ex_sem_clockwait(uint64_t *s, clockid_t clock, const struct timespec *until);
int ex_sem_clockwait(uint64_t *s, clockid_t clock, const struct timespec *until)
{
    (void)clock;
    (void)until;
    IN_CALL();
    return take(s, ETIMEDOUT);
}

int ex_sem_post(uint64_t *s);
int ex_sem_post(uint64_t *s)
{
    IN_CALL();
    IN_OP(OP_ADD, IN_WORD, s, 1, 0);
    return 0;
}

/* ---- C11: the same under other names ---- */

int ex_cnd_timedwait(uint64_t *c, struct in_mutex *m, const struct timespec *until);
int ex_cnd_timedwait(uint64_t *c, struct in_mutex *m, const struct timespec *until)
{
    (void)until;
    IN_CALL();
    return cond_wait(c, m, true) == 0 ? thrd_success : thrd_timedout;
}
