/* SPDX-License-Identifier: MIT
 *
 * While nobody sleeps, no primitive calls the kernel: fibres of one worker, which is never idle, wait for each other at each of
 * them, and all calls by which it sleeps or wakes a thread are counted. And whoever is blocked, fibre or thread, does nothing.
 * (The thread that called tn_run goes to sleep once, whenever it gets to it: that call is not a primitive's.) And a worker that
 * goes to sleep while no other is busy passes no fence that interrupts others.
 */
#include "harness.h"

#include "tenter_channel.h"
#include "tenter_group.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { FIBRES = 100, TURNS = 20 };

static atomic_long futexes, all_futexes, barriers; /* barriers: heavy fences, each of which interrupts all that run */
static _Thread_local bool counted;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    va_list args;
    long a[6];
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_futex && counted)
        atomic_fetch_add(&futexes, 1);
    if (number == SYS_futex)
        atomic_fetch_add(&all_futexes, 1);
    if (number == SYS_membarrier)
        atomic_fetch_add(&barriers, 1);
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

enum { DESIGNS = 4 };

static tn_mutex mutex[DESIGNS];
static tn_local_mutex local;
static tn_once onces[TURNS];
static tn_promise promises[TURNS];
static tn_channel others;
static tn_rwlock rwlock;
static tn_sem sem;
static tn_cond cond;
static tn_barrier barrier;
static tn_latch latch;
static tn_channel channel;
static unsigned generation, arrived, held_up;

static void meet(void)
{
    tn_mutex_lock(&mutex[0]);
    unsigned mine = generation;
    if (++arrived == FIBRES) {
        arrived = 0;
        generation++;
        tn_cond_broadcast(&cond);
    }
    while (mine == generation)
        tn_cond_wait(&cond, &mutex[0]);
    tn_mutex_unlock(&mutex[0]);
}

static void once_yields(void)
{
    tn_yield();
}

static void *ends_late(void *arg)
{
    tn_yield();
    return arg;
}

/* A sender meets a receiver, each by a select whose other arm never comes. */
static void selects(uintptr_t me)
{
    static tn_promise never = TN_PROMISE_INIT;
    uintptr_t item = me;
    unsigned which;
    struct tn_arm sends[] = {TN_SEND(&others, &item), TN_KEPT(&never)};
    struct tn_arm receives[] = {TN_RECEIVE(&others, &item), TN_KEPT(&never)};
    CHECK_EQUAL(tn_select(me % 2 == 0 ? sends : receives, 2, &which, TN_FOREVER, NULL), 0);
}

static void group_of_two(void)
{
    tn_group group;
    tn_group_open(&group, TN_FOREVER);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.group = &group}, ends_late, NULL), 0);
    CHECK_EQUAL(tn_group_close(&group), 0);
}

static void *member(void *which)
{
    uintptr_t me = (uintptr_t)which;
    tn_fibre *child;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        for (int d = 0; d < DESIGNS; d++) {
            held_up += tn_mutex_trylock(&mutex[d]) != 0 ? tn_mutex_lock(&mutex[d]) == 0 : 0;
            tn_yield();
            tn_mutex_unlock(&mutex[d]);
        }
        if (me % 4 == 0)
            tn_rwlock_wrlock(&rwlock);
        else
            tn_rwlock_rdlock(&rwlock);
        tn_yield();
        tn_rwlock_unlock(&rwlock);
        tn_sem_wait(&sem);
        tn_yield();
        tn_sem_post(&sem);
        if (me % 2 == 0)
            tn_channel_send(&channel, &me);
        else
            tn_channel_receive(&channel, &me);
        me = (uintptr_t)which;
        selects(me);
        tn_local_mutex_lock(&local);
        tn_yield();
        tn_local_mutex_unlock(&local);
        tn_once_do(&onces[turn], once_yields);
        if (me == 0)
            tn_promise_set(&promises[turn], NULL);
        else
            tn_promise_get(&promises[turn]);
        CHECK_EQUAL(tn_spawn(&child, NULL, ends_late, NULL), 0);
        tn_join(child, NULL);
        group_of_two();
        meet();
        tn_barrier_wait(&barrier);
    }
    tn_latch_down(&latch, 1);
    return NULL;
}

