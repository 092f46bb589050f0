/* SPDX-License-Identifier: MIT
 *
 * Groups, cancellation, clean-up handlers: each kind of wait, deadlines, nested groups, and a wave over all of them.
 */
#include "kinds.h"

#include "tenter_group.h"

#include <stdio.h>

static tn_fibre *sleeper;
static void *sleeps(void *arg)
{
    tn_latch_wait(&latch);
    return arg;
}
static int in_join(void)
{
    return tn_join(sleeper, NULL);
}

static _Atomic(int) began, handled, ended;
static int wanted;

static void handler(void *step)
{
    int *at = step;
    CHECK_EQUAL(*at, 2); /* the outer one, which is the second */
    CHECK_EQUAL(tn_cancelled(), 0);
    CHECK_EQUAL(tn_sleep(1000), 0); /* masked */
    atomic_fetch_add(&handled, 1);
}
static void inner_handler(void *step)
{
    int *at = step;
    CHECK_EQUAL(*at, 1);
    *at = 2;
    atomic_fetch_add(&handled, 1);
}

/* Waits for ever in one of the ways, with two handlers. */
static void *blocks(void *kind)
{
    struct tn_cleanup outer, inner;
    int step = 1;
    CHECK_EQUAL(tn_cleanup_push(&outer, handler, &step), 0);
    CHECK_EQUAL(tn_cleanup_push(&inner, inner_handler, &step), 0);
    atomic_fetch_add(&began, 1);
    CHECK_EQUAL(kinds[(uintptr_t)kind % KINDS](), wanted);
    CHECK_EQUAL(tn_cancelled(), wanted);
    CHECK_EQUAL(tn_sleep(1000), wanted); /* and so is every wait that follows */
    CHECK_EQUAL(tn_sem_wait_until(&sem, 1, TN_FOREVER, &never), wanted);
    atomic_fetch_add(&ended, 1);
    tn_exit(TN_ERROR(wanted == ECANCELED ? wanted : 0)); /* a failure would cancel those that are to be too late */
}

static int spawn(tn_group *g, void *(*fn)(void *), void *arg)
{
    return tn_spawn(NULL, &(struct tn_attr){.runtime = rt, .group = g}, fn, arg);
}

static long resident(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%*d %ld", &pages) != 1)
        pages = 0;
    if (f != NULL)
        fclose(f);
    return pages;
}

static void wave(int n, tn_time deadline)
{
    tn_group g;
    tn_time at = 0, told = 0;
    block_all(TN_MUTEX_DEFAULT);
    wanted = deadline == TN_FOREVER ? ECANCELED : ETIMEDOUT;
    atomic_store(&began, 0), atomic_store(&handled, 0), atomic_store(&ended, 0);
    tn_group_open(&g, deadline);
    for (uintptr_t i = 0; i < (uintptr_t)n; i++)
        CHECK_EQUAL(spawn(&g, blocks, (void *)i), 0);
    if (deadline == TN_FOREVER) {
        CHECK(EVENTUALLY(atomic_load(&began) == n));
        nap_us(1000);
        CHECK_EQUAL(atomic_load(&handled), 0);
        at = tn_now();
        tn_group_cancel(&g);
        told = tn_now();
        CHECK_EQUAL(spawn(&g, blocks, NULL), ECANCELED);
    }
    CHECK_EQUAL(tn_group_close(&g), wanted == ECANCELED ? wanted : 0);
    if (n >= 100000)
        harness_note("%d cancelled: told in %.0f ms, gone in %.0f ms", n, (double)(told - at) / 1e6,
                     (double)(tn_now() - at) / 1e6);
    CHECK_EQUAL(atomic_load(&handled), 2 * n);
    CHECK_EQUAL(atomic_load(&ended), n);
    unblock_all();
}

static void waves(void)
{
    wave(1000, TN_FOREVER);
    wave(KINDS, tn_now() + 20000000);
    long before = 0;
    for (int i = 0; stress && i < 3; i++) {
        wave(build_has("sanitize=none") ? 100000 : 4000, TN_FOREVER); /* ThreadSanitizer knows 8128 at most */
        if (i == 0)
            before = resident();
        CHECK(resident() <= before + before / 8); /* a wave leaves nothing */
    }
}

