/* SPDX-License-Identifier: MIT
 *
 * A fibre's life: spawn and its attributes, join, detach, exit, yield, sleep.
 */
#include "harness.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static tn_runtime *rt;

static void start(int64_t workers)
{
    struct tn_config c = with(workers, NULL);
    CHECK_EQUAL(tn_start(&rt, &c), 0);
}

static void stop(void)
{
    CHECK_EQUAL(tn_stop(rt), 0);
    rt = NULL;
}

/* Run fn as a fibre and wait for it, from this plain thread. */
static void *in_fibre(void *(*fn)(void *), void *arg)
{
    tn_fibre *f;
    void *value = NULL;
    if (CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, fn, arg), 0))
        CHECK_EQUAL(tn_join(f, &value), 0);
    return value;
}

static void *echo(void *arg)
{
    return arg;
}

/* ---- spawn ---- */

static void *own_name(void *arg)
{
    CHECK(strcmp(tn_fibre_name(tn_fibre_self()), arg) == 0);
    return tn_fibre_self();
}

static void *names(void *arg)
{
    static const char *const given[] = {"x", "fifteen letters", "sixteen letters!", "",
                                        "a much longer name than fits"};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        char wanted[16];
        tn_fibre *f;
        void *value;
        snprintf(wanted, sizeof wanted, "%.15s", given[i]);
        CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.name = given[i]}, own_name, wanted), 0);
        CHECK(strcmp(tn_fibre_name(f), wanted) == 0);
        CHECK_EQUAL(tn_join(f, &value), 0);
        CHECK(value == f);
    }
    tn_fibre *f;
    CHECK_EQUAL(tn_spawn(&f, NULL, own_name, ""), 0); /* and a stack that was used before brings no name */
    CHECK_EQUAL(tn_join(f, NULL), 0);
    return arg;
}

static void test_names(void)
{
    start(1);
    CHECK(tn_fibre_self() == NULL && tn_cluster_self() == NULL);
    in_fibre(names, NULL);
    stop();
}

static void *use_stack(void *arg)
{
    volatile char room[4096];
    for (size_t i = 0; i < sizeof room; i += 512)
        room[i] = (char)i;
    uintptr_t n = (uintptr_t)arg;
    if (n > sizeof room + 2048)
        return (char *)use_stack((void *)(n - sizeof room - 512)) + room[0];
    return NULL;
}

static void *sizes(void *arg)
{
    static const size_t good[] = {65536, 131072, 1 << 20, 8 << 20, 65537, 1 << 26};
    static const size_t bad[] = {1, 100, 4095, SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX / 2 + 1};
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
            tn_fibre *f;
            size_t use = good[i] > 1 << 20 ? 1 << 20 : good[i];
            CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.stack = good[i]}, use_stack, (void *)(use / 4)), 0);
            CHECK_EQUAL(tn_join(f, NULL), 0);
        }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tn_fibre *f;
        int rc = tn_spawn(&f, &(struct tn_attr){.stack = bad[i]}, echo, NULL);
        CHECK_EQUAL(rc, i < 3 ? EINVAL : rc == EINVAL ? EINVAL : ENOMEM);
        if (rc == 0)
            tn_join(f, NULL);
    }
    return arg;
}

static void test_sizes(void)
{
    start(1);
    in_fibre(sizes, NULL);
    stop();
}

static void test_plain_threads(void)
{
    tn_fibre *f;
    void *value = NULL;
    CHECK_EQUAL(tn_spawn(&f, NULL, echo, NULL), EPERM);
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.name = "x"}, echo, NULL), EPERM);
    CHECK_EQUAL(tn_sleep(1), EPERM);
    CHECK_EQUAL(tn_sleep_until(0, NULL), EPERM);
    tn_yield();
    tn_yield_hard();
    start(2);
    for (uintptr_t i = 0; i < 200; i++) {
        struct tn_attr by_cluster = {.cluster = tn_cluster_first(rt)}, by_runtime = {.runtime = rt};
        CHECK_EQUAL(tn_spawn(&f, i % 2 ? &by_cluster : &by_runtime, echo, (void *)i), 0);
        if (i % 3 == 0)
            nap_us(50);
        CHECK_EQUAL(tn_join(f, &value), 0);
        CHECK_EQUAL((uintptr_t)value, i);
    }
    tn_waiter w = tn_wait_prepare();
    CHECK(w.fibre == NULL);
    CHECK(!tn_wake(w));
    CHECK_EQUAL(tn_wait(0, NULL), EPERM);
    stop();
}

static void *exit_with(void *arg)
{
    tn_exit(arg);
}

static int exit_outside(void *arg)
{
    return exit_with(arg) != NULL;
}

static void test_aborts(void)
{
    char err[512];
    int status = harness_child(exit_outside, NULL, err, sizeof err);
    CHECK(killed(status, 6));
    CHECK(strstr(err, "tn_exit") != NULL);
}

/* ---- no memory ---- */

