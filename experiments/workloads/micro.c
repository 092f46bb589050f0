/* SPDX-License-Identifier: MIT
 *
 * Micro benchmarks of Tenter, and of its physical neighbours.
 */
#include "bench_tenter.h"
#include "micro_common.h"

#include "tenter_channel.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct bench *bench;

/* Spawn; a queue that refuses is full only for now. */
static tn_fibre *spawn(void *(*fn)(void *), void *arg)
{
    tn_fibre *f = NULL;
    int rc;
    while ((rc = tn_spawn(&f, NULL, fn, arg)) == EAGAIN)
        tn_yield();
    if (rc != 0)
        bench_die(bench, BENCH_INTERNAL, "tn_spawn: %s", strerror(rc));
    return f;
}

/* ---- yield ---- */

static double null_yield(uint64_t ops)
{
    uint64_t begin = bench_now();
    for (uint64_t i = 0; i < ops; i++)
        tn_yield();
    return (double)(bench_now() - begin) / (double)ops;
}

static void *yielder(void *arg)
{
    uint64_t each = *(const uint64_t *)arg;
    for (uint64_t i = 0; i < each; i++)
        tn_yield();
    return arg;
}

static double yield_among(const char *name, unsigned fibres, uint64_t ops)
{
    static tn_fibre *f[1000];
    uint64_t each = ops / fibres, ended = 0, begin = bench_now();
    for (unsigned i = 0; i < fibres; i++)
        f[i] = spawn(yielder, &each);
    for (unsigned i = 0; i < fibres; i++) {
        void *value = NULL;
        tn_join(f[i], &value);
        ended += value == &each;
    }
    double ns = (double)(bench_now() - begin) / (double)ops;
    if (ended != fibres)
        micro_fail(name, "fibres are missing");
    return ns;
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
    tn_fibre *f[100];
    uint64_t sum = 0, begin = bench_now();
    for (uint64_t i = 0; i < ops; i += batch) {
        for (unsigned k = 0; k < batch; k++)
            f[k] = spawn(identity, (void *)(uintptr_t)(k + 1));
        for (unsigned k = 0; k < batch; k++) {
            void *value = NULL;
            tn_join(f[k], &value);
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

/* Each side prepares to be woken and says so in its waiter before it wakes the other: the other reads the
 * waiter after it has been woken, and no wake-up comes too early. */
struct table {
    tn_waiter player[2];
    _Atomic(bool) ready; /* the second player's waiter is there */
    uint64_t rounds, lost;
};

static void *second_player(void *arg)
{
    struct table *t = arg;
    t->player[1] = tn_wait_prepare();
    atomic_store_explicit(&t->ready, true, memory_order_release);
    tn_wait(TN_FOREVER, NULL);
    for (uint64_t i = 1; i < t->rounds; i++) {
        t->player[1] = tn_wait_prepare();
        t->lost += !tn_wake(t->player[0]);
        tn_wait(TN_FOREVER, NULL);
    }
    t->lost += !tn_wake(t->player[0]);
    return t;
}

static double ping_pong(uint64_t ops)
{
    struct table t = {.rounds = ops};
    uint64_t lost = 0;
    tn_fibre *f = spawn(second_player, &t);
    while (!atomic_load_explicit(&t.ready, memory_order_acquire))
        tn_yield();
    uint64_t begin = bench_now();
    for (uint64_t i = 0; i < ops; i++) {
        t.player[0] = tn_wait_prepare();
        lost += !tn_wake(t.player[1]);
        tn_wait(TN_FOREVER, NULL);
    }
    double ns = (double)(bench_now() - begin) / (double)ops;
    void *value = NULL;
    tn_join(f, &value);
    if (value != &t || lost + t.lost != 0)
        micro_fail("ping_pong", "a ball was lost");
    return ns;
}

/* ---- mutexes ---- */

static struct {
    tn_mutex mutex;
    uint64_t each, turns; /* turns: under it */
} hold;

static double mutex(uint64_t ops)
{
    tn_mutex_init(&hold.mutex, NULL);
    uint64_t begin = bench_now();
    for (uint64_t i = 0; i < ops; i++) {
        tn_mutex_lock(&hold.mutex);
        tn_mutex_unlock(&hold.mutex);
    }
    return (double)(bench_now() - begin) / (double)ops;
}

/* Both go through it as often as they can, each on a worker. */
static void *passer(void *arg)
{
    for (uint64_t i = 0; i < hold.each; i++) {
        tn_mutex_lock(&hold.mutex);
        hold.turns++;
        tn_mutex_unlock(&hold.mutex);
    }
    return arg;
}

static double two(const char *name, uint64_t ops, int design, void *(*fn)(void *))
{
    tn_mutex_init(&hold.mutex, &(struct tn_mutex_attr){.design = design});
    hold.each = ops / 2;
    hold.turns = 0;
    uint64_t begin = bench_now();
    tn_fibre *a = spawn(fn, NULL), *b = spawn(fn, NULL);
    tn_join(a, NULL);
    tn_join(b, NULL);
    if (hold.turns != 2 * hold.each)
        micro_fail(name, "turns are missing");
    return (double)(bench_now() - begin) / (double)ops;
}

static double mutex_2w(uint64_t ops)
{
    return two("mutex_2w", ops, TN_MUTEX_DEFAULT, passer);
}

static struct {
    tn_local_mutex mutex;
    tn_cluster *cluster; /* of one worker */
    uint64_t ops, turns, took;
} home;

static void *at_home(void *arg)
{
    uint64_t begin = bench_now();
    for (uint64_t i = 0; i < home.ops; i++) {
        home.turns += tn_local_mutex_lock(&home.mutex) == 0;
        tn_local_mutex_unlock(&home.mutex);
    }
    home.took = bench_now() - begin;
    return arg;
}

static double local_mutex(uint64_t ops)
{
    struct tn_config config = TN_CONFIG_INIT;
    config.workers = 1;
    if (home.cluster == NULL &&
        (tn_cluster_create(NULL, &config, &home.cluster) != 0 || tn_local_mutex_init(&home.mutex, home.cluster) != 0))
        bench_die(bench, BENCH_INTERNAL, "no cluster of one worker");
    struct tn_attr attr = {.cluster = home.cluster};
    tn_fibre *f = NULL;
    home.ops = ops;
    home.turns = 0;
    if (tn_spawn(&f, &attr, at_home, NULL) != 0)
        bench_die(bench, BENCH_INTERNAL, "no fibre in a cluster of one worker");
    tn_join(f, NULL);
    if (home.turns != ops)
        micro_fail("local_mutex", "turns are missing");
    return (double)home.took / (double)ops;
}

/* Who holds it yields, so that the other one finds it held and waits. */
static void *holder(void *arg)
{
    for (uint64_t i = 0; i < hold.each; i++) {
        tn_mutex_lock(&hold.mutex);
        tn_yield();
        hold.turns++;
        tn_mutex_unlock(&hold.mutex);
    }
    return arg;
}

static double mutex_pass(uint64_t ops)
{
    return two("mutex_pass", ops, TN_MUTEX_BATON, holder);
}

/* ---- channels ---- */

enum { MICRO_PLACES = 16 };
static struct {
    tn_channel items, never;
    uint64_t room[MICRO_PLACES], ops;
} belt;

static void *sender(void *arg)
{
    for (uint64_t i = 1; i <= belt.ops; i++)
        tn_channel_send(&belt.items, &i);
    return arg;
}

static double pass(const char *name, uint64_t ops, unsigned places, bool selects)
{
    uint64_t sum = 0, item = 0;
    unsigned which;
    tn_channel_init(&belt.items, places > 0 ? belt.room : NULL, sizeof(item), places);
    tn_channel_init(&belt.never, NULL, sizeof(item), 0);
    struct tn_arm arms[] = {TN_RECEIVE(&belt.items, &item), TN_RECEIVE(&belt.never, &item)};
    belt.ops = ops;
    uint64_t begin = bench_now();
    tn_fibre *f = spawn(sender, NULL);
    for (uint64_t i = 0; i < ops; i++) {
        if (selects)
            tn_select(arms, 2, &which, TN_FOREVER, NULL);
        else
            tn_channel_receive(&belt.items, &item);
        sum += item;
    }
    tn_join(f, NULL);
    double ns = (double)(bench_now() - begin) / (double)ops;
    if (sum != ops * (ops + 1) / 2)
        micro_fail(name, "items are missing");
    return ns;
}

static double channel(uint64_t ops)
{
    return pass("channel", ops, 0, false);
}

static double channel_16(uint64_t ops)
{
    return pass("channel_16", ops, MICRO_PLACES, false);
}

static double select_16(uint64_t ops)
{
    return pass("select_16", ops, MICRO_PLACES, true);
}

/* ---- fork-join ---- */

static void *node(void *arg)
{
    uintptr_t depth = (uintptr_t)arg;
    void *left = NULL, *right = NULL;
    if (depth == 0)
        return (void *)1;
    tn_fibre *a = spawn(node, (void *)(depth - 1)), *b = spawn(node, (void *)(depth - 1));
    tn_join(a, &left);
    tn_join(b, &right);
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

/* The waker computes and never gives way, so the woken fibre can only run where another worker takes it. */
struct bed {
    tn_waiter sleeper;           /* published by `armed` */
    _Atomic(uint64_t) armed, up; /* rounds that the sleeper is ready for, and has been woken in */
    uint64_t up_at;              /* published by `up` */
    uint64_t rounds;
};

static void *sleeper(void *arg)
{
    struct bed *bed = arg;
    for (uint64_t i = 1; i <= bed->rounds; i++) {
        bed->sleeper = tn_wait_prepare();
        atomic_store_explicit(&bed->armed, i, memory_order_release);
        tn_wait(TN_FOREVER, NULL);
        bed->up_at = bench_now();
        atomic_store_explicit(&bed->up, i, memory_order_release);
    }
    return bed;
}

static bool reached(_Atomic(uint64_t) *word, uint64_t value)
{
    uint64_t begin = bench_now();
    while (atomic_load_explicit(word, memory_order_acquire) != value) {
        bench_relax();
        if (bench_now() - begin > MICRO_PATIENCE_NS)
            return false;
    }
    return true;
}

static double wake_2w(uint64_t ops)
{
    struct bed bed = {.rounds = ops};
    tn_fibre *f = spawn(sleeper, &bed);
    for (uint64_t i = 1; i <= ops; i++) {
        if (!reached(&bed.armed, i)) {
            micro_fail("wake_2w", "no other worker took the sleeper");
            while (atomic_load_explicit(&bed.armed, memory_order_acquire) != i)
                tn_yield(); /* it must end, since this frame is its bed */
        }
        bench_work(MICRO_PAUSE_NS);
        uint64_t begin = bench_now();
        if (!tn_wake(bed.sleeper))
            micro_fail("wake_2w", "a wake-up was lost");
        if (!reached(&bed.up, i)) {
            micro_fail("wake_2w", "no other worker ran the woken fibre");
            while (atomic_load_explicit(&bed.up, memory_order_acquire) != i)
                tn_yield();
        }
        micro_latency(bed.up_at - begin);
    }
    tn_join(f, NULL);
    return micro_latency_median();
}

static const struct micro_case cases[] = {
    {"null_yield", "yield of the only fibre", 1, 1, null_yield},
    {"yield_2", "yield among two fibres", 1, 2, yield_2},
    {"yield_1000", "yield among a thousand fibres", 1, 100000, yield_1000},
    {"spawn_join", "spawn a fibre, join it", 1, 1, spawn_join},
    {"spawn_join_100", "spawn a hundred fibres, join them; for each", 1, 100, spawn_join_100},
    {"ping_pong", "two fibres wake each other in turn; a round trip", 1, 1, ping_pong},
    {"mutex", "take a free mutex, give it back", 1, 1, mutex},
    {"local_mutex", "the same with the mutex of one worker's fibres", 1, 1, local_mutex},
    {"mutex_2w", "two fibres on two workers go through one mutex; for each time", 2, 2, mutex_2w},
    {"mutex_pass", "two fibres hand a mutex to each other, and yield with it", 1, 2, mutex_pass},
    {"channel", "one fibre sends to another, from hand to hand; for each item", 1, 1, channel},
    {"channel_16", "one fibre sends to another, through 16 places; for each item", 1, 1, channel_16},
    {"select_16", "the same, received by a select of two channels", 1, 1, select_16},
    {"fork_join", "binary tree of fibres; for each node", 1, 1, fork_join},
    {"wake_2w", "wake a fibre that another worker has to run", 2, 1, wake_2w},
};

/* What the runtime did in a case's repetitions, as <case>_<counter>: why a case takes what it takes. */
static struct tn_counter before[TN_COUNTERS_MAX];

static void case_start(void)
{
    tn_counters(tn_cluster_self(), before);
}

static void case_stop(const char *name)
{
    static struct tn_counter after[TN_COUNTERS_MAX];
    size_t n = tn_counters(tn_cluster_self(), after);
    for (size_t i = 0; i < n; i++)
        if (after[i].value != before[i].value) {
            char full[48];
            snprintf(full, sizeof full, "%s_%s", name, after[i].name);
            bench_count(bench, full, (double)(after[i].value - before[i].value));
        }
}

static void *fibres(void *arg)
{
    (void)arg;
    micro_watch(case_start, case_stop);
    bench_tenter_counters_start();
    micro_measure(cases, sizeof cases / sizeof *cases);
    bench_tenter_counters_stop(bench);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {MICRO_OPTIONS("16")};
    static struct bench b = {.program = "micro",
                             .about = "single operations of Tenter, and of the processor and the kernel under it",
                             .clock = MICRO_CLOCK,
                             .takes = BENCH_TAKES_SCHEDULER,
                             .own = own,
                             .n = sizeof own / sizeof *own};
    bench = &b;
    micro_start(&b, argc, argv, cases, sizeof cases / sizeof *cases, micro_neighbours, micro_neighbours_n);
    bench_work_calibrate();
    if (!bench_int(&b, "print-config"))
        micro_measure(micro_neighbours, micro_neighbours_n);
    bench_tenter_run(&b, "", fibres, NULL);
    return micro_finish();
}
