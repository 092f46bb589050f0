/* SPDX-License-Identifier: MIT
 *
 * Where fibres are not preempted: in a library, in malloc, in the runtime. As in test_preempt.c fibres check nothing.
 */
#include "harness.h"
#include "preempt_library.h"
#include "preempting.h"
#include "tenter_sync.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long wrong;

/* ---- not now ---- */

/* In the place of the system's: how often the next tick was to come before its period. */
static atomic_uint ticks_soon;

int timer_settime(timer_t timer, int flags, const struct itimerspec *new, struct itimerspec *old)
{
    atomic_fetch_add(&ticks_soon, new->it_value.tv_sec == 0 && new->it_value.tv_nsec < new->it_interval.tv_nsec);
    return (int)syscall(SYS_timer_settime, (int)(intptr_t)timer, flags, new, old);
}

static volatile unsigned progress, guarded;
static volatile bool done;

/* In the library, and called back by it, until another thread has counted on; then in the program. */
static void spin_back(void *arg)
{
    (void)arg;
    while (progress < 2)
        ;
}

static void *goes_in(void *arg)
{
    library_spin(&progress, 1);
    library_call(spin_back, NULL);
    while (!done)
        ;
    return arg;
}

static void *finds_nobody_in(void *arg)
{
    *(volatile int *)arg = library_inside();
    done = true;
    return NULL;
}

static void test_library(void)
{
    tn_runtime *rt = start(1);
    volatile int inside = -1;
    progress = 0;
    done = false;
    tn_fibre *f = spawn(rt, goes_in, NULL);
    CHECK(EVENTUALLY(library_inside() == 1));
    tn_fibre *other = spawn(rt, finds_nobody_in, (void *)(uintptr_t)&inside);
    for (unsigned i = 1; i <= 2; i++) {
        unsigned tried = atomic_load(&ticks_soon);
        nap_us(20 * PERIOD_US);
        CHECK(EVENTUALLY(atomic_load(&ticks_soon) > tried)); /* it is tried again before another period has passed */
        CHECK(!done);
        progress = i;
    }
    join(other);
    join(f);
    CHECK_EQUAL(inside, 0);
    CHECK_EQUAL(tn_stop(rt), 0);
}

static __attribute__((noinline)) unsigned deep(unsigned n, volatile bool *flag)
{
    if (n == 0)
        until_set((void *)(uintptr_t)flag);
    unsigned below = n == 0 ? 0 : deep(n - 1, flag);
    __asm__ volatile("" : "+r"(below)); /* no loop is made of it */
    return below + 1;
}

static void *deep_down(void *flag)
{
    deep(200, flag);
    return NULL;
}

