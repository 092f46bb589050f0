/* SPDX-License-Identifier: MIT
 *
 * The Linux platform: threads, the thread-local, processors, parking, event sources.
 */
#define _GNU_SOURCE
#include "../platform.h"

#include "../sanitize.h"
#include "../split.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Thread_local void *tn_self_slot __attribute__((tls_model("initial-exec")));

void tn_self_set(void *self)
{
    tn_self_slot = self;
}

__attribute__((noinline)) void *tn_self_now(void)
{
    return tn_self_slot;
}

__attribute__((noinline)) int *tn_errno_address(void)
{
    /* Else a compiler that sees through this, too, keeps what it returns over a switch. */
    __asm__ volatile("" : : : "memory");
    return &errno;
}

/* Of the C++ ABI; there if the program is linked with a C++ runtime. */
extern void *__cxa_get_globals(void) __attribute__((weak));

struct tn_exceptions *tn_exceptions_address(void)
{
    return __cxa_get_globals != NULL ? __cxa_get_globals() : NULL;
}

static pthread_key_t guard;
static pthread_once_t guard_once = PTHREAD_ONCE_INIT;
static bool guarded;

static TN_SPLIT_NONE void guard_runs(void *lost)
{
    TN_SPLIT_END();
    ((void (*)(void))(uintptr_t)lost)();
}

static void guard_make(void)
{
    guarded = pthread_key_create(&guard, guard_runs) == 0;
}

void tn_thread_guard(void (*lost)(void))
{
    pthread_once(&guard_once, guard_make);
    if (guarded) /* else the process has no key left, and goes without */
        pthread_setspecific(guard, (void *)(uintptr_t)lost);
}

int tn_thread_create(struct tn_thread *t, void *(*fn)(void *), void *arg)
{
    pthread_t id;
    int rc = pthread_create(&id, NULL, fn, arg);
    t->handle = rc == 0 ? (uintptr_t)id : 0;
    return rc;
}

void tn_thread_join(struct tn_thread *t)
{
    pthread_join((pthread_t)t->handle, NULL);
}

/* The calling thread's stack, which LeakSanitizer does not see while a fibre is on the thread; NULL where nobody asks. */
static void *own_stack(size_t *bytes)
{
    pthread_attr_t attr;
    void *low = NULL;
    *bytes = 0;
    if (TN_LEAKS && pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &low, bytes);
        pthread_attr_destroy(&attr);
    }
    return low;
}

void tn_thread_here(struct tn_thread *t, void *(*fn)(void *), void *arg)
{
    int before, mine;
    sigset_t mask;
    size_t bytes;
    void *stack = own_stack(&bytes);
    tn_sanitize_root(stack, bytes, true);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); /* whose stack would it unwind? */
    t->handle = (uintptr_t)pthread_self();
    pthread_once(&guard_once, guard_make);
    void *lost = guarded ? pthread_getspecific(guard) : NULL; /* it may be in a call for another runtime's fibre */
    fn(arg);
    tn_thread_guard((void (*)(void))(uintptr_t)lost);
    pthread_setcancelstate(before, &mine);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    tn_sanitize_root(stack, bytes, false);
}

unsigned tn_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n > 0 ? (unsigned)n : 1;
}

int tn_pin(unsigned n)
{
    /* The mask of the process's first thread: a thread that was pinned before has only its own processor. */
    cpu_set_t allowed;
    if (sched_getaffinity(getpid(), sizeof allowed, &allowed) != 0)
        return errno;
    unsigned skip = n % (unsigned)CPU_COUNT(&allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, &allowed) || skip-- != 0)
            continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET((size_t)cpu, &one);
        return pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    }
    return EINVAL;
}

/* The kernel takes CLOCK_MONOTONIC deadlines as absolute with FUTEX_WAIT_BITSET. */
static struct timespec *absolute(tn_time deadline, struct timespec *ts)
{
    if (deadline == UINT64_MAX)
        return NULL;
    ts->tv_sec = (time_t)(deadline / 1000000000u);
    ts->tv_nsec = (long)(deadline % 1000000000u);
    return ts;
}

int tn_park(_Atomic(uint32_t) *word, uint32_t expected, tn_time deadline)
{
    struct timespec ts;
    long rc = syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                      absolute(deadline, &ts), NULL, FUTEX_BITSET_MATCH_ANY);
    return rc != 0 && errno == ETIMEDOUT ? ETIMEDOUT : 0;
}

void tn_unpark(_Atomic(uint32_t) *word, unsigned n)
{
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n, NULL, NULL, 0);
}