static void *all(void *arg)
{
    counted = true;
    long before = atomic_load(&futexes);
    CHECK_EQUAL(tn_local_mutex_init(&local, tn_cluster_self()), 0);
    for (uintptr_t i = 0; i < FIBRES; i++)
        CHECK_EQUAL(tn_spawn(NULL, NULL, member, (void *)i), 0);
    tn_latch_wait(&latch);
    *(long *)arg = atomic_load(&futexes) - before;
    return NULL;
}

static void test_none(void)
{
    struct tn_config c = TN_CONFIG_INIT;
    long calls = -1;
    c.workers = 1;
    c.stall_ms = 0;
    c.monitor_us = 0;
    static const int designs[DESIGNS] = {TN_MUTEX_BLOCK, TN_MUTEX_SPIN_BLOCK, TN_MUTEX_FAIR, TN_MUTEX_BATON};
    for (int d = 0; d < DESIGNS; d++)
        tn_mutex_init(&mutex[d], &(struct tn_mutex_attr){.design = designs[d]});
    tn_rwlock_init(&rwlock, TN_RWLOCK_FAIR);
    tn_sem_init(&sem, 2, 0);
    tn_barrier_init(&barrier, FIBRES);
    latch = (tn_latch)TN_LATCH_INIT(FIBRES);
    tn_channel_init(&channel, NULL, sizeof(uintptr_t), 0);
    tn_channel_init(&others, NULL, sizeof(uintptr_t), 0);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        onces[turn] = (tn_once)TN_ONCE_INIT;
        tn_promise_init(&promises[turn]);
    }
    CHECK_EQUAL(tn_run(&c, all, &calls, NULL), 0);
    CHECK_EQUAL(calls, 0);
    CHECK(held_up > FIBRES);          /* they did wait */
    CHECK(atomic_load(&futexes) > 0); /* and what is counted is counted: the last fibre wakes who waits in tn_run */
}

/* ---- who goes to sleep interrupts others only where they may have to hear of it ---- */

static void *turn(void *arg)
{
    tn_sleep(1000);
    return arg;
}

static void *works(void *go_on)
{
    while (atomic_load((_Atomic(bool) *)go_on))
        tn_yield();
    return NULL;
}

static void test_alone(void)
{
    if (!counting())
        SKIP("it is told by counters");
    for (int busy = 0; busy < 2; busy++) {
        struct tn_config c = TN_CONFIG_INIT;
        tn_fibre *f, *worker = NULL;
        _Atomic(bool) go_on;
        atomic_init(&go_on, busy != 0);
        c.workers = busy ? 2 : 1;
        c.idle = TN_IDLE_BLOCK;
        tn_runtime *r;
        if (!CHECK_EQUAL(tn_start(&r, &c), 0))
            return;
        tn_cluster *cl = tn_cluster_first(r);
        struct tn_attr attr = {.cluster = cl};
        if (busy)
            CHECK_EQUAL(tn_spawn(&worker, &attr, works, &go_on), 0);
        long before = atomic_load(&barriers);
        for (unsigned i = 0; i < (busy ? 100000 : 50) && (!busy || atomic_load(&barriers) == before); i++) {
            CHECK_EQUAL(tn_spawn(&f, &attr, turn, NULL), 0);
            CHECK_EQUAL(tn_join(f, NULL), 0);
            CHECK(busy || EVENTUALLY(counter(cl, "park") + counter(cl, "watch") > i));
        }
        if (!busy) {
            CHECK_EQUAL(atomic_load(&barriers), before);
        } else { /* and what is counted is counted */
            CHECK(atomic_load(&barriers) > before);
        }
        atomic_store(&go_on, false);
        if (busy)
            CHECK_EQUAL(tn_join(worker, NULL), 0);
        CHECK_EQUAL(tn_stop(r), 0);
    }
}

