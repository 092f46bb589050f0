/* SPDX-License-Identifier: MIT
 *
 * A thousand rounds of a runtime's life leave no thread, no descriptor, no byte. Linked with --wrap for the calls by which
 * memory and address space come and go, so that they are counted, to the byte. Nor do a million waits that time out, nor a
 * crowd that is cancelled in one wave, which takes no memory either, and steps in proportion to its number.
 */
#include "kinds.h"

#include "tenter_channel.h"
#include "tenter_group.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static _Atomic(long) blocks, bytes, mapped, calls;

void *__real_aligned_alloc(size_t, size_t);
void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void __real_free(void *);
void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__real_mmap64(void *, size_t, int, int, int, off_t);
int __real_munmap(void *, size_t);
void *__wrap_aligned_alloc(size_t, size_t);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
void __wrap_free(void *);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap64(void *, size_t, int, int, int, off_t); /* its name with 64-bit offsets */
int __wrap_munmap(void *, size_t);

static void *count(void *p, long sign)
{
    if (p != NULL) {
        atomic_fetch_add(&blocks, sign);
        atomic_fetch_add(&bytes, sign * (long)malloc_usable_size(p));
        atomic_fetch_add(&calls, 1);
    }
    return p;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return count(__real_aligned_alloc(alignment, size), 1);
}
void *__wrap_malloc(size_t size)
{
    return count(__real_malloc(size), 1);
}
void *__wrap_calloc(size_t n, size_t size)
{
    return count(__real_calloc(n, size), 1);
}
void *__wrap_realloc(void *p, size_t size)
{
    count(p, -1);
    return count(__real_realloc(p, size), 1);
}
void __wrap_free(void *p)
{
    __real_free((count(p, -1)));
}
static void *count_map(void *p, size_t size)
{
    if (p != MAP_FAILED) {
        atomic_fetch_add(&mapped, (long)size);
        atomic_fetch_add(&calls, 1);
    }
    return p;
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return count_map(__real_mmap(at, size, protection, flags, fd, offset), size);
}
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return count_map(__real_mmap64(at, size, protection, flags, fd, offset), size);
}
int __wrap_munmap(void *at, size_t size)
{
    int rc = __real_munmap(at, size);
    if (rc == 0)
        atomic_fetch_sub(&mapped, (long)size);
    return rc;
}

/* ---- a round that uses everything that takes memory ---- */

static void nothing_to_do(void *value)
{
    (void)value;
}
static tn_key key[8] = {{nothing_to_do}};

static void *echo(void *arg)
{
    return arg;
}

static void *uses_things(void *arg)
{
    for (int i = 0; i < 8; i++)
        tn_local_set(&key[i], arg);
    tn_blocking(echo, arg, NULL);
    tn_sleep(1000);
    return arg;
}

static void *never_ends(void *arg)
{
    uses_things(arg);
    tn_sleep(UINT64_C(3600000000000));
    return arg;
}

static void one_round(int i)
{
    struct tn_config c = with(1 + i % 3, NULL);
    tn_cluster *second;
    tn_fibre *f[4];
    c.on_demand = i % 2;
    c.poller = i % 3 == 0 ? TEST_IN_POLLER : NULL;
    c.monitor_us = i % 4 == 0 ? 200 : 0;
    c.pool_ms = i % 5 == 0 ? 0 : 100;
    c.slots = 4;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    if (i % 7 == 0)
        CHECK_EQUAL(tn_cluster_create(rt, &c, &second), 0);
    for (int k = 0; k < 4; k++)
        CHECK_EQUAL(tn_spawn(&f[k], &(struct tn_attr){.runtime = rt, .stack = k == 1 ? 200000 : 0}, uses_things, rt),
                    0);
    CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.runtime = rt}, never_ends, rt), 0);
    if (i % 6 == 0)
        tn_workers_add(tn_cluster_first(rt), 1);
    for (int k = 0; k < 4; k++)
        CHECK_EQUAL(tn_join(f[k], NULL), 0);
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void test_rounds(void)
{
    int rounds = build_has("sanitize=none") ? 1000 : 150; /* a sanitizer's threads cost milliseconds */
    one_round(0); /* what the first one brings along: threads of a sanitizer, the calibration */
    unsigned threads = harness_count("task"), descriptors = harness_count("fd");
    long b = atomic_load(&blocks), n = atomic_load(&bytes), m = atomic_load(&mapped), before = atomic_load(&calls);
    unsigned bad = 0;
    for (int i = 0; i < rounds && bad < 5; i++) {
        one_round(i);
        bad += !CHECK_EQUAL(atomic_load(&blocks), b) || !CHECK_EQUAL(atomic_load(&bytes), n) ||
               !CHECK_EQUAL(atomic_load(&mapped), m);
    }
    CHECK(atomic_load(&calls) - before > 5L * rounds); /* it does count */
    CHECK_EQUAL(harness_count("fd"), descriptors);
    CHECK(EVENTUALLY(harness_count("task") == threads));
}

