/* SPDX-License-Identifier: MIT
 *
 * What belongs to the thread and what to the fibre, right after each switch: the worker and its native thread, errno,
 * memory of the allocator, whose caches belong to the thread. Built as configured, and once more at -O3 with link-time
 * optimisation and migration forced at every switch.
 */
#include "harness.h"

#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIBRES = 16, SWITCHES = 600, WORKERS = 3 };

static atomic_uint migrations;

static __attribute__((noinline)) pthread_t thread_now(void) /* the C library says it is constant: not to a fibre */
{
    __asm__ volatile("" : : : "memory");
    return pthread_self();
}

static void *nothing(void *arg)
{
    return arg;
}

static void switch_somehow(uint64_t n)
{
    tn_fibre *f;
    switch (n % 6) {
    case 0:
        tn_yield_hard();
        break;
    case 1:
        tn_sleep(1000);
        break;
    case 2:
        if (tn_spawn(&f, NULL, nothing, NULL) == 0)
            tn_join(f, NULL);
        break;
    default:
        tn_yield();
    }
}

/* Where every switch may migrate, go on until some have: the other workers' threads may come late. */
static bool too_few(unsigned i)
{
    return i < 1000000 && atomic_load_explicit(&migrations, memory_order_relaxed) < 10 && migration_forced();
}

static void *who_am_i(void *arg)
{
    tn_cluster *cl = tn_cluster_self();
    unsigned wrong = 0;
    int before = tn_worker_self();
    for (unsigned i = 0; i < SWITCHES || too_few(i); i++) {
        errno_set((int)i);
        switch_somehow(i + (uintptr_t)arg);
        uintptr_t handle = 0;
        int w = tn_worker_self();
        wrong += w < 0 || w >= WORKERS;
        wrong += tn_worker_thread(cl, (unsigned)w, &handle) != 0;
        wrong += !pthread_equal((pthread_t)handle, thread_now());
        wrong += errno_get() != (int)i;
        if (w != before)
            atomic_fetch_add_explicit(&migrations, 1, memory_order_relaxed);
        before = w;
    }
    CHECK_EQUAL(wrong, 0);
    return NULL;
}

/* errno as everybody writes it: in one function, where a compiler may want to keep its address over the switch. */
static void *plain_errno(void *arg)
{
    unsigned wrong = 0;
    int before = tn_worker_self();
    for (unsigned i = 0; i < SWITCHES || too_few(i); i++) {
        errno = (int)i;
        tn_yield_hard();
        wrong += errno != (int)i;
        errno = (int)i + 1;
        switch_somehow(i + (uintptr_t)arg);
        wrong += errno != (int)i + 1;
        int w = tn_worker_self();
        if (w != before)
            atomic_fetch_add_explicit(&migrations, 1, memory_order_relaxed);
        before = w;
    }
    CHECK_EQUAL(wrong, 0);
    return NULL;
}

/* Memory taken on one thread, grown on another, given back on a third. */
static void *allocates(void *arg)
{
    enum { PIECES = 24 };
    unsigned char *piece[PIECES] = {NULL}, mark = (unsigned char)((uintptr_t)arg + 1);
    size_t size[PIECES] = {0};
    uint64_t random = harness_seed() + (uintptr_t)arg;
    unsigned wrong = 0;
    for (unsigned i = 0; i < SWITCHES; i++) {
        uint64_t r = harness_random(&random);
        size_t k = r % PIECES, wanted = r >> 32 & 15 ? (r >> 8) % 1024 + 1 : (r >> 8) % 200000 + 1;
        for (size_t at = 0; at < size[k]; at++)
            wrong += piece[k][at] != mark;
        if (r >> 40 & 1) {
            unsigned char *other = realloc(piece[k], wanted);
            wrong += other == NULL;
            piece[k] = other;
        } else {
            free(piece[k]);
            piece[k] = malloc(wanted);
        }
        size[k] = piece[k] != NULL ? wanted : 0;
        memset(piece[k], mark, size[k]);
        switch_somehow(r);
    }
    for (int k = 0; k < PIECES; k++)
        free(piece[k]);
    CHECK_EQUAL(wrong, 0);
    return NULL;
}

/* The locale of a thread (uselocale) is the thread's: a fibre that needs one of its own asks for it by name. What is the
 * process's is the same for all. */
static void *prints(void *arg)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < SWITCHES; i++) {
        char text[32];
        snprintf(text, sizeof text, "%.2f", (double)i / 4);
        switch_somehow(i + (uintptr_t)arg);
        wrong += strtod(text, NULL) != (double)i / 4;
    }
    CHECK_EQUAL(wrong, 0);
    return NULL;
}

static void *(*crowd_fn)(void *);

static void *crowd_main(void *arg)
{
    tn_fibre *f[FIBRES];
    for (uintptr_t i = 0; i < FIBRES; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, crowd_fn, (void *)i), 0);
    for (int i = 0; i < FIBRES; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    return arg;
}

static void crowd(void *(*fn)(void *))
{
    struct tn_config c = with(WORKERS, NULL);
    crowd_fn = fn;
    CHECK_EQUAL(tn_run(&c, crowd_main, NULL, NULL), 0);
}

static void test_who(void)
{
    atomic_store(&migrations, 0);
    crowd(who_am_i);
    if (migration_forced())
        CHECK(atomic_load(&migrations) >= 10);
}

static void test_errno(void)
{
    atomic_store(&migrations, 0);
    crowd(plain_errno);
    if (migration_forced())
        CHECK(atomic_load(&migrations) >= 10);
}

static void test_allocator(void)
{
    crowd(allocates);
}

static void test_locale(void)
{
    crowd(prints);
}

static void test_handles(void)
{
    struct tn_config c = with(2, NULL);
    tn_runtime *rt;
    uintptr_t handle[2] = {0, 0}, other;
    c.slots = 3;
    CHECK_EQUAL(tn_worker_self(), -1);
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    tn_cluster *cl = tn_cluster_first(rt);
    for (unsigned i = 0; i < 2; i++)
        CHECK_EQUAL(tn_worker_thread(cl, i, &handle[i]), 0);
    CHECK(!pthread_equal((pthread_t)handle[0], (pthread_t)handle[1]));
    CHECK_EQUAL(pthread_setname_np((pthread_t)handle[1], "renamed"), 0); /* what it is for */
    char name[16] = "";
    CHECK_EQUAL(pthread_getname_np((pthread_t)handle[1], name, sizeof name), 0);
    CHECK(strcmp(name, "renamed") == 0);
    CHECK_EQUAL(tn_worker_thread(cl, 2, &other), ESRCH);
    CHECK_EQUAL(tn_worker_thread(cl, 3, &other), EINVAL);
    CHECK_EQUAL(tn_workers_remove(cl, 1), 0);
    CHECK(EVENTUALLY(tn_worker_thread(cl, 1, &other) == ESRCH || tn_worker_thread(cl, 0, &other) == ESRCH));
    CHECK_EQUAL(tn_stop(rt), 0);
    c.on_demand = 1;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    CHECK_EQUAL(tn_worker_thread(tn_cluster_first(rt), 1, &other), ESRCH); /* not born */
    CHECK_EQUAL(tn_stop(rt), 0);
}

int main(void)
{
    static const struct test tests[] = {
        {"worker, native thread and errno after each switch", test_who},
        {"errno in ordinary code", test_errno},
        {"memory wanders between threads", test_allocator},
        {"conversions under the process's locale", test_locale},
        {"native handles of workers", test_handles},
    };
    return HARNESS_RUN("migrate", tests);
}
