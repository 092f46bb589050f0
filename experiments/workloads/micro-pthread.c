/* SPDX-License-Identifier: MIT
 *
 * Micro benchmarks on plain threads: what an operating-system thread costs where Tenter has a fibre.
 * `--workers N` keeps the process on its first N processors.
 */
#include "micro_common.h"

#include <gnu/libc-version.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define STACK 65536

static pthread_attr_t attr;

static pthread_t start(void *(*fn)(void *), void *arg)
{
    pthread_t t;
    if (pthread_create(&t, &attr, fn, arg) != 0) {
        fputs("micro-pthread: no thread could be made\n", stderr);
        exit(BENCH_INTERNAL);
    }
    return t;
}

/* ---- yield ---- */

static double null_yield(uint64_t ops)
{
    uint64_t begin = bench_now();
    for (uint64_t i = 0; i < ops; i++)
        sched_yield();
    return (double)(bench_now() - begin) / (double)ops;
}

static pthread_barrier_t barrier;
static _Atomic(uint64_t) yields, last_stop;
static uint64_t each;

static void *yielder(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&barrier);
    for (uint64_t i = 0; i < each; i++)
        sched_yield();
    uint64_t stop = bench_now(), seen = atomic_load(&last_stop);
    while (seen < stop && !atomic_compare_exchange_weak(&last_stop, &seen, stop))
        continue;
    atomic_fetch_add(&yields, each);
    return NULL;
}

static double yield_among(const char *name, unsigned threads, uint64_t ops)
{
    pthread_t *t = calloc(threads, sizeof *t);
    if (t == NULL)
        exit(BENCH_INTERNAL);
    each = ops / threads;
    atomic_store(&yields, 0);
    atomic_store(&last_stop, 0);
    pthread_barrier_init(&barrier, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++)
        t[i] = start(yielder, NULL);
    uint64_t begin = bench_now();
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(t[i], NULL);
    pthread_barrier_destroy(&barrier);
    free(t);
    if (atomic_load(&yields) != ops)
        micro_fail(name, "yields are missing");
    return (double)(atomic_load(&last_stop) - begin) / (double)ops;
}

static double yield_2(uint64_t ops)
{
    return yield_among("yield_2", 2, ops);
}

static double yield_1000(uint64_t ops)
{
    return yield_among("yield_1000", 1000, ops);
}

/* ---- spawn and join ---- */

static void *identity(void *arg)
{
    return arg;
}

static double spawn_batch(const char *name, uint64_t ops, unsigned batch)
{
    pthread_t t[100];
    uint64_t sum = 0, begin = bench_now();
    for (uint64_t i = 0; i < ops; i += batch) {
        for (unsigned k = 0; k < batch; k++)
            t[k] = start(identity, (void *)(uintptr_t)(k + 1));
        for (unsigned k = 0; k < batch; k++) {
            void *value = NULL;
            pthread_join(t[k], &value);
            sum += (uintptr_t)value;
        }
    }
    double ns = (double)(bench_now() - begin) / (double)ops;
    if (sum != ops * (batch + 1) / 2)
        micro_fail(name, "joined values do not add up");
    return ns;
}

static double spawn_join(uint64_t ops)
{
    return spawn_batch("spawn_join", ops, 1);
}

static double spawn_join_100(uint64_t ops)
{
    return spawn_batch("spawn_join_100", ops, 100);
}

/* ---- ping-pong ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static int turn;          /* under lock */
static uint64_t returned; /* by the second player; read after it is joined */

static void play(int me, uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++) {
        pthread_mutex_lock(&lock);
        while (turn != me)
            pthread_cond_wait(&turn_changed[me], &lock);
        turn = !me;
        pthread_cond_signal(&turn_changed[!me]);
        pthread_mutex_unlock(&lock);
    }
}

static void *second_player(void *arg)
{
    uint64_t rounds = *(uint64_t *)arg;
    play(1, rounds);
    returned = rounds;
    return NULL;
}

static double ping_pong(uint64_t ops)
{
    turn = 0;
    returned = 0;
    pthread_t t = start(second_player, &ops);
    uint64_t begin = bench_now();
    play(0, ops);
    pthread_join(t, NULL);
    if (returned != ops)
        micro_fail("ping_pong", "a ball was lost");
    return (double)(bench_now() - begin) / (double)ops;
}

/* ---- mutexes ---- */