/* ---- a million waits that time out: of each kind as many ---- */

/* Each of two workers keeps up to 128 ended fibres for itself (004 §3.3.9): as many, and more, are made beforehand. */
enum { WAITERS = 200, SPARE = 140, IN_ALL = 1000000 };
static tn_sem none, release;
static tn_cond unsignalled;
static tn_mutex taken, lock;
static tn_promise kept, unkept;
static tn_channel from_nobody, to_nobody;
static tn_once under_way;
static tn_fibre *does_it;
static tn_token unfired;
static unsigned turns, kind;
static tn_time patience = 500000000; /* of those that are to be there all at once */
static _Atomic(unsigned) inside, most_inside;
static _Atomic(long) timed_out;

static int late_sem(tn_time deadline)
{
    return tn_sem_wait_until(&none, 1, deadline, NULL);
}
static int late_cond(tn_time deadline)
{
    tn_mutex_lock(&lock);
    int rc = tn_cond_wait_until(&unsignalled, &lock, deadline, NULL);
    tn_mutex_unlock(&lock);
    return rc;
}
static int late_mutex(tn_time deadline)
{
    return tn_mutex_lock_until(&taken, deadline, NULL);
}
static int late_latch(tn_time deadline)
{
    return tn_latch_wait_until(&latch, deadline, NULL);
}
static int late_read(tn_time deadline)
{
    return tn_rwlock_rdlock_until(&written, deadline, NULL);
}
static int late_write(tn_time deadline)
{
    return tn_rwlock_wrlock_until(&written, deadline, NULL);
}
static int late_barrier(tn_time deadline)
{
    return tn_barrier_wait_until(&barrier, deadline, NULL);
}
static int late_once(tn_time deadline)
{
    return tn_once_until(&under_way, NULL, deadline, NULL);
}
static int late_promise(tn_time deadline)
{
    return tn_promise_get_until(&unkept, NULL, deadline, NULL);
}
static int late_promises(tn_time deadline)
{
    return tn_promise_all((tn_promise *const[]){&kept, &unkept}, 2, deadline, NULL);
}
static int late_receive(tn_time deadline)
{
    char item;
    return tn_channel_receive_until(&from_nobody, &item, deadline, NULL);
}
static int late_send(tn_time deadline)
{
    return tn_channel_send_until(&to_nobody, "x", deadline, &unfired);
}
static int late_select(tn_time deadline)
{
    char item;
    unsigned which;
    struct tn_arm arms[] = {TN_RECEIVE(&from_nobody, &item), TN_SEND(&to_nobody, "x"), TN_KEPT(&unkept)};
    return tn_select(arms, 3, &which, deadline, NULL);
}
static void *waits_for_it(void *its)
{
    tn_sem_wait(its);
    return its;
}
static int late_join(tn_time deadline)
{
    tn_fibre *f;
    tn_sem its = TN_SEM_INIT(0, 0);
    if (tn_spawn(&f, NULL, waits_for_it, &its) != 0)
        return -1;
    int rc = tn_join_until(f, NULL, deadline, NULL);
    tn_sem_post(&its);
    return tn_join(f, NULL) == 0 ? rc : -1;
}
static int late_sleep(tn_time deadline)
{
    return tn_sleep_until(deadline, NULL) == 0 ? ETIMEDOUT : -1;
}
static int late_sleep_token(tn_time deadline)
{
    return tn_sleep_until(deadline, &unfired) == 0 ? ETIMEDOUT : -1;
}
static int late_wait(tn_time deadline)
{
    tn_wait_prepare();
    return tn_wait(deadline, &unfired);
}
static int late_suspend(tn_time deadline)
{
    return tn_suspend(nobody, NULL, deadline, NULL);
}
static void *waits_for_end(void *arg)
{
    int rc = tn_sem_wait(&none);
    tn_exit(rc != 0 ? TN_ERROR(rc) : arg);
}
static int late_member(tn_time deadline) /* and what ends the wait is its group's deadline */
{
    tn_group g;
    tn_group_open(&g, deadline);
    tn_spawn(NULL, &(struct tn_attr){.group = &g}, waits_for_end, NULL);
    return tn_group_close(&g);
}
static int late_room(tn_time deadline) /* a spawn that waits for its group's room */
{
    tn_group g;
    tn_group_open(&g, TN_FOREVER);
    tn_group_bound(&g, &none);
    struct tn_attr attr = {.group = &g, .full = TN_FULL_WAIT, .deadline = deadline};
    int rc = tn_spawn(NULL, &attr, waits_for_end, NULL);
    return tn_group_close(&g) == 0 ? rc : -1;
}

