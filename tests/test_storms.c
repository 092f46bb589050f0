/* SPDX-License-Identifier: MIT
 *
 * Under each module and preset that is named: whatever fails once while it works (memory, address space, a thread), nothing
 * is lost and all is given back; a child of fork, made while the cluster is busy, has that module anew; and fifty runtimes at
 * once, each under another one, never mix. Linked with --wrap for the calls by which memory and threads come.
 *
 *     test_storms MODULE[:KNOB=VALUE…]...
 */
#include "harness.h"
#include "nomem.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char **specs;
static int n_specs;

static struct tn_config config_of(int i)
{
    struct tn_config c = with(2, specs[i % n_specs]);
    c.slots = 4;
    return c;
}

/* ---- each resource fails in its turn, while the runtime works ---- */

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__real_mmap64(void *, size_t, int, int, int, off_t);
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap64(void *, size_t, int, int, int, off_t); /* its name with 64-bit offsets */
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    errno = ENOMEM;
    return fails() ? MAP_FAILED : __real_mmap(at, size, protection, flags, fd, offset);
}
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    errno = ENOMEM;
    return fails() ? MAP_FAILED : __real_mmap64(at, size, protection, flags, fd, offset);
}
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    return fails() ? EAGAIN : __real_pthread_create(out, attr, fn, arg);
}

enum {
    CROWD = 60,
    MOST_SITES = 400,
    ONE_BY_ONE = 30 /* then they are stacks, most of them */,
    PATIENCE_S = 60 /* for each module */
};

static atomic_uint ended, wrong;
static tn_cluster *other;

/* One of these, or it is wrong. */
static int said(int rc, int also, int and_also)
{
    atomic_fetch_add(&wrong, rc != 0 && rc != also && rc != and_also);
    return rc;
}

static void *calls(void *arg)
{
    return arg;
}

static void *member(void *arg)
{
    uintptr_t i = (uintptr_t)arg;
    tn_yield();
    if (i % 3 == 0)
        tn_yield_hard();
    if (i % 5 == 0)
        said(tn_sleep(1000), ENOMEM, ENOMEM);
    if (i % 7 == 0)
        said(tn_stage((unsigned)(i % 2)), EINVAL, EINVAL);
    if (i % 29 == 0)
        said(tn_blocking(calls, arg, NULL), EAGAIN, EAGAIN);
    tn_cluster *home = tn_cluster_self();
    if (i % 11 == 0 && other != NULL && said(tn_migrate(other), 0, 0) == 0)
        said(tn_migrate(home), 0, 0);
    atomic_fetch_add(&ended, 1);
    return NULL;
}

static tn_runtime *rt;

static void *works(void *arg)
{
    struct tn_config *c = arg;
    unsigned begun = 0;
    tn_cluster *mine = tn_cluster_self();
    said(tn_cluster_create(rt, c, &other), ENOMEM, EAGAIN);
    for (uintptr_t i = 0; i < CROWD; i++) {
        struct tn_attr attr = {.stack = i % 31 == 30 ? 100000 : 0,
                               .priority = (int)(i % 3) - 1,
                               .background = i % 13 == 0,
                               .full = i % 2 ? TN_FULL_OVERFLOW : TN_FULL_REFUSE};
        begun += said(tn_spawn(NULL, &attr, member, (void *)i), EAGAIN, ENOMEM) == 0;
        if (i % 50 == 5)
            said(tn_workers_add(mine, 1), EAGAIN, ENOMEM);
        if (i % 50 == 30)
            said(tn_workers_remove(mine, 1), EAGAIN, EINVAL);
    }
    while (atomic_load(&ended) != begun)
        tn_yield();
    return NULL;
}

/* Was there an allocation, mapping or thread number k? */
static bool one_fails(int i, int k)
{
    struct tn_config c = config_of(i);
    tn_fibre *f = NULL;
    long before = atomic_load(&blocks);
    other = NULL;
    atomic_store(&ended, 0);
    atomic_store(&wrong, 0);
    if (!CHECK_EQUAL(tn_start(&rt, &c), 0))
        return false;
    bool good = true;
    atomic_store(&failed, 0);
    atomic_store(&fails_in, k);
    int rc = tn_spawn(&f, &(struct tn_attr){.runtime = rt}, works, &c);
    good = CHECK_EQUAL(rc, rc == ENOMEM ? ENOMEM : 0) && good;
    good = CHECK_EQUAL(rc == 0 ? tn_join(f, NULL) : 0, 0) && good;
    atomic_store(&fails_in, -1);
    good = CHECK_EQUAL(atomic_load(&wrong), 0) && good;
    good = CHECK_EQUAL(tn_stop(rt), 0) && good;
    good = CHECK_EQUAL(atomic_load(&blocks), before) && good;
    if (!good)
        harness_note("%s, resource %d", specs[i], k);
    return good && atomic_load(&failed) != 0;
}

