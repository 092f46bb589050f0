/* SPDX-License-Identifier: MIT
 *
 * Debug builds (-Dbuildtype=debug): a lock of the operating system that a fibre holds over a scheduling point. It would
 * stay locked by a thread that has gone on with other fibres: who locks it there stops the whole worker, and who
 * unlocks it on another thread does what POSIX leaves undefined.
 *
 * The functions that lock and unlock pthread's mutexes, read-write locks and spin locks and C11's mtx_t are defined here,
 * before the C library's, and note for each thread what it holds and where it locked that. (C11's go into the library's
 * own mutexes behind these definitions, so they are here too.) A condition variable gives its mutex back and takes it
 * again inside the C library, unseen, which is right: its thread sleeps meanwhile.
 */
#define _GNU_SOURCE
#include "../platform.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { HELD = 16, FRAMES = 24 };

struct held {
    const volatile void *lock;
    const char *kind;
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

static void *find(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    if (f == NULL)
        tn_die("tenter: no %s behind the one that checks locks", name);
    return f;
}

/* Called where a function of the library is first needed, which may be before any constructor has run. */
static void begin_once(void)
{
    static bool begun;
    void *frame;
    struct thread_locks *l = locks_now();
    if (begun)
        return;
    begun = l->inside = true;
    (void)backtrace(&frame, 1); /* its first call loads a library */
    l->inside = false;
}

__attribute__((constructor)) static void begin(void)
{
    begin_once();
}

static int note(int rc, const volatile void *lock, const char *kind)
{
    struct thread_locks *l = locks_now();
    if ((rc != 0 && rc != EOWNERDEAD) || l->inside) /* a robust mutex of one who died is held, too */
        return rc;
    if (l->n < HELD) {
        struct held *h = &l->held[l->n];
        l->inside = true;
        h->lock = lock;
        h->kind = kind;
        h->n = backtrace(h->at, FRAMES);
        l->inside = false;
        l->n++;
    }
    return rc;
}

/* Of several lockings of the same one, the last. */
static void forget(const volatile void *lock)
{
    struct thread_locks *l = locks_now();
    for (unsigned i = l->inside ? 0 : l->n; i-- > 0;)
        if (l->held[i].lock == lock) {
            for (l->n--; i < l->n; i++)
                l->held[i] = l->held[i + 1];
            return;
        }
}

/* The C library's function of that name, looked up by the first who needs it; several may. */
#define REAL(function)                                                                                   \
    static _Atomic(uintptr_t) real_;                                                                     \
    uintptr_t at_ = atomic_load_explicit(&real_, memory_order_relaxed); /* relaxed: all find the same */ \
    if (at_ == 0) {                                                                                      \
        begin_once();                                                                                    \
        at_ = (uintptr_t)find(#function);                                                                \
        atomic_store_explicit(&real_, at_, memory_order_relaxed); /* relaxed: as above */                \
    }                                                                                                    \
    __typeof__(&function) real = (__typeof__(&function))at_

#define LOCKS(function, kind, type)          \
    TN_MODULE_API int function(type *lock)   \
    {                                        \
        REAL(function);                      \
        return note(real(lock), lock, kind); \
    }
#define LOCKS_UNTIL(function, kind, type)                                                  \
    TN_MODULE_API int function(type *restrict lock, const struct timespec *restrict until) \
    {                                                                                      \
        REAL(function);                                                                    \
        return note(real(lock, until), lock, kind);                                        \
    }
#define LOCKS_BY_CLOCK(function, kind, type)                                                                \
    TN_MODULE_API int function(type *restrict lock, clockid_t clock, const struct timespec *restrict until) \
    {                                                                                                       \
        REAL(function);                                                                                     \
        return note(real(lock, clock, until), lock, kind);                                                  \
    }
#define UNLOCKS(function, type)            \
    TN_MODULE_API int function(type *lock) \
    {                                      \
        REAL(function);                    \
        forget(lock);                      \
        return real(lock);                 \
    }

LOCKS(pthread_mutex_lock, "pthread_mutex", pthread_mutex_t)
LOCKS(pthread_mutex_trylock, "pthread_mutex", pthread_mutex_t)
LOCKS_UNTIL(pthread_mutex_timedlock, "pthread_mutex", pthread_mutex_t)
LOCKS_BY_CLOCK(pthread_mutex_clocklock, "pthread_mutex", pthread_mutex_t)
UNLOCKS(pthread_mutex_unlock, pthread_mutex_t)

LOCKS(pthread_rwlock_rdlock, "pthread_rwlock, to read", pthread_rwlock_t)
LOCKS(pthread_rwlock_wrlock, "pthread_rwlock, to write", pthread_rwlock_t)
LOCKS(pthread_rwlock_tryrdlock, "pthread_rwlock, to read", pthread_rwlock_t)
LOCKS(pthread_rwlock_trywrlock, "pthread_rwlock, to write", pthread_rwlock_t)
LOCKS_UNTIL(pthread_rwlock_timedrdlock, "pthread_rwlock, to read", pthread_rwlock_t)
LOCKS_UNTIL(pthread_rwlock_timedwrlock, "pthread_rwlock, to write", pthread_rwlock_t)
LOCKS_BY_CLOCK(pthread_rwlock_clockrdlock, "pthread_rwlock, to read", pthread_rwlock_t)
LOCKS_BY_CLOCK(pthread_rwlock_clockwrlock, "pthread_rwlock, to write", pthread_rwlock_t)
UNLOCKS(pthread_rwlock_unlock, pthread_rwlock_t)

LOCKS(pthread_spin_lock, "pthread_spinlock", pthread_spinlock_t)
LOCKS(pthread_spin_trylock, "pthread_spinlock", pthread_spinlock_t)
UNLOCKS(pthread_spin_unlock, pthread_spinlock_t)

LOCKS(mtx_lock, "mtx_t", mtx_t)
LOCKS(mtx_trylock, "mtx_t", mtx_t)
LOCKS_UNTIL(mtx_timedlock, "mtx_t", mtx_t)
UNLOCKS(mtx_unlock, mtx_t)

/* With the names of static functions, which backtrace_symbols_fd() does not know. */
static void tell(void *const *at, int n)
{
    for (int i = 0; i < n; i++) {
        struct tn_symbol s = tn_symbol((uintptr_t)at[i]);
        if (s.function != NULL && *s.function != '\0')
            tn_message("    #%d %s+0x%zx (%s)", i, s.function, (size_t)s.function_offset,
                       s.file != NULL ? s.file : "?");
        else
            tn_message("    #%d %p (%s+0x%zx)", i, at[i], s.file != NULL ? s.file : "?", (size_t)s.file_offset);
    }
}

void tn_lock_check(const char *fibre)
{
    struct thread_locks *l = locks_now();
    if (l->n == 0)
        return;
    void *here[FRAMES];
    struct held *h = &l->held[l->n - 1];
    l->inside = true;
    tn_message("tenter: fibre '%s' holds a %s (%p) over a scheduling point; unlock it first. It locked it here:",
               fibre, h->kind, (void *)(uintptr_t)h->lock);
    tell(h->at + 1, h->n - 1);
    tn_message("tenter: and is at this scheduling point:");
    tell(here, backtrace(here, FRAMES));
    tn_symbols_close();
    tn_die("tenter: a lock of the operating system held over a scheduling point");
}
