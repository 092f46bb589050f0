/* SPDX-License-Identifier: MIT
 *
 * What fibres and plain threads wait for each other with. Each function may be called by both: a fibre that waits leaves
 * its worker to others, a thread that waits is blocked itself. Names and contracts follow pthreads: 0 or an errno value.
 * In each, a `deadline` is a time of tn_now()'s clock, TN_FOREVER for none, and a `token` may be NULL; a call that fails
 * with ETIMEDOUT or ECANCELED has done nothing. All are objects of the caller's memory without anything behind them:
 * TN_…_INIT and tn_…_init are the same, and destroying only looks whether somebody still waits. So who waits must not be dropped
 * by tn_stop (which says what follows).
 */
#ifndef TENTER_SYNC_H
#define TENTER_SYNC_H

#include "tenter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------ mutex -- */

/* 16 bytes. */
typedef struct tn_mutex {
    uint64_t word;
    void *ring;
} tn_mutex;

/* What happens to who finds it held, and who is next (000 §3.3, the barging spectrum of fig. 3.4). With barging whoever
 * comes by when the mutex is given back may have it, also before those that have waited. */
enum {
    TN_MUTEX_DEFAULT,    /* the build's: -Dmutex=… */
    TN_MUTEX_SPIN,       /* looks again and again, and yields now and then: all barge */
    TN_MUTEX_SPIN_BLOCK, /* looks some time, then waits as under TN_MUTEX_BLOCK */
    TN_MUTEX_BLOCK,      /* waits at once; giving it back wakes the first, who has to get it then as anybody else */
    TN_MUTEX_FAIR,       /* the same; but who has waited for a millisecond is handed it */
    TN_MUTEX_BATON       /* giving it back hands it to the first that waits: nobody barges */
};

enum {
    TN_MUTEX_NORMAL,    /* taking it twice waits for ever; giving back what one does not hold must not be */
    TN_MUTEX_RECURSIVE, /* its holder may take it again, up to 2^14 times */
    TN_MUTEX_CHECKED    /* both of these are errors */
}; /* a fibre that ends and leaves one of the latter two locked is reported, as is one that leaves a reader-writer lock so; in
    * builds that check (-Dbuildtype=debug), also one that leaves any other mutex */

struct tn_mutex_attr {
    int design, kind;
};

/* Of the default design, normal. */
#define TN_MUTEX_INIT \
    {                 \
        0, NULL       \
    }

/* `attr` may be NULL. Who: any, before use. Blocks: no. Errors: EINVAL there is no such design or kind. */
TN_API int tn_mutex_init(tn_mutex *m, const struct tn_mutex_attr *attr);
/* Who: any. Blocks: no. Errors: EBUSY somebody has it, or waits for it. */
TN_API int tn_mutex_destroy(tn_mutex *m);

/* Who: any. Blocks; the fibre may go on on another worker. Errors: EDEADLK (checked) the caller has it already; EAGAIN
 * (recursive) too often. */
TN_API int tn_mutex_lock(tn_mutex *m);
/* Who: any; a plain thread that waits sees its token fire within a millisecond. Blocks; the fibre may go on on another
 * worker. Errors: as tn_mutex_lock, and ETIMEDOUT, ECANCELED, ENOMEM as tn_wait. What is free is taken, whatever the
 * deadline and the token. */
TN_API int tn_mutex_lock_until(tn_mutex *m, tn_time deadline, tn_token *token);
/* Who: any. Blocks: no. Errors: EBUSY somebody has it, with a checked one also the caller; EAGAIN as tn_mutex_lock. */
TN_API int tn_mutex_trylock(tn_mutex *m);
/* The calling fibre or thread must hold it. When others may have it, no more is done to its memory: who gets it may
 * destroy it. Who: any. Blocks: no. Errors: EPERM (recursive, checked) the caller does not have it. */
TN_API int tn_mutex_unlock(tn_mutex *m);

/* ---------------------------------------------------------------------------------------- local mutex -- */

/* For fibres of one cluster that has one worker, which do not run beside each other: no atomic operation where it is free.
 * Never chosen by itself, and of a type of its own, so that it is not taken for the other. It is handed over in the order in
 * which they came; its holder may yield and block. 24 bytes. No worker may join the cluster while it is used (a monitor adds
 * some, too): builds that check (-Dbuildtype=debug) look at that each time. */
typedef struct tn_local_mutex {
    tn_cluster *cluster;
    void *holder, *ring;
} tn_local_mutex;