static const struct {
    const char *name;
    int (*wait)(tn_time deadline);
} late_in[] = {
    {"sem", late_sem},         {"cond", late_cond},       {"mutex", late_mutex},     {"latch", late_latch},
    {"read", late_read},       {"write", late_write},     {"barrier", late_barrier}, {"once", late_once},
    {"promise", late_promise}, {"all", late_promises},    {"receive", late_receive}, {"send", late_send},
    {"select", late_select},   {"join", late_join},       {"sleep", late_sleep},     {"token", late_sleep_token},
    {"wait", late_wait},       {"suspend", late_suspend}, {"member", late_member},   {"room", late_room}};
enum { LATE = sizeof late_in / sizeof late_in[0], MEMBER = LATE - 2 };
static void *times_out(void *arg)
{
    uint64_t random = (uintptr_t)arg;
    for (unsigned i = 0; i < turns; i++) {
        tn_time deadline = tn_now() + (turns == 1 ? patience : 1 + harness_random(&random) % 30000);
        unsigned now = turns == 1 ? atomic_fetch_add(&inside, 1) + 1 : 0;
        if (now > atomic_load(&most_inside))
            atomic_store(&most_inside, now); /* a smaller one that is stored last only has all come again */
        atomic_fetch_add(&timed_out, late_in[kind].wait(deadline) == ETIMEDOUT);
        atomic_fetch_sub(&inside, now != 0);
    }
    return arg;
}