static void test_failures(void)
{
    for (int i = 0; i < n_specs; i++) {
        int k = 0;
        harness_watchdog(PATIENCE_S);
        struct tn_config c = config_of(i);
        if (!CHECK_EQUAL(tn_start(&rt, &c), 0)) /* what the first one brings along */
            return;
        CHECK_EQUAL(tn_stop(rt), 0);
        while (k < MOST_SITES && one_fails(i, k))
            k += k < ONE_BY_ONE ? 1 : 7;
        if (!CHECK(k >= 10)) /* a cluster, a worker, stacks and a thread of the pool at least */
            harness_note("%s: only %d", specs[i], k);
    }
}

/* ---- fork ---- */

static atomic_bool enough;
static atomic_uint turns;

static void *echo(void *arg)
{
    tn_yield();
    return arg;
}

/* Bits of what is wrong. */
static void *spawns_and_joins(void *arg)
{
    uintptr_t bad = 0;
    for (int i = 0; i < 40; i++) {
        tn_fibre *f;
        void *value = NULL;
        int rc;
        while ((rc = tn_spawn(&f, NULL, echo, arg)) == EAGAIN)
            tn_yield();
        bad |= rc != 0;
        bad |= rc == 0 && tn_join(f, &value) != 0 ? 2 : 0;
        bad |= value != arg ? 4 : 0;
    }
    return (void *)bad;
}

static void *busy(void *arg)
{
    while (!atomic_load(&enough)) {
        tn_sleep(20000);
        if (spawns_and_joins(arg) != NULL)
            break;
        atomic_fetch_add(&turns, 1);
    }
    return arg;
}

static int in_child(int i)
{
    struct tn_config c = config_of(i);
    tn_fibre *f;
    void *bad = NULL;
    if (tn_spawn(&f, &(struct tn_attr){.runtime = rt}, echo, NULL) != EPERM ||
        tn_workers_add(tn_cluster_first(rt), 1) != EPERM)
        return 8;
    if (build_has("sanitize=thread")) /* which knows no thread that is made in such a child */
        return 0;
    return tn_run(&c, spawns_and_joins, &c, &bad) != 0 ? 16 : (int)(uintptr_t)bad;
}

static void *forks(void *arg)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        (void)!freopen("/dev/null", "w", stderr); /* it says there what it is refused */
        harness_watchdog(30);
        _exit(in_child((int)(uintptr_t)arg));
    }
    waitpid(child, &status, 0);
    if (!CHECK(exited(status, 0)))
        harness_note("%s: a child's status is %x", specs[(uintptr_t)arg], (unsigned)status);
    return NULL;
}

static tn_fibre *spawned(void *(*fn)(void *), void *arg)
{
    tn_fibre *f = NULL;
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt, .full = TN_FULL_OVERFLOW}, fn, arg), 0);
    return f;
}

static void test_fork(void)
{
    enum { BUSY = 6 };
    for (int i = 0; i < n_specs; i++) {
        struct tn_config c = config_of(i);
        tn_fibre *f[BUSY], *forking;
        harness_watchdog(PATIENCE_S);
        atomic_store(&enough, false);
        atomic_store(&turns, 0);
        if (!CHECK_EQUAL(tn_start(&rt, &c), 0))
            return;
        for (int k = 0; k < BUSY; k++)
            f[k] = spawned(busy, &c);
        CHECK(EVENTUALLY(atomic_load(&turns) > 2)); /* in the midst of it */
        forks((void *)(uintptr_t)i);
        forking = spawned(forks, (void *)(uintptr_t)i);
        CHECK_EQUAL(tn_join(forking, NULL), 0);
        unsigned then = atomic_load(&turns);
        CHECK(EVENTUALLY(atomic_load(&turns) > then + BUSY)); /* the parent goes on */
        atomic_store(&enough, true);
        for (int k = 0; k < BUSY; k++)
            CHECK_EQUAL(tn_join(f[k], NULL), 0);
        CHECK_EQUAL(tn_stop(rt), 0);
    }
}