static void *until_refused(void *arg)
{
    tn_fibre *f;
    unsigned n = 0;
    int rc;
    while ((rc = tn_spawn(&f, &(struct tn_attr){.stack = 8 << 20}, echo, NULL)) == 0 && n < 4000)
        n++; /* not joined: the stacks stay */
    if (rc != ENOMEM || n == 0)
        return "another outcome than ENOMEM";
    tn_yield();
    for (int i = 0; i < 20; i++) { /* the others run on, and stacks of the pool are still to be had */
        if (tn_spawn(&f, NULL, echo, f) != 0)
            return "no stack from the pool";
        if (tn_join(f, NULL) != 0)
            return "join failed";
    }
    return arg;
}

static int little_memory(void *arg)
{
    struct tn_config c = with(1, NULL);
    struct rlimit limit = {UINT64_C(1) << 30, UINT64_C(1) << 30};
    void *value = arg;
    mallopt(M_PERTURB, 0); /* which meson asks for, and which writes to every byte of a gigabyte */
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 2;
    if (tn_run(&c, until_refused, NULL, &value) != 0)
        return 3;
    if (value != NULL)
        fprintf(stderr, "%s\n", (char *)value);
    return value != NULL;
}

static void test_no_memory(void)
{
    char err[512];
    if (build_has("sanitize=address") || build_has("sanitize=thread"))
        SKIP("the sanitizer needs its terabytes");
    int status = harness_child(little_memory, NULL, err, sizeof err);
    if (!CHECK(exited(status, 0)))
        harness_note("status %x: %s", (unsigned)status, err);
}

/* ---- join, detach, exit ---- */

static void *sleep_ms(void *ms)
{
    tn_sleep((uintptr_t)ms * 1000000);
    return ms;
}

/* Ends when its gate has been opened, and not before; gates are opened in order. */
static _Atomic(uintptr_t) opened;

static void *gated(void *gate)
{
    while (atomic_load(&opened) < (uintptr_t)gate)
        tn_sleep(1000000);
    return gate;
}

static tn_fibre *target;
static atomic_int outcomes[2];

static void *joins_target(void *arg)
{
    int rc = tn_join(target, NULL);
    atomic_fetch_add(&outcomes[rc != 0], 1);
    return arg;
}

static void *join_errors(void *arg)
{
    tn_fibre *f, *both[2];
    void *value = NULL;
    CHECK_EQUAL(tn_join(tn_fibre_self(), NULL), EDEADLK);
    CHECK_EQUAL(tn_spawn(&f, NULL, exit_with, (void *)42), 0);
    CHECK_EQUAL(tn_join(f, &value), 0);
    CHECK_EQUAL((uintptr_t)value, 42);

    atomic_store(&opened, 0);
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.detached = true}, gated, (void *)1), 0);
    CHECK_EQUAL(tn_join(f, NULL), EINVAL);
    CHECK_EQUAL(tn_detach(f), EINVAL);
    atomic_store(&opened, 1);

    CHECK_EQUAL(tn_spawn(&f, NULL, gated, (void *)2), 0);
    CHECK_EQUAL(tn_detach(f), 0);
    CHECK_EQUAL(tn_detach(f), EINVAL);
    CHECK_EQUAL(tn_join(f, NULL), EINVAL);
    atomic_store(&opened, 2);

    CHECK_EQUAL(tn_spawn(&f, NULL, echo, NULL), 0);
    tn_sleep(2000000);
    CHECK_EQUAL(tn_detach(f), 0); /* after its end */

    CHECK_EQUAL(tn_spawn(&target, NULL, gated, (void *)3), 0); /* joined by one, whichever; the second is told */
    atomic_store(&outcomes[0], 0);
    atomic_store(&outcomes[1], 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_spawn(&both[i], NULL, joins_target, NULL), 0);
    while (atomic_load(&outcomes[1]) == 0)
        tn_sleep(1000000);
    CHECK_EQUAL(tn_join(target, NULL), EINVAL);
    CHECK_EQUAL(tn_detach(target), EINVAL);
    CHECK_EQUAL(atomic_load(&outcomes[0]), 0);
    atomic_store(&opened, 3);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_join(both[i], NULL), 0);
    CHECK_EQUAL(atomic_load(&outcomes[0]), 1);
    return arg;
}

static void test_join_errors(void)
{
    for (int64_t workers = 1; workers <= 2; workers++) {
        start(workers);
        in_fibre(join_errors, NULL);
        stop();
    }
}

