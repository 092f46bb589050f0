/* SPDX-License-Identifier: MIT
 *
 * Part of tenter_pthread.h: what <threads.h> has, by what pthreads have there.
 */
#ifndef TENTER_C11_H
#define TENTER_C11_H

static inline int tn_c11(int rc)
{
    return rc == 0                        ? thrd_success
           : rc == EBUSY                  ? thrd_busy
           : rc == ETIMEDOUT              ? thrd_timedout
           : rc == ENOMEM || rc == EAGAIN ? thrd_nomem
                                          : thrd_error;
}

struct tn_c11_start {
    int (*fn)(void *);
    void *arg;
};

static inline void *tn_c11_begin(void *start)
{
    struct tn_c11_start s = *(struct tn_c11_start *)start;
    free(start);
    return (void *)(intptr_t)s.fn(s.arg);
}

static inline int tn_c11_create(tn_fibre **out, int (*fn)(void *), void *arg)
{
    struct tn_c11_start *start = (struct tn_c11_start *)malloc(sizeof(*start));
    if (start == NULL)
        return thrd_nomem;
    *start = (struct tn_c11_start){fn, arg};
    int rc = tn_pthread_create(out, NULL, tn_c11_begin, start);
    if (rc != 0)
        free(start);
    return tn_c11(rc);
}

static inline int tn_c11_join(tn_fibre *f, int *value)
{
    void *v = NULL;
    int rc = tn_pthread_join(f, &v);
    if (rc == 0 && value != NULL)
        *value = (int)(intptr_t)v;
    return tn_c11(rc);
}

static inline int tn_c11_detach(tn_fibre *f)
{
    return tn_c11(tn_pthread_detach(f));
}

static inline __attribute__((noreturn)) void tn_c11_exit(int value)
{
    tn_exit((void *)(intptr_t)value);
}

static inline int tn_c11_mtx_init(tn_mutex *m, int type)
{
    return tn_c11(
        tn_mutex_init(m, &(struct tn_mutex_attr){TN_MUTEX_DEFAULT, (type & mtx_recursive) != 0 ? TN_MUTEX_RECURSIVE
                                                                                               : TN_MUTEX_NORMAL}));
}

static inline void tn_c11_mtx_destroy(tn_mutex *m)
{
    tn_mutex_destroy(m);
}

static inline int tn_c11_mtx_lock(tn_mutex *m)
{
    return tn_c11(tn_mutex_lock(m));
}

static inline int tn_c11_mtx_trylock(tn_mutex *m)
{
    return tn_c11(tn_mutex_trylock(m));
}

static inline int tn_c11_mtx_timedlock(tn_mutex *m, const struct timespec *at)
{
    return tn_c11(tn_pthread_mutex_timedlock(m, at));
}

static inline int tn_c11_mtx_unlock(tn_mutex *m)
{
    return tn_c11(tn_mutex_unlock(m));
}

static inline int tn_c11_cnd_init(tn_pthread_cond *c)
{
    return tn_c11(tn_pthread_cond_init(c, NULL));
}

static inline void tn_c11_cnd_destroy(tn_pthread_cond *c)
{
    tn_cond_destroy(&c->cond);
}

static inline int tn_c11_cnd_wait(tn_pthread_cond *c, tn_mutex *m)
{
    return tn_c11(tn_cond_wait(&c->cond, m));
}

static inline int tn_c11_cnd_timedwait(tn_pthread_cond *c, tn_mutex *m, const struct timespec *at)
{
    return tn_c11(tn_pthread_cond_timedwait(c, m, at));
}

static inline void tn_c11_call_once(tn_once *once, void (*fn)(void))
{
    tn_once_do(once, fn);
}

static inline int tn_c11_tss_create(tn_pthread_key *key, void (*destructor)(void *))
{
    return tn_c11(tn_pthread_key_create(key, destructor));
}

static inline void tn_c11_tss_delete(tn_pthread_key key)
{
    tn_pthread_key_delete(key);
}

static inline int tn_c11_tss_set(tn_pthread_key key, void *value)
{
    return tn_c11(tn_pthread_setspecific(key, value));
}

#endif