/* ---- many at once ---- */

enum { RUNTIMES = 50, EACH = 16 };

static struct one {
    tn_runtime *rt;
    tn_cluster *home;
    tn_fibre *f[EACH], *waits;
    struct one *next; /* whose fibre that waits is woken from here */
    tn_waiter waiter;
    atomic_bool published;
} runtimes[RUNTIMES];

static void *waits(void *arg)
{
    struct one *r = arg;
    r->waiter = tn_wait_prepare();
    atomic_store(&r->published, true);
    return tn_wait(TN_FOREVER, NULL) == 0 && tn_cluster_self() == r->home ? r : NULL;
}

static void *stays(void *arg)
{
    struct one *r = arg;
    for (int i = 0; i < 60; i++) {
        if (tn_cluster_self() != r->home)
            return NULL;
        if (i % 7 == 0)
            tn_yield_hard();
        else if (i % 25 == 0)
            tn_sleep(1000);
        else
            tn_yield();
    }
    return r;
}

static void *wakes_next(void *arg)
{
    struct one *r = arg;
    while (!atomic_load(&r->next->published))
        tn_yield();
    bool woke = tn_wake(r->next->waiter);
    return woke ? stays(r) : NULL;
}

static void begin(struct one *r, int spec, struct one *next)
{
    struct tn_config c = with(1 + spec % 2, specs[spec % n_specs]);
    *r = (struct one){.next = next};
    if (!CHECK_EQUAL(tn_start(&r->rt, &c), 0)) /* nothing to go on with */
        exit(1);
    r->home = tn_cluster_first(r->rt);
}

static void its(struct one *r, tn_fibre **f, void *(*fn)(void *))
{
    CHECK_EQUAL(tn_spawn(f, &(struct tn_attr){.runtime = r->rt, .full = TN_FULL_OVERFLOW}, fn, r), 0);
}

static bool came_back(struct one *r, tn_fibre *f)
{
    void *value = NULL;
    bool good = CHECK_EQUAL(tn_join(f, &value), 0);
    return CHECK(value == r) && good;
}

static void test_many(void)
{
    struct tn_config warm = config_of(0);
    CHECK_EQUAL(tn_run(&warm, echo, NULL, NULL), 0); /* what the first one brings along */
    unsigned threads = harness_count("task"), descriptors = harness_count("fd");
    long before = atomic_load(&blocks);
    for (int first = 0; first < n_specs; first += RUNTIMES) {
        for (int i = 0; i < RUNTIMES; i++)
            begin(&runtimes[i], first + i, &runtimes[(i + 1) % RUNTIMES]);
        for (int i = 0; i < RUNTIMES; i++)
            its(&runtimes[i], &runtimes[i].waits, waits);
        for (int k = 0; k < EACH; k++)
            for (int i = 0; i < RUNTIMES; i++)
                its(&runtimes[i], &runtimes[i].f[k], k == 0 ? wakes_next : stays);
        for (int i = 0; i < RUNTIMES; i++) { /* who is still busy goes on, while others stop */
            struct one *r = &runtimes[i * 7 % RUNTIMES];
            bool good = true;
            for (int k = 0; k < EACH; k++)
                good = came_back(r, r->f[k]) && good;
            good = came_back(r, r->waits) && good;
            good = CHECK_EQUAL(tn_stop(r->rt), 0) && good;
            if (!good)
                harness_note("%s", specs[(first + i * 7 % RUNTIMES) % n_specs]);
        }
    }
    CHECK_EQUAL(atomic_load(&blocks), before);
    CHECK_EQUAL(harness_count("fd"), descriptors);
    CHECK(EVENTUALLY(harness_count("task") == threads));
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"each resource fails once, at work", test_failures},
        {"a child of fork, of a busy cluster", test_fork},
        {"fifty at once, under one module each", test_many},
    };
    specs = argv + 1;
    n_specs = argc - 1;
    return n_specs == 0 ? 2 : HARNESS_RUN("storms", tests);
}