static void *join_until(void *arg)
{
    tn_fibre *f, *g;
    void *value = NULL;
    tn_token token;
    tn_token_init(&token);
    atomic_store(&opened, 0);
    CHECK_EQUAL(tn_spawn(&f, NULL, gated, (void *)1), 0);
    CHECK_EQUAL(tn_join_until(f, &value, 0, NULL), ETIMEDOUT);
    CHECK_EQUAL(tn_join_until(f, &value, tn_now() + 1000000, NULL), ETIMEDOUT);
    CHECK_EQUAL(tn_join_until(f, &value, tn_now() + 1000000, &token), ETIMEDOUT);
    CHECK(value == NULL);
    tn_token_fire(&token);
    CHECK_EQUAL(tn_join_until(f, &value, TN_FOREVER, &token), ECANCELED);
    atomic_store(&opened, 1);
    CHECK_EQUAL(tn_join_until(f, &value, tn_now() + UINT64_C(3600000000000), NULL), 0);
    CHECK_EQUAL((uintptr_t)value, 1);

    tn_token_init(&token); /* joined in time, with a token that fires too late */
    CHECK_EQUAL(tn_spawn(&g, NULL, sleep_ms, (void *)1), 0);
    CHECK_EQUAL(tn_join_until(g, &value, TN_FOREVER, &token), 0);
    CHECK_EQUAL((uintptr_t)value, 1);
    tn_token_fire(&token);

    CHECK_EQUAL(tn_spawn(&f, NULL, gated, (void *)2), 0);
    CHECK_EQUAL(tn_join_until(f, NULL, tn_now() + 500000, NULL), ETIMEDOUT);
    CHECK_EQUAL(tn_detach(f), 0); /* after giving up it may be detached as well */
    atomic_store(&opened, 2);
    return arg;
}

static void test_join_until(void)
{
    for (int64_t workers = 1; workers <= 2; workers++) {
        start(workers);
        in_fibre(join_until, NULL);
        tn_fibre *f;
        CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, gated, (void *)3), 0);
        CHECK_EQUAL(tn_join_until(f, NULL, tn_now() + 1, NULL), EPERM);
        atomic_store(&opened, 3);
        CHECK_EQUAL(tn_join(f, NULL), 0);
        stop();
    }
}

/* ---- yield and sleep ---- */

static char order[64];
static int at;

static void *write_down(void *letter)
{
    for (int i = 0; i < 3; i++) {
        order[at++] = (char)(uintptr_t)letter;
        tn_yield();
    }
    return NULL;
}

static void *yields(void *arg)
{
    tn_fibre *f[2];
    tn_cluster *cl = tn_cluster_self();
    uint64_t null = counter(cl, "yield_null");
    tn_yield(); /* nobody else: it returns */
    tn_yield_hard();
    if (counting())
        CHECK_EQUAL(counter(cl, "yield_null") - null, 2);
    at = 0;
    for (uintptr_t i = 0; i < 2; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, write_down, (void *)('a' + i)), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    order[at] = '\0';
    if (!CHECK(strcmp(order, "ababab") == 0 || strcmp(order, "bababa") == 0)) /* whoever yields lets the other run */
        harness_note("order %s", order);
    return arg;
}

static void test_yields(void)
{
    start(1);
    in_fibre(yields, NULL);
    stop();
}

static tn_time sleep_base; /* the earliest of them wakes after this */
static bool too_late;

static void *sleep_and_write(void *ms)
{
    too_late |= tn_now() >= sleep_base;
    CHECK_EQUAL(tn_sleep_until(sleep_base + (uintptr_t)ms * 1000000, NULL), 0);
    order[at++] = (char)('0' + (uintptr_t)ms / 4);
    return NULL;
}

static void *sleeps(void *arg)
{
    static const uintptr_t ms[] = {12, 4, 20, 8, 16};
    tn_fibre *f[5];
    tn_time t0 = tn_now();
    CHECK_EQUAL(tn_sleep(0), 0);
    CHECK_EQUAL(tn_sleep_until(0, NULL), 0);
    CHECK_EQUAL(tn_sleep_until(t0 - 1, NULL), 0);
    CHECK_EQUAL(tn_sleep_until(t0 + 3000000, NULL), 0);
    CHECK(tn_now() >= t0 + 3000000);
    tn_time head_start = 10000000;
    do { /* until all of them slept before the first was due, and a timer woke each */
        uint64_t timers = counter(tn_cluster_self(), "timer");
        at = 0;
        too_late = false;
        head_start *= 2;
        sleep_base = tn_now() + head_start;
        for (int i = 0; i < 5; i++)
            CHECK_EQUAL(tn_spawn(&f[i], NULL, sleep_and_write, (void *)ms[i]), 0);
        for (int i = 0; i < 5; i++)
            CHECK_EQUAL(tn_join(f[i], NULL), 0);
        order[at] = '\0';
        too_late = too_late || (counting() && counter(tn_cluster_self(), "timer") - timers != 5);
    } while (too_late && head_start < UINT64_C(100000000000));
    /* Timers that ran out together are made ready in order; a module that runs the newest first may reverse
     * them. */
    if (!build_has("\"schedulers\":[{\"name\":\"lifo\"") && !CHECK(strcmp(order, "12345") == 0))
        harness_note("order %s", order);
    return arg;
}

static void test_sleeps(void)
{
    start(1);
    in_fibre(sleeps, NULL);
    stop();
}

int main(void)
{
    static const struct test tests[] = {
        {"names", test_names},
        {"stack sizes", test_sizes},
        {"plain threads: what works, what is EPERM", test_plain_threads},
        {"tn_exit outside a fibre", test_aborts},
        {"no memory for stacks", test_no_memory},
        {"join and detach, right and wrong", test_join_errors},
        {"join until, and again", test_join_until},
        {"yields take turns", test_yields},
        {"sleep: past, zero, order", test_sleeps},
    };
    return HARNESS_RUN("fibre", tests);
}