static void each_times_out(unsigned waiters, unsigned n)
{
    tn_fibre *f[WAITERS + SPARE];
    turns = n;
    for (uintptr_t i = 0; i < waiters; i++)
        CHECK_EQUAL(tn_spawn(&f[i], &(struct tn_attr){.runtime = rt}, times_out, (void *)i), 0);
    for (unsigned i = 0; i < waiters; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
}

static void waits_for_release(void)
{
    tn_sem_wait(&release);
}

static void *does_once(void *arg)
{
    tn_once_do(&under_way, waits_for_release);
    return arg;
}

static void block_more(void)
{
    block_all(TN_MUTEX_DEFAULT);
    CHECK_EQUAL(tn_sem_init(&none, 0, 0), 0);
    CHECK_EQUAL(tn_sem_init(&release, 0, 0), 0);
    tn_promise_init(&unkept);
    tn_promise_init(&kept);
    CHECK_EQUAL(tn_promise_set(&kept, NULL), 0);
    CHECK_EQUAL(tn_channel_init(&from_nobody, NULL, 1, 0), 0);
    CHECK_EQUAL(tn_channel_init(&to_nobody, NULL, 1, 0), 0);
    tn_token_init(&unfired);
    CHECK_EQUAL(tn_mutex_lock(&taken), 0);
    CHECK_EQUAL(tn_spawn(&does_it, &(struct tn_attr){.runtime = rt}, does_once, NULL), 0);
    CHECK(EVENTUALLY(under_way.waits.state != 0));
}

static void unblock_more(void)
{
    unblock_all();
    CHECK_EQUAL(tn_sem_post(&release), 0);
    CHECK_EQUAL(tn_join(does_it, NULL), 0);
    CHECK_EQUAL(tn_mutex_unlock(&taken), 0);
    CHECK_EQUAL(tn_sem_destroy(&none), 0);
    CHECK_EQUAL(tn_promise_destroy(&unkept), 0);
    CHECK_EQUAL(tn_channel_destroy(&from_nobody), 0);
    CHECK_EQUAL(tn_channel_destroy(&to_nobody), 0);
}

static void test_timed_waits(void)
{
    struct tn_config c = with(2, NULL);
    long all = build_has("sanitize=none") ? IN_ALL : IN_ALL / 50, each = all / LATE / WAITERS * WAITERS;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    block_more();
    kind = MEMBER;
    do /* all at once: as many timers, and stacks, as there will ever be */
        each_times_out(WAITERS + SPARE, 1);
    while (atomic_load(&most_inside) < WAITERS + SPARE && (patience *= 2) < UINT64_C(100000000000));
    for (kind = 0; kind < LATE; kind++) {
        long b = atomic_load(&blocks), n = atomic_load(&bytes), m = atomic_load(&mapped);
        atomic_store(&timed_out, 0);
        each_times_out(WAITERS, (unsigned)(each / WAITERS));
        bool good = CHECK_EQUAL(atomic_load(&timed_out), each) & CHECK_EQUAL(atomic_load(&blocks), b) &
                    CHECK_EQUAL(atomic_load(&bytes), n) & CHECK_EQUAL(atomic_load(&mapped), m);
        if (!good)
            harness_note("of kind %s", late_in[kind].name);
    }
    unblock_more();
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- a crowd in ten kinds of wait, cancelled in one wave ---- */

static _Atomic(unsigned) begun, ran_handler, told_otherwise;

static void handles(void *arg)
{
    (void)arg;
    atomic_fetch_add(&ran_handler, 1);
}

static void *is_cancelled(void *number)
{
    struct tn_cleanup c;
    tn_cleanup_push(&c, handles, NULL);
    atomic_fetch_add(&begun, 1);
    int rc = kinds[(uintptr_t)number % KINDS]();
    if (rc != ECANCELED)
        atomic_fetch_add(&told_otherwise, 1);
    tn_exit(TN_ERROR(rc));
}

static uint64_t steps(void)
{
    tn_cluster *cl = tn_cluster_first(rt);
    return counter(cl, "switch") + counter(cl, "wait") + counter(cl, "wake") + counter(cl, "yield") +
           counter(cl, "unpark");
}

static size_t pages_before;

static size_t pages(void)
{
    size_t n = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%*d %zu", &n) != 1)
        n = 0;
    if (f != NULL)
        fclose(f);
    return n;
}

/* Steps of the runtime from just before it is cancelled until all have gone. */
static uint64_t wave(unsigned n, size_t *resident)
{
    tn_group g;
    uint64_t waits = counting() ? counter(tn_cluster_first(rt), "wait") : 0;
    block_all(TN_MUTEX_BLOCK);
    atomic_store(&begun, 0), atomic_store(&ran_handler, 0), atomic_store(&told_otherwise, 0);
    tn_group_open(&g, TN_FOREVER);
    for (uintptr_t i = 0; i < n; i++)
        CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.runtime = rt, .group = &g}, is_cancelled, (void *)i), 0);
    CHECK(EVENTUALLY(atomic_load(&begun) == n &&
                     (!counting() || counter(tn_cluster_first(rt), "wait") - waits >= n))); /* each is in its wait */
    nap_us(20000); /* and the workers asleep, as a rule */
    *resident = (pages() - pages_before) * (size_t)sysconf(_SC_PAGESIZE) / n;
    uint64_t before = counting() ? steps() : 0;
    long memory = atomic_load(&calls);
    tn_group_cancel(&g);
    CHECK_EQUAL(tn_group_close(&g), ECANCELED);
    CHECK_EQUAL(atomic_load(&calls), memory); /* nothing was taken, and nothing given back */
    CHECK_EQUAL(atomic_load(&ran_handler), n);
    CHECK_EQUAL(atomic_load(&told_otherwise), 0);
    unblock_all();
    return (counting() ? steps() : 0) - before;
}

static void test_wave(void)
{
    unsigned n = build_has("sanitize=none") && build_has("stacks=pooled") ? 100000 : 2000;
    for (int workers = 1; workers <= 2; workers++) {
        struct tn_config c = with(workers, NULL);
        size_t few, many;
        CHECK_EQUAL(tn_start(&rt, &c), 0);
        pages_before = pages();
        wave(n + 1000, &few); /* what there is at most is there, also of stacks that workers keep */
        long b = atomic_load(&blocks), bytes_before = atomic_load(&bytes), m = atomic_load(&mapped);
        uint64_t of_few = wave(n / 10, &few), of_many = wave(n, &many);
        CHECK_EQUAL(atomic_load(&blocks), b);
        CHECK_EQUAL(atomic_load(&bytes), bytes_before);
        CHECK_EQUAL(atomic_load(&mapped), m);
        harness_note("%d workers, %u fibres: %.2f steps each, %.2f of a tenth; %zu bytes resident each", workers, n,
                     (double)of_many / n, (double)of_few * 10 / n, many);
        CHECK(of_many <= 10 * (uint64_t)n); /* as a rule one switch; a worker may go to sleep between any two */
        if (n == 100000 && build_has("buildtype=release"))
            CHECK(many <= 2 * 4096 + 256);
        CHECK_EQUAL(tn_stop(rt), 0);
    }
}

int main(void)
{
    static const struct test tests[] = {
        {"a thousand rounds leave no thread, descriptor or byte", test_rounds},
        {"a million waits that time out", test_timed_waits},
        {"a crowd cancelled in one wave", test_wave},
    };
    return HARNESS_RUN("leaks", tests);
}
