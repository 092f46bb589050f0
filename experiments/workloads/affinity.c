/* SPDX-License-Identifier: MIT
 *
 * Where fibres that block run again (000 §3.2.2): pairs take turns, each turn goes over the fibre's own memory and wakes
 * the other one. One fibre spawns the first of all pairs, as a listener does, and the first of a pair the second; so the
 * others get their work by stealing it, and what has been stolen goes home again when it is woken, or stays.
 */
#include "bench_tenter.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct member {
    tn_fibre *fibre;
    tn_waiter waiter;
    struct member *other; /* of its pair */
    uint64_t *own;        /* memory that it goes over */
    uint64_t *turns_on;   /* by worker */
    int home;             /* the worker that it was spawned on */
    uint64_t at_home, moves;
};

static struct bench *bench;
static uint64_t pairs, turns, words, workers;
/* There are as many as one asks for, whatever module refuses. */
static const struct tn_attr anyhow = {.full = TN_FULL_OVERFLOW};
static struct member *members;

static void turn(struct member *m, int *last)
{
    int here = tn_worker_self();
    m->turns_on[(uint64_t)here % workers]++; /* there are no more, unless the monitor adds some */
    m->at_home += here == m->home;
    m->moves += *last >= 0 && here != *last;
    *last = here;
    for (uint64_t i = 0; i < words; i++)
        m->own[i]++;
}

static void *second(void *arg)
{
    struct member *m = arg;
    int last = -1;
    for (uint64_t i = 0; i < turns; i++) {
        m->waiter = tn_wait_prepare();
        turn(m, &last);
        tn_wake(m->other->waiter);
        if (i + 1 < turns)
            tn_wait(TN_FOREVER, NULL);
    }
    return arg;
}

static void *first(void *arg)
{
    struct member *m = arg;
    int last = -1;
    for (uint64_t i = 0; i < turns; i++) {
        m->waiter = tn_wait_prepare();
        turn(m, &last);
        if (i == 0) {
            m->other->home = last;
            if (tn_spawn(&m->other->fibre, &anyhow, second, m->other) != 0)
                bench_die(bench, BENCH_INTERNAL, "no fibre");
        } else {
            tn_wake(m->other->waiter); /* it prepared before it woke this one */
        }
        tn_wait(TN_FOREVER, NULL);
    }
    tn_join(m->other->fibre, NULL);
    return arg;
}

static void repetition(int rep)
{
    uint64_t n = 2 * pairs, wrong = 0, at_home = 0, moves = 0, most = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct member *m = &members[i];
        memset(m->own, 0, words * sizeof *m->own);
        memset(m->turns_on, 0, workers * sizeof *m->turns_on);
        m->at_home = m->moves = 0;
    }
    uint64_t begin = bench_now();
    for (uint64_t i = 0; i < n; i += 2) {
        members[i].home = tn_worker_self();
        if (tn_spawn(&members[i].fibre, &anyhow, first, &members[i]) != 0)
            bench_die(bench, BENCH_INTERNAL, "no fibre");
    }
    for (uint64_t i = 0; i < n; i += 2)
        tn_join(members[i].fibre, NULL);
    uint64_t ns = bench_now() - begin, all = n * turns;
    for (uint64_t w = 0; w < workers; w++) {
        uint64_t here = 0;
        for (uint64_t i = 0; i < n; i++)
            here += members[i].turns_on[w];
        most = here > most ? here : most;
    }
    for (uint64_t i = 0; i < n; i++) {
        at_home += members[i].at_home;
        moves += members[i].moves;
        for (uint64_t k = 0; k < words; k++)
            wrong += members[i].own[k] != turns;
    }
    if (wrong != 0)
        bench_invalid(bench, "%llu words of %llu were not gone over in each turn", (unsigned long long)wrong,
                      (unsigned long long)(n * words));
    bench_sample(bench, "throughput", "1/s", (double)all * 1e9 / (double)ns, rep);
    bench_sample(bench, "at_home", "1", (double)at_home / (double)all, rep);
    bench_sample(bench, "moves", "1", (double)moves / (double)all, rep);
    bench_sample(bench, "imbalance", "1", (double)most * (double)workers / (double)all, rep);
}

static void *all(void *arg)
{
    workers = (uint64_t)bench_int(bench, "workers");
    pairs = (uint64_t)bench_int(bench, "pairs");
    turns = (uint64_t)bench_int(bench, "turns");
    words = (uint64_t)bench_int(bench, "bytes") / sizeof(uint64_t);
    members = calloc(2 * pairs, sizeof *members);
    for (uint64_t i = 0; members != NULL && i < 2 * pairs; i++) {
        members[i].other = &members[i ^ 1];
        members[i].own = calloc(words + 1, sizeof(uint64_t));
        members[i].turns_on = calloc(workers, sizeof(uint64_t));
        if (members[i].own == NULL || members[i].turns_on == NULL)
            bench_die(bench, BENCH_INTERNAL, "no memory");
    }
    if (members == NULL)
        bench_die(bench, BENCH_INTERNAL, "no memory");
    int warmup = (int)bench_int(bench, "warmup");
    for (int rep = 0; rep < bench_reps(bench); rep++) {
        if (rep == warmup)
            bench_tenter_counters_start();
        repetition(rep);
    }
    bench_tenter_counters_stop(bench);
    for (uint64_t i = 0; i < 2 * pairs; i++) {
        free(members[i].own);
        free(members[i].turns_on);
    }
    free(members);
    return arg;
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"pairs", BENCH_INT, "32", 1, 100000, NULL, "", "of fibres that take turns", NULL, 0, 0, false},
        {"turns", BENCH_INT, "500", 1, 10000000, NULL, "", "of each fibre in a repetition", NULL, 0, 0, false},
        {"bytes", BENCH_INT, "4096", 0, 1 << 26, NULL, "bytes", "of its own, which a fibre goes over in each turn",
         NULL, 0, 0, false},
    };
    static struct bench b = {.program = "affinity",
                             .about = "pairs of fibres wake each other, and go over memory of their own in each turn",
                             .clock = "starts before the first pair is spawned, stops when the last has been joined",
                             .takes = BENCH_TAKES_SCHEDULER,
                             .own = own,
                             .n = sizeof own / sizeof *own};
    bench = &b;
    bench_start(&b, argc, argv);
    bench_tenter_run(&b, "", all, NULL);
    return bench_finish(&b);
}
