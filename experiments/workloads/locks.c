/* SPDX-License-Identifier: MIT
 *
 * The lock benchmark (000 §4.5, algorithm 1): each of so many fibres computes, takes a lock at random, computes under it,
 * and so on until the time is over. With --by thread they are threads, which the same mutexes serve; with pthread's mutex
 * that is what fibres are compared with.
 */
#include "bench_cpu.h"
#include "bench_tenter.h"

#include "tenter_sync.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static const int designs[] = {TN_MUTEX_DEFAULT, TN_MUTEX_SPIN, TN_MUTEX_SPIN_BLOCK,
                              TN_MUTEX_BLOCK,   TN_MUTEX_FAIR, TN_MUTEX_BATON};
enum { PTHREAD = sizeof designs / sizeof designs[0] };

static struct lock {
    _Alignas(64) tn_mutex own; /* one of both is used */
    pthread_mutex_t other;
    uint64_t turns; /* plain, under it */
} * lock;
static struct member {
    _Alignas(64) _Atomic(uint64_t) turns; /* its own; relaxed, since it is looked at while it counts */
    uint64_t random;
    tn_fibre *fibre;
    pthread_t thread;
} * member;

static struct bench *bench;
static uint64_t members, locks, critical, other;
static int mutex;
static _Atomic(bool) over;

static void turn(struct member *m)
{
    m->random = m->random * 6364136223846793005U + 1442695040888963407U;
    struct lock *l = &lock[(m->random >> 33) % locks];
    if (other > 0)
        tn_work(other);
    if (mutex == PTHREAD)
        pthread_mutex_lock(&l->other);
    else
        tn_mutex_lock(&l->own);
    if (critical > 0)
        tn_work(critical);
    l->turns++;
    if (mutex == PTHREAD)
        pthread_mutex_unlock(&l->other);
    else
        tn_mutex_unlock(&l->own);
}

static void *work(void *arg)
{
    struct member *m = arg;
    /* relaxed: nothing is told by it but that it is over */
    for (uint64_t turns = 1; !atomic_load_explicit(&over, memory_order_relaxed); turns++) {
        turn(m);
        atomic_store_explicit(&m->turns, turns, memory_order_relaxed);
        if (turns % 8 == 0 && m->fibre != NULL)
            tn_yield(); /* there may be more fibres than workers, and nobody who makes them go */
    }
    return arg;
}

static uint64_t turns_now(void)
{
    uint64_t turns = 0;
    for (uint64_t i = 0; i < members; i++)
        turns += atomic_load_explicit(&member[i].turns, memory_order_relaxed);
    return turns;
}

static void start(bool threads)
{
    for (uint64_t i = 0; i < locks; i++)
        lock[i].turns = 0;
    atomic_store_explicit(&over, false, memory_order_relaxed); /* relaxed: before anybody is there */
    for (uint64_t i = 0; i < members; i++) {
        struct member *m = &member[i];
        m->random = (uint64_t)bench_int(bench, "seed") * 7919 + i;
        atomic_store_explicit(&m->turns, 0, memory_order_relaxed);
        if (threads ? pthread_create(&m->thread, NULL, work, m) != 0 : tn_spawn(&m->fibre, NULL, work, m) != 0)
            bench_die(bench, BENCH_INTERNAL, "no %s number %llu", threads ? "thread" : "fibre",
                      (unsigned long long)i);
    }
}

/* How many turns had whoever had fewest. */
static uint64_t stop(bool threads)
{
    uint64_t least = UINT64_MAX, under = 0;
    atomic_store_explicit(&over, true, memory_order_relaxed); /* relaxed: as above */
    for (uint64_t i = 0; i < members; i++) {
        if (threads)
            pthread_join(member[i].thread, NULL);
        else
            tn_join(member[i].fibre, NULL);
        uint64_t turns = atomic_load_explicit(&member[i].turns, memory_order_relaxed);
        least = turns < least ? turns : least;
    }
    for (uint64_t i = 0; i < locks; i++)
        under += lock[i].turns;
    if (under != turns_now())
        bench_invalid(bench, "%llu turns, but %llu under the locks: they do not exclude",
                      (unsigned long long)turns_now(), (unsigned long long)under);
    return least;
}