static void test_deep(void)
{
    tn_runtime *rt = start(1);
    volatile bool flag = false, other = false;
    tn_fibre *f = spawn(rt, deep_down, (void *)(uintptr_t)&flag), *g = spawn(rt, set, (void *)(uintptr_t)&other);
    nap_us(20 * PERIOD_US);
    CHECK(!other);
    flag = true;
    join(f);
    join(g);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- not while it is masked ---- */

static volatile bool other_ran, masks[6];

/* Until another thread has counted on once more, which takes it many periods. */
static void spin_to(unsigned n)
{
    while (progress < n)
        ;
}

static void *is_masked(void *arg)
{
    masks[0] = tn_preempt_mask(true);
    masks[1] = tn_preempt_mask(true);
    spin_to(1);
    tn_sleep(1000); /* others run; the mask stays */
    done = true;
    spin_to(2);
    masks[2] = other_ran;
    masks[3] = tn_preempt_mask(false);
    masks[4] = other_ran; /* it was due */
    masks[5] = tn_preempt_mask(true);
    return arg; /* masked: whoever has its stack next is not */
}

static void *runs_beside(void *arg)
{
    while (!done) /* until the other one has slept, and is masked again */
        tn_yield();
    other_ran = true;
    return arg;
}

static void test_masked(void)
{
    tn_runtime *rt = start(1);
    volatile bool flag = false;
    progress = 0;
    done = other_ran = false;
    tn_fibre *f = spawn(rt, is_masked, NULL), *other = spawn(rt, runs_beside, NULL);
    for (unsigned i = 1; i <= 2; i++) {
        nap_us(20 * PERIOD_US);
        CHECK(!other_ran);
        CHECK_EQUAL(done, i == 2);
        progress = i;
        CHECK(i == 2 || EVENTUALLY(done));
    }
    join(f);
    join(other);
    static const bool wanted[6] = {false, true, false, true, true, false};
    for (unsigned i = 0; i < 6; i++)
        CHECK_EQUAL(masks[i], wanted[i]);
    f = spawn(rt, until_set, (void *)(uintptr_t)&flag);
    other = spawn(rt, until_set, (void *)(uintptr_t)&flag);
    join(spawn(rt, set, (void *)(uintptr_t)&flag));
    join(f);
    join(other);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* A lock of the C library, for which every fibre of the worker would block the thread that has it. */
static pthread_mutex_t theirs = PTHREAD_MUTEX_INITIALIZER;

static void *locks_theirs(void *arg)
{
    for (unsigned i = 0; i < 20; i++) {
        bool masked = tn_preempt_mask(true);
        pthread_mutex_lock(&theirs);
        for (unsigned k = 0; k < 1000000; k++)
            __asm__ volatile("");
        guarded++;
        pthread_mutex_unlock(&theirs);
        tn_preempt_mask(masked);
    }
    return arg;
}

static void test_pthread_mutex(void)
{
    tn_runtime *rt = start(1);
    tn_fibre *f[4];
    guarded = 0;
    for (unsigned i = 0; i < 4; i++)
        f[i] = spawn(rt, locks_theirs, NULL);
    for (unsigned i = 0; i < 4; i++)
        join(f[i]);
    CHECK_EQUAL(guarded, 80);
    CHECK(!counting() || counter(tn_cluster_first(rt), "preempt") > 0);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- injected ---- */

static void *gets_thread(void *to)
{
    *(volatile pthread_t *)to = pthread_self();
    return NULL;
}

/* Ticks at random points, much more often than a timer's. */
enum { INJECTED = 10, FIBRES = 8 };
static volatile bool injecting, enough; /* enough: so many have hit */
static pthread_t target;

static void *injects(void *arg)
{
    uint64_t random = harness_seed();
    while (injecting) {
        pthread_kill(target, SIGVTALRM);
        for (uint64_t n = harness_random(&random) % 4096; n-- > 0;)
            __asm__ volatile("");
    }
    return arg;
}

static void with_injection(tn_runtime *rt, void *(*fn)(void *))
{
    volatile pthread_t thread = 0;
    pthread_t injector;
    tn_fibre *f[FIBRES];
    join(spawn(rt, gets_thread, (void *)(uintptr_t)&thread));
    target = thread;
    injecting = true;
    enough = !counting();
    wrong = 0;
    CHECK_EQUAL(pthread_create(&injector, NULL, injects, NULL), 0);
    for (unsigned i = 0; i < FIBRES; i++)
        f[i] = spawn(rt, fn, (void *)(uintptr_t)(i + 1));
    CHECK(enough || EVENTUALLY(counter(tn_cluster_first(rt), "preempt") >= INJECTED));
    enough = true;
    for (unsigned i = 0; i < FIBRES; i++)
        join(f[i]);
    injecting = false;
    pthread_join(injector, NULL);
    CHECK_EQUAL(wrong, 0);
}

/* What malloc keeps for the thread, and its locks, would not survive another fibre in the middle of it. Half of the calls come by a
 * library that knows whether one is under way on its thread: never, where a fibre is in the program. */
static void *allocates(void *arg)
{
    enum { KEPT = 64, CALLS = 40000 };
    uint64_t random = harness_seed() + (uintptr_t)arg;
    unsigned char *kept[KEPT] = {NULL}, mark = (unsigned char)(uintptr_t)arg;
    size_t size[KEPT] = {0};
    for (unsigned i = 0; i < CALLS || !enough; i++) {
        unsigned k = (unsigned)(harness_random(&random) % KEPT);
        for (size_t b = 0; b < size[k]; b++)
            wrong += kept[k][b] != mark;
        size[k] = harness_random(&random) % (i % 16 == 0 ? 4096 : 200);
        if (i % 2 == 0) {
            kept[k] = library_allocate(kept[k], size[k]);
        } else {
            free(kept[k]);
            kept[k] = malloc(size[k]);
        }
        wrong += library_allocates_here() != 0;
        for (size_t b = 0; b < size[k]; b++)
            kept[k][b] = mark;
    }
    for (unsigned k = 0; k < KEPT; k++)
        free(kept[k]);
    return NULL;
}

static void test_malloc(void)
{
    for (int64_t workers = 1; workers <= 2; workers++) {
        tn_runtime *rt = start(workers);
        with_injection(rt, allocates);
        CHECK_EQUAL(tn_stop(rt), 0);
    }
}

/* The runtime's own sections, all of them that fibres come to. */
static tn_mutex mutex;
static volatile unsigned turns_of[FIBRES];

static void *nothing(void *arg)
{
    return arg;
}

static void *calls(void *arg)
{
    enum { CALLS = 60000 };
    uint64_t random = harness_seed() + (uintptr_t)arg;
    unsigned i = 0;
    for (; i < CALLS || !enough; i++) {
        tn_fibre *f;
        switch (harness_random(&random) % 5) {
        case 0:
            tn_yield();
            break;
        case 1:
            wrong += tn_spawn(&f, NULL, nothing, arg) != 0 || tn_join(f, NULL) != 0;
            break;
        case 2:
            tn_sleep(harness_random(&random) % 1000);
            break;
        default:
            if (i % 64 == 0) /* the program's: seldom, so that nearly all ticks come in the runtime */
                for (unsigned k = 0; k < 20000; k++)
                    __asm__ volatile("");
        }
        tn_mutex_lock(&mutex);
        guarded++;
        tn_mutex_unlock(&mutex);
    }
    turns_of[(uintptr_t)arg - 1] = i;
    return NULL;
}

static void test_runtime(void)
{
    for (int64_t workers = 1; workers <= 2; workers++) {
        tn_runtime *rt = start(workers);
        guarded = 0;
        CHECK_EQUAL(tn_mutex_init(&mutex, NULL), 0);
        with_injection(rt, calls);
        unsigned all = 0;
        for (unsigned i = 0; i < FIBRES; i++)
            all += turns_of[i];
        CHECK_EQUAL(guarded, all);
        CHECK_EQUAL(tn_stop(rt), 0);
    }
}

static const struct test tests[] = {
    {"not inside a library, nor called back by one", test_library},
    {"not where the stack is too deep to look through", test_deep},
    {"not while it is masked", test_masked},
    {"nor while it has a lock of the C library, if it is masked", test_pthread_mutex},
    {"not inside malloc", test_malloc},
    {"not inside the runtime", test_runtime},
};

int main(void)
{
    return HARNESS_RUN("preempt_not", tests);
}