/* ---- who is blocked does nothing ---- */

static tn_once once;
static tn_promise promise;
static tn_group group;
static tn_runtime *rt;
static _Atomic(bool) go;
static unsigned designs_at;

static void *waits_to_go(void *arg)
{
    while (!atomic_load(&go))
        nap_us(20000);
    return arg;
}
static void once_goes(void)
{
    waits_to_go(NULL);
}
static void w_mutex(void)
{
    tn_mutex_lock(&mutex[0]);
    tn_mutex_unlock(&mutex[0]);
}
static void e_mutex(void)
{
    tn_mutex_unlock(&mutex[0]);
}
static void b_mutex(void)
{
    static const int designs[] = {TN_MUTEX_BLOCK, TN_MUTEX_SPIN_BLOCK, TN_MUTEX_FAIR, TN_MUTEX_BATON};
    tn_mutex_init(&mutex[0], &(struct tn_mutex_attr){.design = designs[designs_at++ % 4]});
    tn_mutex_lock(&mutex[0]);
}
static void b_rwlock(void)
{
    tn_rwlock_init(&rwlock, TN_RWLOCK_FAIR);
    tn_rwlock_wrlock(&rwlock);
}
static void w_read(void)
{
    tn_rwlock_rdlock(&rwlock);
    tn_rwlock_unlock(&rwlock);
}
static void w_write(void)
{
    tn_rwlock_wrlock(&rwlock);
    tn_rwlock_unlock(&rwlock);
}
static void e_rwlock(void)
{
    tn_rwlock_unlock(&rwlock);
}
static void b_sem(void)
{
    tn_sem_init(&sem, 0, 0);
}
static void w_sem(void)
{
    tn_sem_wait(&sem);
}
static void e_sem(void)
{
    tn_sem_post_n(&sem, 2);
}
static void b_cond(void)
{
    tn_mutex_init(&mutex[0], NULL);
    tn_cond_init(&cond);
    generation = 0;
}
static void w_cond(void)
{
    tn_mutex_lock(&mutex[0]);
    while (generation == 0)
        tn_cond_wait(&cond, &mutex[0]);
    tn_mutex_unlock(&mutex[0]);
}
static void e_cond(void)
{
    tn_mutex_lock(&mutex[0]);
    generation = 1;
    tn_cond_broadcast(&cond);
    tn_mutex_unlock(&mutex[0]);
}
static void b_barrier(void)
{
    tn_barrier_init(&barrier, 3);
}
static void w_barrier(void)
{
    tn_barrier_wait(&barrier);
}
static void b_latch(void)
{
    tn_latch_init(&latch, 1);
}
static void w_latch(void)
{
    tn_latch_wait(&latch);
}
static void e_latch(void)
{
    tn_latch_down(&latch, 1);
}
/* A plain thread does it, in its own way; both others wait for that. */
static pthread_t doer;
static void *does_once(void *arg)
{
    tn_once_do(&once, once_goes);
    return arg;
}
static void b_once(void)
{
    once = (tn_once)TN_ONCE_INIT;
    CHECK_EQUAL(pthread_create(&doer, NULL, does_once, NULL), 0);
    nap_us(5000);
}
static void w_once(void)
{
    tn_once_do(&once, once_goes);
}
static void e_once(void)
{
    CHECK_EQUAL(pthread_join(doer, NULL), 0);
}
static void b_promise(void)
{
    tn_promise_init(&promise);
}
static void w_promise(void)
{
    tn_promise_get(&promise);
}
static void e_promise(void)
{
    tn_promise_set(&promise, NULL);
}
static void b_channel(void)
{
    tn_channel_init(&channel, NULL, sizeof(uintptr_t), 0);
}
static void w_send(void)
{
    uintptr_t item = 0;
    tn_channel_send(&channel, &item);
}
static void w_receive(void)
{
    uintptr_t item;
    tn_channel_receive(&channel, &item);
}
static void w_select(void)
{
    uintptr_t item;
    unsigned which;
    struct tn_arm arms[] = {TN_RECEIVE(&channel, &item), TN_KEPT(&promise)};
    tn_select(arms, 2, &which, TN_FOREVER, NULL);
}
static void b_select(void)
{
    b_channel();
    b_promise();
}
static void e_channel(void)
{
    tn_channel_close(&channel);
}
static void b_group(void)
{
    tn_group_open(&group, TN_FOREVER);
    CHECK_EQUAL(tn_latch_up(&group.left, 1), 0); /* a member, as it were */
}
static void w_group(void)
{
    tn_group_close(&group);
}
static void e_group(void)
{
    tn_latch_down(&group.left, 1);
}