static void test_wave(void)
{
    beside(waves);
}

/* ---- what dropped fibres wait for is nobody's until it is initialised anew: then it is as good as new ---- */

static void *waits_only(void *kind)
{
    atomic_fetch_add(&began, 1);
    kinds[(uintptr_t)kind]();
    return NULL;
}

static void as_new(void)
{
    wave(2 * KINDS, TN_FOREVER);
}

static void test_dropped(void)
{
    struct tn_config c = with(2, NULL);
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    block_all(TN_MUTEX_BLOCK);
    atomic_store(&began, 0);
    for (uintptr_t i = 0; i < KINDS; i++)
        CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.runtime = rt}, waits_only, (void *)i), 0);
    CHECK(EVENTUALLY(atomic_load(&began) == KINDS));
    nap_us(1000);
    CHECK_EQUAL(tn_stop(rt), 0);
    beside(as_new);
}

/* ---- what is done once is done for all: not cut short because who does it is cancelled ---- */

static tn_once once;
static _Atomic(int) not_cut;

static void takes_its_time(void)
{
    atomic_fetch_add(&not_cut, tn_cancelled() == 0 && tn_sleep(100000) == 0);
}

static void *does_it(void *until)
{
    int told = tn_sem_wait(&sem);
    if (until != NULL)
        CHECK_EQUAL(tn_once_until(&once, takes_its_time, TN_FOREVER, NULL), 0);
    else
        CHECK_EQUAL(tn_once_do(&once, takes_its_time), 0);
    CHECK_EQUAL(tn_cancelled(), ECANCELED);
    return TN_ERROR(told);
}

static void done_once(void)
{
    for (uintptr_t until = 0; until < 2; until++) {
        tn_group g;
        once = (tn_once)TN_ONCE_INIT;
        CHECK_EQUAL(tn_sem_init(&sem, 0, 0), 0);
        atomic_store(&not_cut, 0);
        tn_group_open(&g, TN_FOREVER);
        CHECK_EQUAL(spawn(&g, does_it, (void *)until), 0);
        tn_group_cancel(&g);
        CHECK_EQUAL(tn_group_close(&g), ECANCELED);
        CHECK_EQUAL(atomic_load(&not_cut), 1);
    }
}

static void test_once(void)
{
    beside(done_once);
}

/* ---- the first failure ---- */

static void *fails(void *error)
{
    tn_yield();
    return error;
}

static void *waits(void *arg)
{
    (void)arg;
    return TN_ERROR(tn_sleep_until(TN_FOREVER, NULL));
}

static void failure(void)
{
    tn_group g;
    tn_group_open(&g, TN_FOREVER);
    CHECK_EQUAL(tn_group_close(&g), 0); /* empty */
    tn_group_open(&g, TN_FOREVER);
    int object;
    CHECK_EQUAL(spawn(&g, fails, &object), 0); /* an object is no failure */
    CHECK_EQUAL(spawn(&g, fails, NULL), 0);
    CHECK_EQUAL(tn_group_close(&g), 0);
    for (int i = 0; i < (stress ? 5000 : 100); i++) {
        tn_group_open(&g, TN_FOREVER);
        for (int j = 0; j < 5; j++)
            CHECK_EQUAL(spawn(&g, waits, NULL), 0);
        CHECK_EQUAL(spawn(&g, fails, TN_ERROR(EIO)), 0);
        CHECK_EQUAL(tn_group_close(&g), EIO);
    }
}

static void test_failure(void)
{
    beside(failure);
}

/* ---- nested ---- */

static _Atomic(int) inside;

static void *nests(void *depth)
{
    tn_group g;
    intptr_t more = (intptr_t)depth;
    if (more == 0) {
        atomic_fetch_add(&inside, 1);
        return waits(NULL);
    }
    tn_group_open(&g, TN_FOREVER);
    for (int i = 0; i < 3; i++) {
        int rc = tn_spawn(NULL, &(struct tn_attr){.group = &g}, nests, (void *)(more - 1));
        CHECK(rc == 0 || rc == ECANCELED);
    }
    return TN_ERROR(tn_group_close(&g));
}