/* Who: any, before use. Blocks: no. Errors: EINVAL the cluster has not one worker, or is NULL. */
TN_API int tn_local_mutex_init(tn_local_mutex *m, tn_cluster *cluster);
/* Who: a fibre of the cluster. Blocks: no. Errors: EBUSY somebody has it. */
TN_API int tn_local_mutex_destroy(tn_local_mutex *m);
/* Who: a fibre of the cluster. Blocks, on its worker. Errors: EPERM a plain thread, a fibre of another cluster, or (checked)
 * of one that has several workers now; EDEADLK the caller has it; ETIMEDOUT, ECANCELED, ENOMEM as tn_wait. */
TN_API int tn_local_mutex_lock(tn_local_mutex *m);
TN_API int tn_local_mutex_lock_until(tn_local_mutex *m, tn_time deadline, tn_token *token);
/* Who: a fibre of the cluster. Blocks: no. Errors: EPERM as tn_local_mutex_lock; EBUSY somebody has it. */
TN_API int tn_local_mutex_trylock(tn_local_mutex *m);
/* Who: its holder. Blocks: no. Errors: EPERM as tn_local_mutex_lock, or the caller does not have it. */
TN_API int tn_local_mutex_unlock(tn_local_mutex *m);

/* ---------------------------------------------------------------------------------------- what follows -- */

/* What each of the following begins with (000 §3.3): a lock that is held for a few instructions, a number, and who waits. 16
 * bytes. In all of them what somebody waits for is handed to it: nobody barges in between. Who waits holds nothing but its
 * stack, and nothing enters the kernel while nobody sleeps. Whoever has returned from a wait that was granted may destroy
 * the object (but not a tn_once), if nobody else is to use it: who granted it does no more to it. ETIMEDOUT, ECANCELED and
 * ENOMEM come as in tn_wait, and only from calls that would have waited; a plain thread that waits sees its token fire
 * within a millisecond. */
struct tn_waits {
    uint32_t lock, state;
    void *ring;
};

/* -------------------------------------------------------------------------------------------- semaphore -- */

/* A number of units, which any may bring and take. Binary: with the limit 1. 24 bytes. */
typedef struct tn_sem {
    struct tn_waits waits;
    uint32_t limit;
} tn_sem;

#define TN_SEM_MAX INT32_MAX
/* `limit` 0: TN_SEM_MAX. */
#define TN_SEM_INIT(value, limit)   \
    {                               \
        {0, (value), NULL}, (limit) \
    }

/* Who: any, before use. Blocks: no. Errors: EINVAL value above limit, limit above TN_SEM_MAX. */
TN_API int tn_sem_init(tn_sem *s, uint32_t value, uint32_t limit);
/* Who: any. Blocks: no. Errors: EBUSY somebody waits. */
TN_API int tn_sem_destroy(tn_sem *s);
/* Take one unit. Who: any. Blocks; the fibre may go on on another worker. */
TN_API int tn_sem_wait(tn_sem *s);
/* Take `n` units together. Those that wait are served in the order in which they came, but out of order where there is
 * not enough: who waits for three does not hold up who waits for one, nor one who comes later and wants no more than
 * there is. So who wants one waits for those alone that have come before; who wants several may wait for ever where others
 * want fewer. Who: any. Blocks; the fibre may go on on another worker. Errors: EINVAL n above the limit; ETIMEDOUT,
 * ECANCELED, ENOMEM. */
TN_API int tn_sem_wait_until(tn_sem *s, uint32_t n, tn_time deadline, tn_token *token);
/* Take one unit, or n together, if there are so many. Who: any. Blocks: no. Errors: EAGAIN there are fewer; EINVAL n above
 * the limit. */
TN_API int tn_sem_trywait(tn_sem *s);
TN_API int tn_sem_trywait_n(tn_sem *s, uint32_t n);
/* Bring one unit, or n together. Who: any. Blocks: no. Errors: EOVERFLOW there would be more than the limit, before those
 * that wait take theirs: nothing is brought. */
TN_API int tn_sem_post(tn_sem *s);
TN_API int tn_sem_post_n(tn_sem *s, uint32_t n);
/* How many units there are at this moment. Who: any. Blocks: no. */
TN_API uint32_t tn_sem_value(tn_sem *s);

/* ----------------------------------------------------------------------------------- condition variable -- */

/* 16 bytes. */
typedef struct tn_cond {
    struct tn_waits waits;
} tn_cond;

#define TN_COND_INIT   \
    {                  \
        {              \
            0, 0, NULL \
        }              \
    }

