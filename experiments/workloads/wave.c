/* SPDX-License-Identifier: MIT
 *
 * A crowd of fibres, blocked in ten kinds of wait that nobody will end, is cancelled in one wave (003 §4.4.8): how long it
 * takes until all have been told, and until all have run their handlers and ended, and in how much memory.
 *
 * Check: each wait ends with ECANCELED, each handler runs once.
 */
#include "bench_tenter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenter_group.h>

static struct bench *bench;

static tn_mutex held, mutex;
static tn_sem sem;
static tn_cond cond;
static tn_rwlock written;
static tn_barrier barrier;
static tn_latch latch;
static tn_token never;
static _Atomic(uint64_t) began, handled, wrong;

static void nobody(tn_waiter waiter, void *arg)
{
    (void)waiter, (void)arg;
}

static int block(unsigned kind)
{
    int rc;
    switch (kind) {
    case 0:
        return tn_mutex_lock_until(&held, TN_FOREVER, NULL);
    case 1:
        return tn_sem_wait(&sem);
    case 2:
        tn_mutex_lock(&mutex);
        rc = tn_cond_wait(&cond, &mutex);
        tn_mutex_unlock(&mutex);
        return rc;
    case 3:
        return tn_rwlock_rdlock_until(&written, TN_FOREVER, NULL);
    case 4:
        return tn_rwlock_wrlock_until(&written, TN_FOREVER, NULL);
    case 5:
        return tn_barrier_wait(&barrier);
    case 6:
        return tn_latch_wait(&latch);
    case 7:
        return tn_sleep_until(TN_FOREVER, NULL);
    case 8:
        tn_wait_prepare();
        return tn_wait(TN_FOREVER, &never);
    default:
        return tn_suspend(nobody, NULL, TN_FOREVER, NULL);
    }
}
enum { KINDS = 10 };

static void handler(void *at)
{
    atomic_fetch_add_explicit((_Atomic(uint64_t) *)at, 1,
                              memory_order_relaxed); /* relaxed: read when all have ended */
}

static void *blocks(void *number)
{
    struct tn_cleanup c;
    tn_cleanup_push(&c, handler, &handled);
    atomic_fetch_add_explicit(&began, 1, memory_order_relaxed); /* relaxed: a number */
    int rc = block((unsigned)((uintptr_t)number % KINDS));
    if (rc != ECANCELED)
        handler(&wrong);
    tn_exit(TN_ERROR(rc));
}

static double resident(void)
{
    char line[256];
    double kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "RssAnon:", 8) == 0)
            kib = strtod(line + 8, NULL);
    if (f != NULL)
        fclose(f);
    return kib * 1024;
}

static void repetition(int rep)
{
    tn_group group;
    uint64_t n = (uint64_t)bench_int(bench, "fibres");
    atomic_store(&began, 0), atomic_store(&handled, 0);
    tn_mutex_init(&held, NULL);
    tn_mutex_init(&mutex, NULL);
    tn_sem_init(&sem, 0, 0);
    tn_cond_init(&cond);
    tn_rwlock_init(&written, TN_RWLOCK_FAIR);
    tn_barrier_init(&barrier, (uint32_t)n + 1);
    tn_latch_init(&latch, 1);
    tn_token_init(&never);
    tn_mutex_lock(&held);
    tn_rwlock_wrlock(&written);
    tn_group_open(&group, TN_FOREVER);
    struct tn_attr attr = {.group = &group, .full = TN_FULL_WAIT};
    for (uint64_t i = 0; i < n; i++) {
        int rc = tn_spawn(NULL, &attr, blocks, (void *)(uintptr_t)i);
        if (rc != 0)
            bench_die(bench, BENCH_INTERNAL, "fibre %" PRIu64 ": %s", i, strerror(rc));
    }
    while (atomic_load_explicit(&began, memory_order_relaxed) < n) /* relaxed: a number */
        tn_yield();
    tn_sleep(1000000); /* and the last ones are in their wait */
    double bytes = resident();
    uint64_t at = bench_now();
    tn_group_cancel(&group);
    uint64_t told = bench_now() - at;
    int rc = tn_group_close(&group);
    uint64_t gone = bench_now() - at;
    tn_rwlock_unlock(&written);
    tn_mutex_unlock(&held);
    uint64_t ran = atomic_load(&handled), odd = atomic_load(&wrong);
    if (rc != ECANCELED || ran != n || odd != 0)
        bench_invalid(bench, "%" PRIu64 " handlers of %" PRIu64 " fibres ran, %" PRIu64 " waits ended otherwise", ran,
                      n, odd);
    bench_sample(bench, "told", "ns", (double)told / (double)n, rep);
    bench_sample(bench, "gone", "ns", (double)gone / (double)n, rep);
    bench_sample(bench, "resident", "B", bytes / (double)n, rep);
}

static void *all(void *arg)
{
    bench_tenter_repeat(bench, repetition);
    return arg;
}

int main(int argc, char **argv)
{
    static struct bench b = {.program = "wave",
                             .about = "a crowd of fibres blocked in ten kinds of wait, cancelled in one wave",
                             .clock =
                                 "from just before the group is cancelled: told, until that returns; gone, until "
                                 "every member has ended; both a fibre",
                             .takes = BENCH_TAKES_SCHEDULER | BENCH_TAKES_FIBRES};
    bench = &b;
    bench_start(&b, argc, argv);
    bench_tenter_run(&b, "", all, NULL);
    return bench_finish(&b);
}