static void repetition(int rep, bool threads, uint64_t ns)
{
    start(threads);
    tn_sleep_until(bench_now() + ns / 10, NULL); /* all have begun, and stand where they will */
    uint64_t turns = turns_now(), cpu = bench_cpu(bench), begin = bench_now();
    tn_sleep_until(begin + ns, NULL);
    uint64_t took = bench_now() - begin;
    cpu = bench_cpu(bench) - cpu;
    turns = turns_now() - turns;
    uint64_t least = stop(threads), all = turns_now();
    if (turns == 0) {
        bench_invalid(bench, "no turn ended in time: a longer --duration");
        return;
    }
    bench_sample(bench, "throughput", "1/s", (double)turns * 1e9 / (double)took, rep);
    bench_sample(bench, "cpu", "ns", (double)cpu / (double)turns, rep);
    bench_sample(bench, "fairness", "1", (double)least * (double)members / (double)all, rep);
}

static void *all(void *arg)
{
    bool threads = bench_int(bench, "by") == 1;
    uint64_t ns = bench_given(bench, "duration") ? (uint64_t)(bench_real(bench, "duration") * 1e9) : 200000000;
    mutex = (int)bench_int(bench, "design");
    members = (uint64_t)bench_int(bench, "fibres");
    locks = (uint64_t)bench_int(bench, "locks");
    critical = (uint64_t)bench_int(bench, "critical");
    other = (uint64_t)bench_int(bench, "other");
    if (threads)
        bench_confine((unsigned)bench_int(bench, "workers"));
    lock = aligned_alloc(64, locks * sizeof *lock);
    member = aligned_alloc(64, members * sizeof *member);
    if (lock == NULL || member == NULL)
        bench_die(bench, BENCH_INTERNAL, "no memory");
    for (uint64_t i = 0; i < locks; i++) {
        tn_mutex_init(&lock[i].own, &(struct tn_mutex_attr){.design = mutex == PTHREAD ? 0 : designs[mutex]});
        pthread_mutex_init(&lock[i].other, NULL);
    }
    for (uint64_t i = 0; i < members; i++)
        member[i] = (struct member){0};
    for (int rep = 0; rep < bench_reps(bench); rep++) {
        if (rep == (int)bench_int(bench, "warmup"))
            bench_tenter_counters_start();
        repetition(rep, threads, ns);
    }
    bench_tenter_counters_stop(bench);
    free(lock);
    free(member);
    return arg;
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"locks", BENCH_INT, "1", 1, 1000000, NULL, "", "one of which is taken in each turn", NULL, 0, 0, false},
        {"critical", BENCH_INT, "1000", 0, 1e9, NULL, "ns", "of work under a lock", NULL, 0, 0, false},
        {"other", BENCH_INT, NULL, 0, 1e9, NULL, "ns", "of work before; without it, as --critical", NULL, 0, 0,
         false},
        {"design", BENCH_CHOICE, "default", 0, 0, "default|spin|spin-block|block|fair|baton|pthread", "",
         "of the mutexes (tenter_sync.h); pthread: pthread_mutex_t, of threads", NULL, 0, 0, false},
        {"by", BENCH_CHOICE, "fibre", 0, 0, "fibre|thread", "", "who takes the locks", NULL, 0, 0, false},
        BENCH_CPU_OPTION,
    };
    static struct bench b = {.program = "locks",
                             .about = "fibres compute, and compute under one of some locks, for 0.2 s or --duration",
                             .clock = BENCH_CPU_CLOCK,
                             .takes = BENCH_TAKES_SCHEDULER | BENCH_TAKES_FIBRES | BENCH_TAKES_DURATION,
                             .own = own,
                             .n = sizeof own / sizeof *own};
    bench = &b;
    bench_start(&b, argc, argv);
    if (!bench_given(&b, "other"))
        bench_set_int(&b, "other", bench_int(&b, "critical"));
    if (bench_int(&b, "design") == PTHREAD && bench_int(&b, "by") == 0)
        bench_die(&b, BENCH_USAGE, "--design pthread blocks the thread, with all its fibres: give it --by thread");
    bench_work_calibrate();
    bench_tenter_run(&b, "", all, NULL);
    return bench_finish(&b);
}
