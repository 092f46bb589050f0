/* SPDX-License-Identifier: MIT
 *
 * What programs do by mistake, or at a bad moment: each ends in an error that says what it was, and in nothing worse.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "tenter_group.h"

static tn_runtime *start(int64_t workers)
{
    struct tn_config config = TN_CONFIG_INIT;
    tn_runtime *rt = NULL;
    config.workers = workers;
    config.deadlock = TN_DEADLOCK_OFF;
    CHECK_EQUAL(tn_start(&rt, &config), 0);
    return rt;
}

static tn_fibre *spawn_in(tn_runtime *rt, void *(*fn)(void *), void *arg)
{
    tn_fibre *f = NULL;
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, fn, arg), 0);
    return f;
}

static void *nothing(void *arg)
{
    return arg;
}

static void *wait_for_ever(void *arg)
{
    tn_wait_prepare();
    tn_wait(TN_FOREVER, arg);
    return arg;
}

/* ---- a runtime that stops too early ---- */

struct joiner {
    tn_fibre *f;
    _Atomic(pid_t) goes_in; /* its thread, right before it joins */
    atomic_int rc;
};

static void *joins(void *arg)
{
    struct joiner *j = arg;
    atomic_store(&j->goes_in, gettid());
    atomic_store(&j->rc, tn_join(j->f, NULL));
    return NULL;
}

