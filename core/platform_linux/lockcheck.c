/* SPDX-License-Identifier: MIT
 *
 * Debug builds (-Dbuildtype=debug): a mutex of the operating system that a fibre holds over a scheduling point. It would
 * stay locked by a thread that has gone on with other fibres: who locks it there stops the whole worker, and who
 * unlocks it on another thread does what POSIX leaves undefined.
 *
 * pthread_mutex_lock and its kin are defined here, before the C library's, and note for each thread what it holds and
 * where it locked that. A condition variable gives its mutex back and takes it again inside the C library, unseen, which
 * is right: its thread sleeps meanwhile. mtx_lock of C11 is not seen.
 */
#define _GNU_SOURCE
#include "../platform.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <unistd.h>

enum { HELD = 16, FRAMES = 24 };

struct held {
    pthread_mutex_t *mutex;
    void *at[FRAMES];
    int n;
};

static _Thread_local struct thread_locks {
    struct held held[HELD];
    unsigned n;
    bool inside; /* a back-trace may lock something itself */
} locks;

/* By a call that no compiler looks into: a fibre that has switched asks for those of its present thread. */
static __attribute__((noinline)) struct thread_locks *locks_now(void)
{
    __asm__ volatile("" : : : "memory"); /* nor takes for constant */
    return &locks;
}

static int (*real_lock)(pthread_mutex_t *), (*real_trylock)(pthread_mutex_t *), (*real_unlock)(pthread_mutex_t *);
static int (*real_timedlock)(pthread_mutex_t *, const struct timespec *);

static void *find(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    if (f == NULL)
        tn_die("tenter: no %s behind the one that checks locks", name);
    return f;
}

__attribute__((constructor)) static void find_all(void)
{
    void *frame;
    if (real_lock != NULL)
        return;
    *(void **)(void *)&real_trylock = find("pthread_mutex_trylock");
    *(void **)(void *)&real_unlock = find("pthread_mutex_unlock");
    *(void **)(void *)&real_timedlock = find("pthread_mutex_timedlock");
    *(void **)(void *)&real_lock = find("pthread_mutex_lock");
    locks_now()->inside = true;
    (void)backtrace(&frame, 1); /* its first call loads a library */
    locks_now()->inside = false;
}

static int note(int rc, pthread_mutex_t *m)
{
    struct thread_locks *l = locks_now();
    if (rc != 0 || l->inside)
        return rc;
    if (l->n < HELD) {
        struct held *h = &l->held[l->n];
        l->inside = true;
        h->mutex = m;
        h->n = backtrace(h->at, FRAMES);
        l->inside = false;
        l->n++;
    }
    return rc;
}

TN_MODULE_API int pthread_mutex_lock(pthread_mutex_t *m)
{
    find_all();
    return note(real_lock(m), m);
}

TN_MODULE_API int pthread_mutex_trylock(pthread_mutex_t *m)
{
    find_all();
    return note(real_trylock(m), m);
}

TN_MODULE_API int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
    find_all();
    return note(real_timedlock(m, until), m);
}

TN_MODULE_API int pthread_mutex_unlock(pthread_mutex_t *m)
{
    struct thread_locks *l = locks_now();
    find_all();
    for (unsigned i = l->inside ? 0 : l->n; i-- > 0;)
        if (l->held[i].mutex == m) {
            for (l->n--; i < l->n; i++)
                l->held[i] = l->held[i + 1];
            break;
        }
    return real_unlock(m);
}

void tn_lock_check(const char *fibre)
{
    struct thread_locks *l = locks_now();
    if (l->n == 0)
        return;
    void *here[FRAMES];
    struct held *h = &l->held[l->n - 1];
    l->inside = true;
    tn_message(
        "tenter: fibre '%s' holds a pthread_mutex (%p) over a scheduling point; unlock it first. It locked it here:",
        fibre, (void *)h->mutex);
    backtrace_symbols_fd(h->at + 1, h->n - 1, STDERR_FILENO);
    tn_message("tenter: and is at this scheduling point:");
    backtrace_symbols_fd(here, backtrace(here, FRAMES), STDERR_FILENO);
    tn_die("tenter: a mutex of the operating system held over a scheduling point");
}
