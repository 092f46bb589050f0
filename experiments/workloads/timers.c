/* SPDX-License-Identifier: MIT
 *
 * Timers by the thousand to the million: the structure that the build has, alone and through tn_wait (row H5).
 *
 * The structure is measured without a runtime, in simulated time, on one thread: as many timers as --armed says are
 * armed, restarted, cancelled and run out. Then fibres wait with deadlines in a running cluster.
 */
#include "bench_tenter.h"

#include "timers.h" /* of the core: the structure alone */

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

static struct bench *bench;

static const tn_time SECONDS = UINT64_C(60000000000); /* how far deadlines lie ahead */
enum { STEP_NS = 1000000, ABOUT = 400000 };           /* operations of each kind in a repetition, at least */

static struct tn_timers timers;
static struct tn_timer *timer;
static uint32_t *order; /* a permutation: cancellation comes in no order */
static uint64_t armed, fired;
static uint64_t random_state;

static void fire(struct tn_timer *t, void *arg)
{
    (void)t, (void)arg;
    fired++;
}

/* uniform: anywhere in the next minute; same: the same time-out for all, as a server has. */
static tn_time deadline_at(tn_time now, bool same)
{
    return now + (same ? SECONDS : 1 + bench_random(&random_state) % SECONDS);
}

static void shuffle(void)
{
    for (uint64_t i = 0; i < armed; i++)
        order[i] = (uint32_t)i;
    for (uint64_t i = armed - 1; i > 0; i--) {
        uint64_t k = bench_random(&random_state) % (i + 1);
        uint32_t kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
}

/* Arm them all, now + n ns each. */
static void arm_all(tn_time *now, bool same)
{
    bool first;
    for (uint64_t i = 0; i < armed; i++)
        if (tn_timers_arm(&timers, &timer[i], deadline_at(*now += 100, same), 0, &first) != 0)
            bench_die(bench, BENCH_INTERNAL, "no memory");
}

static void structure(int rep)
{
    static tn_time now = 1000000000;
    bool same = bench_int(bench, "deadlines") == 1, first;
    uint64_t rounds = (ABOUT + armed - 1) / armed, ops = rounds * armed, begin;
    double arm = 0, restart = 0, cancel = 0, expire = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        begin = bench_now();
        arm_all(&now, same);
        arm += (double)(bench_now() - begin);
        shuffle();
        begin = bench_now();
        for (uint64_t i = 0; i < armed; i++) {
            tn_timers_disarm(&timers, &timer[order[i]]);
            tn_timers_arm(&timers, &timer[order[i]], deadline_at(now += 100, same), 0, &first);
        }
        restart += (double)(bench_now() - begin);
        shuffle();
        begin = bench_now();
        for (uint64_t i = 0; i < armed; i++)
            tn_timers_disarm(&timers, &timer[order[i]]);
        cancel += (double)(bench_now() - begin);
        arm_all(&now, same);
        fired = 0;
        begin = bench_now();
        for (tn_time end = now + SECONDS + 2 * STEP_NS; now < end;) {
            tn_time next =
                tn_timers_earliest(&timers); /* look at times that something is due, a step apart at least */
            now = next > now + STEP_NS && next < end ? next : now + STEP_NS;
            if (next <= now)
                tn_timers_expire(&timers, now, fire, NULL);
        }
        expire += (double)(bench_now() - begin);
        if (fired != armed || tn_timers_earliest(&timers) != TN_FOREVER)
            bench_invalid(bench, "%llu timers of %llu ran out", (unsigned long long)fired, (unsigned long long)armed);
    }
    bench_sample(bench, "arm", "ns", arm / (double)ops, rep);
    bench_sample(bench, "restart", "ns", restart / (double)ops, rep);
    bench_sample(bench, "cancel", "ns", cancel / (double)ops, rep);
    bench_sample(bench, "expire", "ns", expire / (double)ops, rep);
}

/* ---- in a running cluster ---- */

enum { WAITERS = 100, EACH = 500 };
static _Atomic(uint64_t) wrong;
static _Atomic(tn_fibre *) woken_fibre; /* whom to wake next: a stale one, or half of two, is harmless (tenter.h) */
static _Atomic(uint64_t) woken_seq;