/* Plain threads wait in tn_join for fibres that tn_stop drops. */
static void stop_while_joined(void)
{
    tn_runtime *rt = start(2);
    struct joiner j[4];
    pthread_t t[4];
    for (int i = 0; i < 4; i++) {
        j[i].f = spawn_in(rt, wait_for_ever, NULL);
        atomic_init(&j[i].goes_in, 0);
        atomic_init(&j[i].rc, -1);
        CHECK_EQUAL(pthread_create(&t[i], NULL, joins, &j[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        CHECK(EVENTUALLY(harness_sleeps(atomic_load(&j[i].goes_in))));
    CHECK_EQUAL(tn_stop(rt), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
        CHECK_EQUAL(atomic_load(&j[i].rc), ECANCELED);
    }
}

/* A dropped fibre waits with a token that others wait with, and that fires later. */
static void stop_while_token_waits(void)
{
    static tn_token token;
    tn_token_init(&token);
    tn_runtime *a = start(1), *b = start(1);
    spawn_in(a, wait_for_ever, &token);
    tn_fibre *f = spawn_in(b, wait_for_ever, &token);
    spawn_in(a, wait_for_ever, &token);
    nap_us(20000);
    CHECK_EQUAL(tn_stop(a), 0);
    tn_token_fire(&token);
    void *value = NULL;
    CHECK_EQUAL(tn_join(f, &value), 0);
    CHECK(value == &token);
    CHECK_EQUAL(tn_stop(b), 0);
}

/* ---- two runtimes ---- */

static void *joins_other(void *f)
{
    return (void *)(uintptr_t)tn_join(f, NULL);
}

static void join_across(void)
{
    tn_runtime *a = start(1), *b = start(1);
    tn_fibre *f = spawn_in(a, nothing, NULL), *g = spawn_in(b, joins_other, f);
    void *rc = NULL;
    CHECK_EQUAL(tn_join(g, &rc), 0);
    CHECK_EQUAL((uintptr_t)rc, EPERM);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK_EQUAL(tn_stop(a), 0);
    CHECK_EQUAL(tn_stop(b), 0);
}

/* ---- clusters that could not be made, and what is written of them ---- */

static int failing_clusters(void *unused)
{
    (void)unused;
    tn_runtime *rt = start(1);
    tn_cluster *cl;
    struct tn_config bad = TN_CONFIG_INIT;
    bad.scheduler = "no-such-module";
    for (int i = 0; i < 3; i++)
        if (tn_cluster_create(rt, &bad, &cl) != EINVAL)
            return 1;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (tn_dump(fd) != 0 || tn_dump(-1) != EBADF)
        return 2;
    close(fd);
    return tn_stop(rt);
}

static void clusters_that_fail(void)
{
    char err[1024];
    CHECK(exited(harness_child(failing_clusters, NULL, err, sizeof err), 0));
    CHECK(strstr(err, "no scheduler 'no-such-module'") != NULL);
}

/* ---- ends of threads and fibres ---- */

static void *ends_thread(void *arg)
{
    (void)arg;
    pthread_exit(NULL);
}

static void *ends_in_time(void *arg)
{
    return arg;
}

static void *calls_one_that_ends(void *arg)
{
    tn_blocking(ends_thread, arg, NULL);
    return arg;
}

/* Not the first call of its thread, which was a worker of another runtime in the one before. */
static void *is_a_worker(void *arg)
{
    struct tn_config config = with(1, NULL);
    return tn_run(&config, ends_in_time, NULL, NULL) == 0 ? arg : NULL;
}

static void *calls_one_that_ends_later(void *arg)
{
    void *done = NULL;
    CHECK_EQUAL(tn_blocking(is_a_worker, &done, &done), 0);
    CHECK(done != NULL);
    tn_blocking(ends_thread, NULL, NULL);
    return arg;
}

static int ends_worker(void *fn)
{
    struct tn_config config = with(2, NULL);
    tn_runtime *rt;
    tn_fibre *f = NULL;
    config.pool = 1; /* one thread for all calls */
    if (tn_start(&rt, &config) != 0)
        return 1;
    tn_spawn(&f, &(struct tn_attr){.runtime = rt, .name = "leaver"}, *(void *(**)(void *))fn, NULL);
    tn_join(f, NULL);
    return 1;
}

static void thread_exit(void)
{
    char err[1024];
    void *(*fn)(void *) = ends_thread;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("a sanitizer has its own end of threads");
#endif
    CHECK(killed(harness_child(ends_worker, &fn, err, sizeof err), SIGABRT));
    CHECK(strstr(err, "'leaver' ended its worker's thread") != NULL);
    void *(*const calls[])(void *) = {calls_one_that_ends, calls_one_that_ends_later};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        fn = calls[i];
        CHECK(killed(harness_child(ends_worker, &fn, err, sizeof err), SIGABRT));
        CHECK(strstr(err, "a call in tn_blocking ended its thread") != NULL);
    }
}

/* A destructor that sets its value again and ends the fibre: as often as tenter.h says, and no more. */
static void set_and_exit(void *value);
static const tn_key again = {set_and_exit};
static int destroyed;

static void set_and_exit(void *value)
{
    destroyed++;
    tn_local_set(&again, value);
    tn_exit((void *)7);
}

static void *set_value(void *arg)
{
    CHECK_EQUAL(tn_local_set(&again, &destroyed), 0);
    return arg;
}

static void destructor_exits(void)
{
    tn_runtime *rt = start(1);
    for (int i = 0; i < 2; i++) { /* the count starts anew with the next fibre */
        void *value = NULL;
        destroyed = 0;
        CHECK_EQUAL(tn_join(spawn_in(rt, set_value, NULL), &value), 0);
        CHECK_EQUAL((uintptr_t)value, 7);
        CHECK_EQUAL(destroyed, 24);
    }
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- stacks of an unusual size keep what they have used in the peak ---- */

static void *uses_much(void *arg)
{
    volatile char room[200000];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 1;
    return arg;
}

static void peak_of_ended(void)
{
    tn_runtime *rt = start(1);
    tn_fibre *f = NULL;
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt, .stack = 1 << 20}, uses_much, NULL), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    size_t peak = tn_stack_peak(rt);
    CHECK(peak == 0 ? build_has("\"stacks\":\"malloc\"") || build_has("\"stacks\":\"split\"") : peak >= 200000);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- knobs ---- */

static int bad_knob(void *spec)
{
    struct tn_config config = TN_CONFIG_INIT;
    config.scheduler = spec;
    return tn_run(&config, nothing, NULL, NULL);
}

static void knobs(void)
{
    static const char *const bad[][2] = {{"fifo:private= 3", "no number"},
                                         {"fifo:private=+3", "no number"},
                                         {"fifo:private=0x", "no number"},
                                         {"fifo:private=", "no number"},
                                         {"fifo:private=-", "no number"},
                                         {"fifo:private=010", "no number"},
                                         {"fifo:private=3:private=3", "private is given twice"}};
    char err[1024];
    if (build_has("schedulers=fifo:"))
        SKIP("the build fixes knobs");
    CHECK(exited(harness_child(bad_knob, (void *)(uintptr_t) "fifo:private=10:capacity=0x10", err, sizeof err), 0));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(exited(harness_child(bad_knob, (void *)(uintptr_t)bad[i][0], err, sizeof err), EINVAL));
        CHECK(strstr(err, bad[i][1]) != NULL);
    }
}

/* ---- mutexes that are left locked ---- */

static tn_mutex left[3], given_back;
static tn_rwlock read_left = TN_RWLOCK_INIT(TN_RWLOCK_FAIR), written_left = TN_RWLOCK_INIT(TN_RWLOCK_FAIR);

static void gives_back(void *m)
{
    tn_mutex_unlock(m);
}

static void *leaves_locked(void *arg)
{
    struct tn_cleanup c;
    tn_cleanup_push(&c, gives_back, &given_back);
    for (unsigned i = 0; i < 3; i++)
        tn_mutex_lock(&left[i]);
    tn_mutex_lock(&given_back);
    tn_mutex_lock(&left[1]); /* once more: still one */
    tn_mutex_unlock(&left[0]);
    tn_mutex_trylock(&left[0]);
    tn_rwlock_rdlock(&read_left);
    tn_rwlock_unlock(&read_left);
    tn_rwlock_tryrdlock(&read_left);
    tn_rwlock_wrlock(&written_left);
    int rc = tn_sleep_until(TN_FOREVER, NULL);
    (void)arg;
    tn_exit(TN_ERROR(rc));
}

static int cancel_with_mutexes(void *arg)
{
    static const int kinds[] = {TN_MUTEX_RECURSIVE, TN_MUTEX_RECURSIVE, TN_MUTEX_NORMAL};
    tn_runtime *rt = start(2);
    tn_group g;
    (void)arg;
    for (unsigned i = 0; i < 3; i++)
        tn_mutex_init(&left[i], &(struct tn_mutex_attr){.kind = kinds[i]});
    tn_mutex_init(&given_back, &(struct tn_mutex_attr){.kind = TN_MUTEX_CHECKED});
    tn_group_open(&g, TN_FOREVER);
    tn_spawn(NULL, &(struct tn_attr){.runtime = rt, .group = &g, .name = "leaves"}, leaves_locked, NULL);
    tn_group_cancel(&g);
    int rc = tn_group_close(&g);
    return tn_stop(rt) == 0 && rc == ECANCELED ? 0 : 1;
}

static void *leaves_local(void *m)
{
    CHECK_EQUAL(tn_local_mutex_init(m, tn_cluster_self()), 0);
    CHECK_EQUAL(tn_local_mutex_lock(m), 0);
    CHECK_EQUAL(tn_local_mutex_unlock(m), 0);
    CHECK_EQUAL(tn_local_mutex_lock(m), 0);
    return NULL;
}

static int end_with_local(void *arg)
{
    static tn_local_mutex m;
    tn_runtime *rt = start(1);
    tn_fibre *f;
    (void)arg;
    tn_spawn(&f, &(struct tn_attr){.runtime = rt, .name = "leaves"}, leaves_local, &m);
    tn_join(f, NULL);
    return tn_stop(rt) == 0 ? 0 : 1;
}

/* A normal one does not know its owner and is counted in builds that check only. */
static void mutexes_left(void)
{
    char err[1024];
    CHECK(exited(harness_child(cancel_with_mutexes, NULL, err, sizeof err), 0));
    bool all = build_has("\"lock_check\":\"yes\"");
    CHECK(strstr(err, all ? "fibre 'leaves' has ended and left 5 of its locks locked\n"
                          : "fibre 'leaves' has ended and left 4 of its locks locked\n") != NULL);
    CHECK(exited(harness_child(end_with_local, NULL, err, sizeof err), 0));
    CHECK_EQUAL(strstr(err, "fibre 'leaves' has ended and left 1 of its locks locked\n") != NULL, all);
}

int main(void)
{
    static const struct test tests[] = {
        {"tn_stop while threads join", stop_while_joined},
        {"tn_stop while fibres wait with a token", stop_while_token_waits},
        {"joining another runtime's fibre", join_across},
        {"clusters that fail", clusters_that_fail},
        {"pthread_exit in a fibre, in a blocking call", thread_exit},
        {"a destructor that sets, and exits", destructor_exits},
        {"peak of unusual stacks", peak_of_ended},
        {"numbers in knobs", knobs},
        {"mutexes that a cancelled fibre leaves locked", mutexes_left},
    };
    return HARNESS_RUN("misuse", tests);
}