static void *shields(void *arg)
{
    tn_group g;
    (void)arg;
    CHECK_EQUAL(tn_cancel_mask(true), false);
    atomic_store(&inside, 1);
    while (atomic_load(&inside) == 1)
        tn_yield();
    tn_group_open(&g, TN_FOREVER);
    CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.group = &g}, fails, NULL), 0);
    CHECK_EQUAL(tn_group_close(&g), 0);
    CHECK_EQUAL(tn_sleep(1000), 0);
    CHECK_EQUAL(tn_cancel_mask(false), true);
    CHECK_EQUAL(tn_sleep(1000), ECANCELED);
    tn_group_open(&g, TN_FOREVER); /* cancelled from the beginning */
    CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.group = &g}, fails, NULL), ECANCELED);
    CHECK_EQUAL(tn_group_close(&g), ECANCELED);
    return NULL;
}

static void *closes_own(void *group)
{
    CHECK_EQUAL(tn_group_close(group), EDEADLK);
    return NULL;
}

static void nested(void)
{
    tn_group g;
    for (int i = 0; i < (stress ? 300 : 10); i++) {
        atomic_store(&inside, 0);
        tn_group_open(&g, TN_FOREVER);
        CHECK_EQUAL(spawn(&g, nests, (void *)3), 0);
        if (i % 2 == 0)
            CHECK(EVENTUALLY(atomic_load(&inside) == 27));
        tn_group_cancel(&g);
        CHECK_EQUAL(tn_group_close(&g), ECANCELED);
    }
    /* A deadline goes inwards. */
    tn_group_open(&g, tn_now() + 3000000);
    CHECK_EQUAL(spawn(&g, nests, (void *)2), 0);
    CHECK_EQUAL(tn_group_close(&g), ETIMEDOUT);
    tn_group_open(&g, TN_FOREVER);
    CHECK_EQUAL(spawn(&g, closes_own, &g), 0);
    CHECK_EQUAL(tn_group_close(&g), 0);
    atomic_store(&inside, 0);
    tn_group_open(&g, TN_FOREVER);
    CHECK_EQUAL(spawn(&g, shields, NULL), 0);
    CHECK(EVENTUALLY(atomic_load(&inside) == 1));
    tn_group_cancel(&g);
    atomic_store(&inside, 2);
    CHECK_EQUAL(tn_group_close(&g), ECANCELED);
}

static void test_nested(void)
{
    beside(nested);
}

/* ---- one end each: grants, time-outs, cancellations ---- */

static _Atomic(int) granted, late_ones, cancelled;
static int each;

static void *takes(void *number)
{
    uint64_t random = harness_seed() + (uintptr_t)number;
    for (int i = 0; i < each; i++) {
        int rc = tn_sem_wait_until(&sem, 1, tn_now() + harness_random(&random) % 40000, NULL);
        CHECK(rc == 0 || rc == ETIMEDOUT || rc == ECANCELED);
        atomic_fetch_add(rc == 0 ? &granted : rc == ETIMEDOUT ? &late_ones : &cancelled, 1);
    }
    return NULL;
}

static void sums(void)
{
    int posted = 0;
    each = stress ? 100 : 10;
    atomic_store(&granted, 0), atomic_store(&late_ones, 0), atomic_store(&cancelled, 0);
    CHECK_EQUAL(tn_sem_init(&sem, 0, 0), 0);
    enum { MEMBERS = 20 };
    int rounds = stress ? 300 : 10;
    for (int i = 0; i < rounds; i++) {
        tn_group g;
        uint64_t random = harness_seed() + (unsigned)i;
        tn_group_open(&g, TN_FOREVER);
        for (uintptr_t j = 0; j < MEMBERS; j++)
            CHECK_EQUAL(spawn(&g, takes, (void *)(j + 1)), 0);
        for (int j = 0; j < MEMBERS * each / 3; j++, posted++) {
            CHECK_EQUAL(tn_sem_post(&sem), 0);
            if (j % 4 == 0)
                sched_yield();
        }
        nap_us((unsigned)(harness_random(&random) % 300));
        tn_group_cancel(&g);
        CHECK_EQUAL(tn_group_close(&g), ECANCELED);
    }
    CHECK_EQUAL(atomic_load(&granted) + atomic_load(&late_ones) + atomic_load(&cancelled), rounds * MEMBERS * each);
    CHECK_EQUAL(atomic_load(&granted) + (int)tn_sem_value(&sem), posted); /* no unit went to one that gave up */
}