static void *times_out(void *arg)
{
    for (int i = 0; i < EACH; i++) {
        tn_wait_prepare();
        if (tn_wait(tn_now() + 50000, NULL) != ETIMEDOUT)
            atomic_fetch_add_explicit(&wrong, 1, memory_order_relaxed);
    }
    return arg;
}

static void *is_woken(void *arg)
{
    for (int i = 0; i < WAITERS * EACH; i++) {
        tn_waiter me = tn_wait_prepare();
        atomic_store_explicit(&woken_seq, me.seq, memory_order_relaxed);
        atomic_store_explicit(&woken_fibre, me.fibre, memory_order_release);
        if (tn_wait(tn_now() + SECONDS, NULL) != 0)
            atomic_fetch_add_explicit(&wrong, 1, memory_order_relaxed);
    }
    return arg;
}

/* A wait with a deadline that is woken in time, and waits that run out: what each costs all in all. */
static void waits(int rep)
{
    static tn_fibre *f[WAITERS];
    atomic_store_explicit(&wrong, 0, memory_order_relaxed);
    uint64_t begin = bench_now();
    if (tn_spawn(&f[0], NULL, is_woken, NULL) != 0)
        bench_die(bench, BENCH_INTERNAL, "no fibre");
    for (int i = 0; i < WAITERS * EACH;) {
        tn_yield();
        tn_waiter next = {.fibre = atomic_load_explicit(&woken_fibre, memory_order_acquire)};
        next.seq = atomic_load_explicit(&woken_seq, memory_order_relaxed);
        i += tn_wake(next);
    }
    tn_join(f[0], NULL);
    bench_sample(bench, "wait_woken", "ns", (double)(bench_now() - begin) / (WAITERS * EACH), rep);
    begin = bench_now();
    for (int i = 0; i < WAITERS; i++)
        if (tn_spawn(&f[i], NULL, times_out, NULL) != 0)
            bench_die(bench, BENCH_INTERNAL, "no fibre");
    for (int i = 0; i < WAITERS; i++)
        tn_join(f[i], NULL);
    bench_sample(bench, "wait_out", "ns", (double)(bench_now() - begin) / (WAITERS * EACH), rep);
    uint64_t bad = atomic_load_explicit(&wrong, memory_order_relaxed);
    if (bad != 0)
        bench_invalid(bench, "%llu waits ended wrongly", (unsigned long long)bad);
}

static void *all(void *arg)
{
    armed = (uint64_t)bench_int(bench, "armed");
    random_state = (uint64_t)bench_int(bench, "seed");
    timer = calloc(armed, sizeof *timer);
    order = calloc(armed, sizeof *order);
    if (timer == NULL || order == NULL)
        bench_die(bench, BENCH_INTERNAL, "no memory for %llu timers", (unsigned long long)armed);
    for (uint64_t i = 0; i < armed; i++)
        timer[i].seq = i; /* touched: page faults are no part of arming */
    tn_timers_init(&timers);
    int warmup = (int)bench_int(bench, "warmup");
    for (int rep = 0; rep < bench_reps(bench); rep++) {
        if (rep == warmup)
            bench_tenter_counters_start();
        structure(rep);
        waits(rep);
    }
    bench_tenter_counters_stop(bench);
    tn_timers_fini(&timers);
    free(timer);
    free(order);
    return arg;
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"armed", BENCH_INT, "100000", 1, 10000000, NULL, "timers", "in the structure at a time", NULL, 0, 0, false},
        {"deadlines", BENCH_CHOICE, "uniform", 0, 0, "uniform|same", "",
         "anywhere in the next minute, or the same time-out for all", NULL, 0, 0, false},
    };
    static struct bench b = {
        .program = "timers",
        .about = "arming, cancelling and running out of very many timers, alone and under waiting fibres",
        .clock = "starts just before the first of a batch of operations of one kind, stops after the last",
        .takes = BENCH_TAKES_SCHEDULER,
        .own = own,
        .n = sizeof own / sizeof *own};
    bench = &b;
    bench_start(&b, argc, argv);
    bench_tenter_run(&b, "", all, NULL);
    return bench_finish(&b);
}