/* Who: any, before use. Blocks: no. */
TN_API void tn_cond_init(tn_cond *c);
/* Who: any. Blocks: no. Errors: EBUSY somebody waits. */
TN_API int tn_cond_destroy(tn_cond *c);
/* Give `m` back and wait for a signal, in one step; then get it again, in whatever order that comes about. The caller must
 * hold it, a recursive one once. A signal wakes whoever has waited longest; there are no others, but the condition
 * may be gone when the mutex is had. A time-out or a token ends the wait for the signal; getting the mutex again has no end
 * but that, and then too the caller holds it. Signals and waits that are told 0 are the same number: no signal goes to one
 * that gave up. Who: any. Blocks; the fibre may go on on another worker. Errors: EPERM (recursive, checked) the caller
 * does not hold it; ETIMEDOUT, ECANCELED, ENOMEM. */
TN_API int tn_cond_wait(tn_cond *c, tn_mutex *m);
TN_API int tn_cond_wait_until(tn_cond *c, tn_mutex *m, tn_time deadline, tn_token *token);
/* Wake the first that waits, or all. The caller need not hold the mutex. Who: any. Blocks: no. */
TN_API void tn_cond_signal(tn_cond *c);
TN_API void tn_cond_broadcast(tn_cond *c);

/* ----------------------------------------------------------------------------------- reader-writer lock -- */

/* Held by any number of readers, or by one writer. 32 bytes. */
typedef struct tn_rwlock {
    struct tn_waits waits;
    uint32_t kind, writers;
    uint64_t writer;
} tn_rwlock;

/* Who is next. A reader that takes it again while it reads may wait for itself, unless readers are preferred. */
enum {
    TN_RWLOCK_FAIR,    /* in the order in which they came, readers that follow each other side by side */
    TN_RWLOCK_READERS, /* a reader waits for writers only while one writes; writers may wait for ever */
    TN_RWLOCK_WRITERS  /* a reader waits while a writer writes or waits; readers may wait for ever */
};

#define TN_RWLOCK_INIT(kind)                 \
    {                                        \
        {0, 0, NULL}, (uint32_t)(kind), 0, 0 \
    }

/* Who: any, before use. Blocks: no. Errors: EINVAL there is no such kind. */
TN_API int tn_rwlock_init(tn_rwlock *rw, int kind);
/* Who: any. Blocks: no. Errors: EBUSY somebody has it. */
TN_API int tn_rwlock_destroy(tn_rwlock *rw);
/* To read. Who: any. Blocks; the fibre may go on on another worker. Errors: EDEADLK the caller writes; ETIMEDOUT,
 * ECANCELED, ENOMEM. */
TN_API int tn_rwlock_rdlock(tn_rwlock *rw);
TN_API int tn_rwlock_rdlock_until(tn_rwlock *rw, tn_time deadline, tn_token *token);
/* To write. The same. */
TN_API int tn_rwlock_wrlock(tn_rwlock *rw);
TN_API int tn_rwlock_wrlock_until(tn_rwlock *rw, tn_time deadline, tn_token *token);
/* Who: any. Blocks: no. Errors: EBUSY it would have to wait. */
TN_API int tn_rwlock_tryrdlock(tn_rwlock *rw);
TN_API int tn_rwlock_trywrlock(tn_rwlock *rw);
/* Give back what the caller has of it. Who: any. Blocks: no. Errors: EPERM nobody has it, or another one writes. */
TN_API int tn_rwlock_unlock(tn_rwlock *rw);

/* ---------------------------------------------------------------------------------- barrier, latch, once -- */

/* So many wait for each other, again and again, as at a pthread_barrier_t. 24 bytes. */
typedef struct tn_barrier {
    struct tn_waits waits;
    uint32_t count;
} tn_barrier;

#define TN_BARRIER_SERIAL (-1)

/* Who: any, before use. Blocks: no. Errors: EINVAL count is 0. */
TN_API int tn_barrier_init(tn_barrier *b, uint32_t count);
/* Who: any, also the one that was told TN_BARRIER_SERIAL as soon as it is; where some wait with a deadline or a token,
 * only when all have returned. Blocks: no. Errors: EBUSY somebody waits. */
TN_API int tn_barrier_destroy(tn_barrier *b);
/* Wait until `count` are here. TN_BARRIER_SERIAL for one of them, the last; 0 for the others. Who gives up has not been
 * here; where the last comes at that very moment, nobody gives up. Who: any. Blocks; the fibre may go on on another
 * worker. Errors: ETIMEDOUT, ECANCELED, ENOMEM. */
TN_API int tn_barrier_wait(tn_barrier *b);
TN_API int tn_barrier_wait_until(tn_barrier *b, tn_time deadline, tn_token *token);