static const struct blocks {
    const char *name;
    void (*begin)(void), (*wait)(void), (*end)(void);
} blocks[] = {{"mutex, block", b_mutex, w_mutex, e_mutex},
              {"mutex, spin-block", b_mutex, w_mutex, e_mutex},
              {"mutex, fair", b_mutex, w_mutex, e_mutex},
              {"mutex, baton", b_mutex, w_mutex, e_mutex},
              {"reader", b_rwlock, w_read, e_rwlock},
              {"writer", b_rwlock, w_write, e_rwlock},
              {"semaphore", b_sem, w_sem, e_sem},
              {"condition", b_cond, w_cond, e_cond},
              {"barrier", b_barrier, w_barrier, w_barrier},
              {"latch", b_latch, w_latch, e_latch},
              {"once", b_once, w_once, e_once},
              {"promise", b_promise, w_promise, e_promise},
              {"sender", b_channel, w_send, e_channel},
              {"receiver", b_channel, w_receive, e_channel},
              {"select", b_select, w_select, e_promise},
              {"group", b_group, w_group, e_group}};

static void *blocked(void *wait)
{
    ((const struct blocks *)wait)->wait();
    return NULL;
}

static double used_ns(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return 1e9 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e3 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* A fibre and a thread wait, with less than a hundredth of a processor. Whoever is late may still go to sleep, so there is more
 * than one look; who looked again and again himself would do so in each. */
static void test_blocked(void)
{
    struct tn_config c = TN_CONFIG_INIT;
    c.workers = 2;
    c.stall_ms = 0;
    c.monitor_us = 0;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        const struct blocks *b = &blocks[i];
        tn_fibre *f;
        pthread_t thread;
        atomic_store(&go, false);
        b->begin();
        CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, blocked, (void *)(uintptr_t)b), 0);
        CHECK_EQUAL(pthread_create(&thread, NULL, blocked, (void *)(uintptr_t)b), 0);
        long calls = 0;
        double used = 1;
        for (int turn = 0; turn < 5 && (used >= 0.01 || calls >= 12); turn++) {
            nap_us(10000);
            tn_time begin = tn_now();
            calls = -atomic_load(&all_futexes);
            used = -used_ns();
            nap_us(100000);
            used = (used + used_ns()) / (double)(tn_now() - begin);
            calls += atomic_load(&all_futexes);
        }
        harness_note("%s: %ld calls, %.4f of a processor", b->name, calls, used);
        CHECK(calls < 12);
        CHECK(used < 0.01);
        atomic_store(&go, true);
        b->end();
        CHECK_EQUAL(tn_join(f, NULL), 0);
        CHECK_EQUAL(pthread_join(thread, NULL), 0);
    }
    CHECK_EQUAL(tn_stop(rt), 0);
}

int main(void)
{
    static const struct test tests[] = {{"no call while nobody sleeps", test_none},
                                        {"who sleeps alone interrupts nobody", test_alone},
                                        {"who is blocked does nothing", test_blocked}};
    return HARNESS_RUN("futex", tests);
}