static double mutex(uint64_t ops)
{
    uint64_t begin = bench_now();
    for (uint64_t i = 0; i < ops; i++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    return (double)(bench_now() - begin) / (double)ops;
}

static uint64_t turns; /* under lock */
static bool gives_way;

static void *passer(void *arg)
{
    for (uint64_t i = 0, n = *(uint64_t *)arg; i < n; i++) {
        pthread_mutex_lock(&lock);
        if (gives_way)
            sched_yield();
        turns++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static double two(const char *name, uint64_t ops, bool yielding)
{
    uint64_t half = ops / 2, begin = bench_now();
    turns = 0;
    gives_way = yielding;
    pthread_t a = start(passer, &half), b = start(passer, &half);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    if (turns != 2 * half)
        micro_fail(name, "turns are missing");
    return (double)(bench_now() - begin) / (double)ops;
}

static double mutex_2w(uint64_t ops)
{
    return two("mutex_2w", ops, false);
}

static double mutex_pass(uint64_t ops)
{
    return two("mutex_pass", ops, true);
}

/* ---- fork-join ---- */

static void *node(void *arg)
{
    uintptr_t depth = (uintptr_t)arg;
    void *left = NULL, *right = NULL;
    if (depth == 0)
        return (void *)1;
    pthread_t a = start(node, (void *)(depth - 1)), b = start(node, (void *)(depth - 1));
    pthread_join(a, &left);
    pthread_join(b, &right);
    return (void *)(1 + (uintptr_t)left + (uintptr_t)right);
}

static double fork_join(uint64_t ops)
{
    uint64_t begin = bench_now();
    for (uint64_t i = 0; i < ops; i++)
        if ((uintptr_t)node((void *)(uintptr_t)micro_depth()) != micro_nodes())
            micro_fail("fork_join", "nodes are missing");
    return (double)(bench_now() - begin) / (double)(ops * micro_nodes());
}

/* ---- wake-up over two workers ---- */

static bool posted;                 /* under lock */
static _Atomic(uint64_t) armed, up; /* rounds that the sleeper is ready for, and has been woken in */
static uint64_t up_at;              /* published by `up` */

static void *sleeper(void *arg)
{
    uint64_t rounds = *(uint64_t *)arg;
    bench_pin(1);
    for (uint64_t i = 1; i <= rounds; i++) {
        pthread_mutex_lock(&lock);
        atomic_store_explicit(&armed, i, memory_order_release);
        while (!posted)
            pthread_cond_wait(&turn_changed[0], &lock);
        up_at = bench_now();
        posted = false;
        pthread_mutex_unlock(&lock);
        atomic_store_explicit(&up, i, memory_order_release);
    }
    return NULL;
}

static double wake_2w(uint64_t ops)
{
    atomic_store(&armed, 0);
    atomic_store(&up, 0);
    pthread_t t = start(sleeper, &ops);
    bench_pin(0);
    for (uint64_t i = 1; i <= ops; i++) {
        while (atomic_load_explicit(&armed, memory_order_acquire) != i)
            sched_yield();
        bench_work(MICRO_PAUSE_NS);
        uint64_t begin = bench_now();
        pthread_mutex_lock(&lock);
        posted = true;
        pthread_cond_signal(&turn_changed[0]);
        pthread_mutex_unlock(&lock);
        while (atomic_load_explicit(&up, memory_order_acquire) != i)
            bench_relax();
        micro_latency(up_at - begin);
    }
    pthread_join(t, NULL);
    bench_confine(micro_workers());
    return micro_latency_median();
}

int main(int argc, char **argv)
{
    static const struct micro_case cases[] = {
        {"null_yield", "sched_yield with nobody else", 1, 1, null_yield},
        {"yield_2", "sched_yield among two threads", 1, 2, yield_2},
        {"yield_1000", "sched_yield among a thousand threads", 1, 20000, yield_1000},
        {"spawn_join", "create a thread, join it", 1, 1, spawn_join},
        {"spawn_join_100", "create a hundred threads, join them; for each", 1, 100, spawn_join_100},
        {"ping_pong", "two threads wake each other (mutex, condition); a round trip", 1, 1, ping_pong},
        {"mutex", "take a free mutex, give it back", 1, 1, mutex},
        {"mutex_2w", "two threads on two processors go through one mutex; for each time", 2, 2, mutex_2w},
        {"mutex_pass", "two threads go through one mutex, and yield with it; for each time", 1, 2, mutex_pass},
        {"fork_join", "binary tree of threads; for each node", 1, 1, fork_join},
        {"wake_2w", "wake a thread that sleeps on another processor", 2, 1, wake_2w},
    };
    static struct bench_option own[] = {MICRO_OPTIONS("9")};
    static struct bench b = {.program = "micro-pthread",
                             .about = "single operations of threads of the operating system",
                             .clock = MICRO_CLOCK,
                             .own = own,
                             .n = sizeof own / sizeof *own};
    char more[160];
    micro_start(&b, argc, argv, cases, sizeof cases / sizeof *cases, NULL, 0);
    snprintf(more, sizeof more,
             "\"stack\": %d, \"guards\": \"one page each\", \"differs\": \"workers are processors; a tree of "
             "depth %u\"",
             STACK, micro_depth());
    bench_binary_peer(&b, "pthread", gnu_get_libc_version(), more);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    bench_confine(micro_workers());
    pthread_join(start(identity, NULL),
                 NULL); /* ends glibc's short cut for processes that never had a second thread */
    bench_work_calibrate();
    micro_measure(cases, sizeof cases / sizeof *cases);
    return micro_finish();
}