/* A number that others wait for to become zero: a latch, and a wait group where it is counted up too. 16 bytes. */
typedef struct tn_latch {
    struct tn_waits waits;
} tn_latch;

#define TN_LATCH_INIT(count) \
    {                        \
        {                    \
            0, (count), NULL \
        }                    \
    }

/* Who: any, before use. Blocks: no. */
TN_API void tn_latch_init(tn_latch *latch, uint32_t count);
/* Who: any. Blocks: no. Errors: EBUSY somebody waits. */
TN_API int tn_latch_destroy(tn_latch *latch);
/* Who: any. Blocks: no. Errors: EOVERFLOW it would not go into 32 bits: nothing is done. */
TN_API int tn_latch_up(tn_latch *latch, uint32_t n);
/* Who waits when it becomes zero goes on, even if it is counted up again at once. Who: any. Blocks: no.
 * Errors: EINVAL it would be less than zero: nothing is done. */
TN_API int tn_latch_down(tn_latch *latch, uint32_t n);
/* Who: any. Blocks; the fibre may go on on another worker. Errors: ETIMEDOUT, ECANCELED, ENOMEM. */
TN_API int tn_latch_wait(tn_latch *latch);
TN_API int tn_latch_wait_until(tn_latch *latch, tn_time deadline, tn_token *token);
/* Who: any. Blocks: no. Errors: EBUSY it is not zero. */
TN_API int tn_latch_trywait(tn_latch *latch);

/* What is done once, by whoever comes first, as pthread_once and call_once. 32 bytes. It may go when all calls have
 * returned, not before: who returns cannot tell whether it waited or found it done, and who finds it done looks at
 * one word, which is set before those that wait are let go. To free it earlier each call would have to look at the
 * lock too: all would pay for what few need. */
typedef struct tn_once {
    struct tn_waits waits;
    uint32_t done;
    uint64_t runner;
} tn_once;

#define TN_ONCE_INIT       \
    {                      \
        {0, 0, NULL}, 0, 0 \
    }

/* Call fn unless that was done; who comes meanwhile waits until it has returned, and sees all it did. fn may block, and
 * must return. A deadline and a token are for who waits, not for fn, which runs masked (tn_cancel_mask), since it is done for
 * all: no group cuts it short, and one that it opens lies within none. Who: any. Blocks; the fibre may go on on another
 * worker. Errors: EDEADLK fn calls it again; ETIMEDOUT, ECANCELED, ENOMEM: it is not done yet. */
TN_API int tn_once_do(tn_once *once, void (*fn)(void));
TN_API int tn_once_until(tn_once *once, void (*fn)(void), tn_time deadline, tn_token *token);

/* ---------------------------------------------------------------------------------------------- promise -- */

/* A value that comes once, and any number that wait for it (003 §4.4.5): promise and future in one. 24 bytes. Which of several
 * comes first: tn_select (tenter_channel.h) with an arm TN_KEPT for each. */
typedef struct tn_promise {
    struct tn_waits waits;
    void *value;
} tn_promise;

#define TN_PROMISE_INIT    \
    {                      \
        {0, 0, NULL}, NULL \
    }

/* Who: any, before use. Blocks: no. */
TN_API void tn_promise_init(tn_promise *p);
/* Who: any. Blocks: no. Errors: EBUSY somebody waits for it. */
TN_API int tn_promise_destroy(tn_promise *p);

/* Keep it: from now on its value is `value`, and who waits goes on. When somebody can have the value, no more is done to
 * the promise: who gets it may destroy it. Who: any. Blocks: no. Errors: EALREADY somebody has. */
TN_API int tn_promise_set(tn_promise *p, void *value);
/* Its value (NULL in place of `value`: only wait for it); what was done before the call that set it is done for who gets it.
 * Who: any. Blocks; the fibre may go on on another worker. Errors: ETIMEDOUT, ECANCELED, ENOMEM. */
TN_API int tn_promise_get_until(tn_promise *p, void **value, tn_time deadline, tn_token *token);
/* The same without an end but the value, which is returned. */
TN_API void *tn_promise_get(tn_promise *p);
/* The same without waiting; `value` may be NULL. Who: any. Blocks: no. Errors: EBUSY nobody has set it yet. */
TN_API int tn_promise_tryget(tn_promise *p, void **value);
/* Wait until all `n` are set. Who: any. Blocks; the fibre may go on on another worker. Errors: ETIMEDOUT, ECANCELED, ENOMEM:
 * some are set, or none. */
TN_API int tn_promise_all(tn_promise *const p[], unsigned n, tn_time deadline, tn_token *token);

#ifdef __cplusplus
}
#endif
#endif