static void test_sums(void)
{
    beside(sums);
}

/* ---- joins, clean-up, misuse ---- */

static void *joins(void *arg)
{
    (void)arg;
    CHECK_EQUAL(in_join(), ECANCELED);
    return NULL;
}

static int order;

static void second(void *arg)
{
    CHECK_EQUAL(order++, 1);
    (void)arg;
}
static void first(void *arg)
{
    CHECK_EQUAL(order++, 0);
    tn_exit(arg); /* the rest is done all the same */
}

static void *cleans(void *arg)
{
    struct tn_cleanup c[3];
    CHECK_EQUAL(tn_cleanup_pop(true), EINVAL);
    CHECK_EQUAL(tn_cleanup_push(&c[0], second, NULL), 0);
    CHECK_EQUAL(tn_cleanup_push(&c[1], second, NULL), 0);
    CHECK_EQUAL(tn_cleanup_pop(false), 0);
    CHECK_EQUAL(tn_cleanup_push(&c[2], first, arg), 0);
    tn_exit(NULL);
}

static void clean(void)
{
    tn_group g;
    tn_fibre *f;
    void *value = NULL;
    order = 0;
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, cleans, &g), 0);
    CHECK_EQUAL(tn_join(f, &value), 0);
    CHECK(value == &g && order == 2);
    CHECK_EQUAL(tn_cleanup_pop(true), EPERM);
    CHECK_EQUAL(tn_cancelled(), 0);

    tn_latch_init(&latch, 1);
    CHECK_EQUAL(tn_spawn(&sleeper, &(struct tn_attr){.runtime = rt}, sleeps, &g), 0);
    tn_group_open(&g, TN_FOREVER);
    CHECK_EQUAL(spawn(&g, joins, NULL), 0);
    nap_us(1000);
    tn_group_cancel(&g);
    CHECK_EQUAL(tn_group_close(&g), ECANCELED);
    CHECK_EQUAL(tn_latch_down(&latch, 1), 0);
    CHECK_EQUAL(tn_join(sleeper, &value), 0); /* untouched */
    CHECK(value == &g);
}

static void test_clean(void)
{
    beside(clean);
}

static void *leaves_pushed(void *arg)
{
    static struct tn_cleanup c;
    tn_cleanup_push(&c, second, arg);
    return NULL;
}
static void *leaves_open(void *arg)
{
    static tn_group g;
    tn_group_open(&g, TN_FOREVER);
    return arg;
}
static int misuses(void *fn)
{
    tn_group g;
    struct tn_config c = with(1, NULL);
    if (tn_start(&rt, &c) != 0)
        return 1;
    tn_group_open(&g, TN_FOREVER);
    spawn(&g, *(void *(**)(void *))fn, NULL);
    return tn_group_close(&g);
}
static void test_misuse(void)
{
    char err[512];
    void *(*fn)(void *) = leaves_pushed;
    CHECK(killed(harness_child(misuses, &fn, err, sizeof err), 6) && strstr(err, "clean-up handler pushed") != NULL);
    fn = leaves_open;
    CHECK(killed(harness_child(misuses, &fn, err, sizeof err), 6) && strstr(err, "not closed a group") != NULL);
}

static const struct test tests[] = {
    {"a wave over ten kinds of wait", test_wave},
    {"what dropped fibres wait for", test_dropped},
    {"what is done once is not cut short", test_once},
    {"the first failure cancels the rest", test_failure},
    {"groups nest", test_nested},
    {"grants + time-outs + cancellations = waits", test_sums},
    {"clean-up handlers, joins", test_clean},
    {"misuse is told", test_misuse},
};

SYNC_MAIN("group", tests)
