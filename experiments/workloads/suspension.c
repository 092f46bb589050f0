/* SPDX-License-Identifier: MIT
 *
 * What a suspension and an end cost, under the protocols that a build can have (004 §3.3.6–7, row H3).
 */
#include "bench_tenter.h"
#include "micro_common.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

static struct bench *bench;

static tn_fibre *spawn(void *(*fn)(void *), void *arg, bool detached)
{
    tn_fibre *f = NULL;
    int rc;
    while ((rc = tn_spawn(detached ? NULL : &f, NULL, fn, arg)) == EAGAIN)
        tn_yield();
    if (rc != 0)
        bench_die(bench, BENCH_INTERNAL, "tn_spawn: %s", strerror(rc));
    return f;
}

/* ---- a yield: nobody waits, nobody ends, but every switch asks ---- */

static void *yielder(void *arg)
{
    for (uint64_t i = *(const uint64_t *)arg; i > 0; i--)
        tn_yield();
    return arg;
}

static double yield_2(uint64_t ops)
{
    uint64_t each = ops / 2, begin = bench_now();
    tn_fibre *f[2];
    for (int i = 0; i < 2; i++)
        f[i] = spawn(yielder, &each, false);
    for (int i = 0; i < 2; i++)
        tn_join(f[i], NULL);
    return (double)(bench_now() - begin) / (double)ops;
}

/* ---- two fibres that wake each other in turn ---- */

struct table {
    tn_waiter player[2];
    _Atomic(bool) ready; /* the second player's waiter is there */
    uint64_t rounds, lost;
    bool by_suspend;
};

struct seat {
    struct table *table;
    int me;
};

/* The other one is woken when this one can be found: it will wake this one in turn. */
static void publish(tn_waiter w, void *arg)
{
    struct seat s = *(const struct seat *)arg; /* gone when the other runs elsewhere */
    s.table->player[s.me] = w;
    if (s.me == 1 && !atomic_load_explicit(&s.table->ready, memory_order_relaxed))
        atomic_store_explicit(&s.table->ready, true, memory_order_release); /* the first of all: nobody waits yet */
    else
        s.table->lost += !tn_wake(s.table->player[!s.me]);
}

static void turn(struct seat *s)
{
    if (s->table->by_suspend) {
        tn_suspend(publish, s, TN_FOREVER, NULL);
    } else {
        publish(tn_wait_prepare(), s);
        tn_wait(TN_FOREVER, NULL);
    }
}

static void *second_player(void *arg)
{
    struct seat s = {arg, 1};
    for (uint64_t i = 0; i < s.table->rounds; i++)
        turn(&s);
    s.table->lost += !tn_wake(s.table->player[0]);
    return NULL;
}

static double game(const char *name, uint64_t ops, bool by_suspend)
{
    struct table t = {.rounds = ops, .by_suspend = by_suspend};
    struct seat s = {&t, 0};
    tn_fibre *f = spawn(second_player, &t, false);
    while (!atomic_load_explicit(&t.ready, memory_order_acquire))
        tn_yield();
    uint64_t begin = bench_now();
    for (uint64_t i = 0; i < ops; i++)
        turn(&s);
    double ns = (double)(bench_now() - begin) / (double)(2 * ops);
    tn_join(f, NULL);
    if (t.lost != 0)
        micro_fail(name, "a wake-up was lost");
    return ns;
}

static double wait_wake(uint64_t ops)
{
    return game("wait_wake", ops, false);
}

static double suspend_wake(uint64_t ops)
{
    return game("suspend_wake", ops, true);
}

/* ---- joins and ends ---- */

static void *identity(void *arg)
{
    return arg;
}

static double join(uint64_t ops)
{
    uint64_t begin = bench_now();
    for (uint64_t i = 0; i < ops; i++)
        tn_join(spawn(identity, NULL, false), NULL);
    return (double)(bench_now() - begin) / (double)ops;
}

static _Atomic(uint64_t) ended;

static void *ends(void *arg)
{
    atomic_fetch_add_explicit(&ended, 1, memory_order_relaxed);
    return arg;
}

/* Detached, so that whoever frees it is the build's choice; in tens, since several ends follow each other then. */
static double end_detached(uint64_t ops)
{
    atomic_store_explicit(&ended, 0, memory_order_relaxed);
    uint64_t begin = bench_now();
    for (uint64_t i = 0; i < ops; i += 10) {
        for (int k = 0; k < 10; k++)
            spawn(ends, NULL, true);
        while (atomic_load_explicit(&ended, memory_order_relaxed) < i + 10)
            tn_yield();
    }
    return (double)(bench_now() - begin) / (double)ops;
}

static const struct micro_case cases[] = {
    {"yield_2", "yield among two fibres", 1, 2, yield_2},
    {"wait_wake", "prepare, publish, wait, and be woken; for each", 1, 1, wait_wake},
    {"suspend_wake", "the same by tn_suspend, which publishes when the build says", 1, 1, suspend_wake},
    {"join", "spawn a fibre, join it", 1, 1, join},
    {"end_detached", "spawn a detached fibre that ends; for each", 1, 10, end_detached},
};

static void *fibres(void *arg)
{
    bench_tenter_counters_start();
    micro_measure(cases, sizeof cases / sizeof *cases);
    bench_tenter_counters_stop(bench);
    return arg;
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"case", BENCH_LIST, "all", 0, 0, "all", "", "cases to run", NULL, 0, 0, false},
        {"ms", BENCH_REAL, "40", 0.01, 10000, NULL, "ms", "about how long a repetition of a case takes", NULL, 0, 0,
         false},
    };
    static struct bench b = {.program = "suspension",
                             .about = "what suspensions and ends of fibres cost under the build's protocol",
                             .clock =
                                 "starts just before the first of a repetition's operations, stops after the last",
                             .takes = BENCH_TAKES_SCHEDULER,
                             .own = own,
                             .n = sizeof own / sizeof *own};
    bench = &b;
    micro_start(&b, argc, argv, cases, sizeof cases / sizeof *cases, NULL, 0);
    bench_tenter_run(&b, "", fibres, NULL);
    return micro_finish();
}
