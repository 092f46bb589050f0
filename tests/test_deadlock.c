/* SPDX-License-Identifier: MIT
 *
 * Deadlocks: found when they are there, each with the names that belong to it. When they are not: test_nodeadlock.c.
 */
#include "stuck.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static tn_fibre *ring[3];
static atomic_int ready;

static __attribute__((noinline)) void *joins_next(void *which)
{
    while (atomic_load(&ready) == 0)
        tn_yield();
    tn_join(ring[((uintptr_t)which + 1) % 3], NULL);
    return NULL;
}

static void *cycle(void *arg)
{
    static const char *const names[] = {"ann", "bob", "cid"};
    for (uintptr_t i = 0; i < 3; i++)
        ring[i] = named(names[i], joins_next, (void *)i);
    atomic_store(&ready, 1);
    tn_wait_prepare();
    tn_wait(TN_FOREVER, NULL);
    return arg;
}

static void *lost(void *arg)
{
    tn_join(named("lost", waits_in_vain, arg), NULL);
    return arg;
}

static __attribute__((noinline)) void *joins_itself(void *arg)
{
    *(int *)arg = tn_join(tn_fibre_self(), NULL);
    return arg;
}

static void *narcissus(void *arg)
{
    tn_join(named("narcissus", joins_itself, arg), NULL);
    return arg;
}

static void test_cycle(void)
{
    void *(*fn)(void *) = cycle;
    int status = harness_child(run, &fn, err, sizeof err);
    bool good = CHECK(killed(status, SIGABRT));
    good = CHECK(has("tenter: deadlock: every fibre is blocked")) && good;
    good = CHECK(has("cycle of joins: ")) && good;
    const char *line = strstr(err, "cycle of joins: "), *end = line != NULL ? strchr(line, '\n') : NULL;
    static const char *const names[] = {"'ann' joins ", "'bob' joins ", "'cid' joins "};
    for (int i = 0; i < 3 && end != NULL; i++) {
        const char *at = strstr(line, names[i]);
        good = CHECK(at != NULL && at < end) && good;
    }
    good = CHECK(has("joins_next+0x")) && good;
    good = CHECK(has("'main' (cycle): waits to be woken")) && good;
    good = CHECK(has("0 running, 0 ready, 1 waiting, 3 joining")) && good;
    show(good, status);
}

static void test_lost_wake(void)
{
    void *(*fn)(void *) = lost;
    char object[64];
    snprintf(object, sizeof object, "'lost' (waits_in_vain): waits for mutex %p\n", what_it_waits_for);
    int status = harness_child(run, &fn, err, sizeof err);
    bool good = CHECK(killed(status, SIGABRT));
    good = CHECK(has("tenter: deadlock")) && good;
    good = CHECK(has(object)) && good;
    good = CHECK(has("waits_in_vain+0x")) && good;
    good = CHECK(has("tn_wait+0x")) && good;
    good = CHECK(has("'main' (lost): joins ")) && good;
    good = CHECK(!has("cycle of joins")) && good;
    show(good, status);
}

static void test_self_join(void)
{
    void *(*fn)(void *) = narcissus;
    int status = harness_child(run, &fn, err, sizeof err);
    bool good = CHECK(exited(status, EDEADLK));
    good = CHECK(has("tenter: fibre 'narcissus' joins itself, in joins_itself\n")) && good;
    show(good, status);
}

/* Two runtimes, each joined by a thread: a deadlock only when both are stuck. */
static tn_runtime *rts[2];

static void *second_thread(void *arg)
{
    tn_fibre *f;
    tn_spawn(&f, &(struct tn_attr){.name = "other", .runtime = rts[1]}, waits_in_vain, NULL);
    tn_join(f, NULL);
    return arg;
}

static int two_runtimes(void *arg)
{
    struct tn_config c = quiet(1);
    pthread_t t;
    tn_fibre *f;
    for (int i = 0; i < 2; i++)
        tn_start(&rts[i], &c);
    pthread_create(&t, NULL, second_thread, NULL);
    tn_spawn(&f, &(struct tn_attr){.name = "one", .runtime = rts[0]}, waits_in_vain, NULL);
    tn_join(f, NULL);
    return arg != NULL;
}

static void test_two_runtimes(void)
{
    int status = harness_child(two_runtimes, NULL, err, sizeof err);
    bool good = CHECK(killed(status, SIGABRT));
    good = CHECK(has("'one' (waits_in_vain): waits")) && good;
    good = CHECK(has("'other' (waits_in_vain): waits")) && good;
    show(good, status);
}

/* The timekeeper, the monitor and an idle thread for blocking calls are there, and hinder no claim. */
static void *hogs_a_little(void *arg)
{
    tn_time end = tn_now() + 5000000;
    while (tn_now() < end)
        ;
    return arg;
}

static void *naps(void *arg)
{
    tn_sleep(1000000);
    return arg;
}

static void *crowd_main(void *arg)
{
    tn_fibre *nap = named("nap", naps, arg);
    tn_yield();
    hogs_a_little(arg);
    tn_join(nap, NULL);
    tn_blocking(hogs_a_little, arg, NULL);
    return waits_in_vain(arg);
}

static int crowd(void *arg)
{
    struct tn_config c = quiet(1);
    c.monitor_us = 500;
    c.pool_ms = 1000000;
    return tn_run(&c, crowd_main, arg, NULL);
}

static void test_crowd(void)
{
    int status = harness_child(crowd, NULL, err, sizeof err);
    bool good = CHECK(killed(status, SIGABRT));
    good = CHECK(has("tenter: deadlock")) && good;
    good = CHECK(has("'main' (crowd_main): waits for mutex")) && good;
    show(good, status);
}

/* Nor does it hinder that the program has no descriptor left, or that its first thread has ended. */
static void *lost_without(void *arg)
{
    while (dup(STDERR_FILENO) >= 0) /* now that the poller has its own */
        ;
    return lost(arg);
}

static int no_descriptor(void *arg)
{
    void *(*fn)(void *) = lost_without;
    signal(SIGALRM, SIG_DFL);
    alarm(30); /* how it ends where no deadlock is seen */
    return arg == NULL && run(&fn);
}

static void *runs(void *fn)
{
    run(fn);
    return NULL;
}

static int no_first_thread(void *arg)
{
    static void *(*fn)(void *) = lost;
    pthread_t t;
    signal(SIGALRM, SIG_DFL);
    alarm(30); /* as above */
    if (arg == NULL && pthread_create(&t, NULL, runs, &fn) == 0)
        pthread_exit(NULL);
    return 1;
}

static void test_deprived(void)
{
    int (*const in[])(void *) = {no_descriptor, no_first_thread};
    for (unsigned i = 0; i < sizeof in / sizeof *in; i++) {
        int status = harness_child(in[i], NULL, err, sizeof err);
        bool good = CHECK(killed(status, SIGABRT));
        good = CHECK(has("tenter: deadlock")) && good;
        show(good, status);
    }
}

/* A child of fork has nothing of its parent's runtime. */
static int parent(void *arg)
{
    struct tn_config c = quiet(2);
    tn_runtime *rt;
    tn_fibre *f;
    int status = 0;
    signal(SIGQUIT, SIG_DFL); /* a shell ignores it for what runs in the background */
    c.sigquit = TN_SIGQUIT_DUMP;
    tn_start(&rt, &c);
    tn_spawn(&f, &(struct tn_attr){.name = "parents", .runtime = rt}, waits_in_vain, arg);
    pid_t child = fork();
    if (child == 0) {
        void *(*fn)(void *) = lost;
        _exit(run(&fn));
    }
    waitpid(child, &status, 0);
    if (!killed(status, SIGABRT))
        return 1;
    child = fork();
    if (child == 0) {
        raise(SIGQUIT); /* there is nothing of its own to tell of */
        _exit(0);
    }
    waitpid(child, &status, 0);
    return killed(status, SIGQUIT) ? 0 : 2;
}

static void test_fork(void)
{
    if (build_has("sanitize=thread"))
        SKIP("ThreadSanitizer lets a child of a process with several threads make none, and hands it no signal");
    int status = harness_child(parent, NULL, err, sizeof err);
    bool good = CHECK(exited(status, 0));
    good = CHECK(has("'lost' (waits_in_vain): waits for mutex")) && good;
    good = CHECK(!has("'parents'")) && good;
    show(good, status);
}

/* deadlock=dump says it once and goes on, until whoever hears it ends the process; off says nothing. */
static tn_fibre *stuck_in;
static int64_t how;

static void *joins_fibre(void *f)
{
    tn_join(f, NULL);
    return NULL;
}

static int not_fatal(void *arg)
{
    struct tn_config c = quiet(1);
    tn_runtime *rt;
    c.deadlock = how;
    c.stall_ms = TN_UNSET;
    tn_start(&rt, &c);
    tn_spawn(&stuck_in, &(struct tn_attr){.name = "stuck", .runtime = rt}, waits_in_vain, NULL);
    if (how == TN_DEADLOCK_OFF) { /* a signal is the only way out: no other thread may be there */
        signal(SIGALRM, SIG_DFL);
        alarm(2);
    }
    joins_fibre(stuck_in);
    return arg != NULL;
}

static void test_not_fatal(void)
{
    how = TN_DEADLOCK_DUMP;
    int status = harness_child_until("tenter: end of the dump", not_fatal, NULL, err, sizeof err);
    bool good = CHECK(killed(status, SIGTERM));
    const char *once = strstr(err, "tenter: deadlock");
    good = CHECK(once != NULL && strstr(once + 1, "tenter: deadlock") == NULL) && good;
    show(good, status);
    how = TN_DEADLOCK_OFF;
    status = harness_child(not_fatal, NULL, err, sizeof err);
    good = CHECK(killed(status, SIGALRM));
    good = CHECK(err[0] == '\0') && good;
    show(good, status);
}

/* Timers, however far away. Nothing may be said; only the alarm ends these. */
static const uint64_t hour = UINT64_C(3600000000000);
static tn_token token;

static void *sleeps_an_hour(void *arg)
{
    tn_sleep(hour);
    return arg;
}

static void *waits_an_hour(void *arg)
{
    tn_token_init(&token);
    tn_wait_prepare();
    tn_wait(tn_now() + hour, &token);
    return arg;
}

static void *joins_for_an_hour(void *arg)
{
    tn_join_until(named("lost", waits_in_vain, arg), NULL, tn_now() + hour, NULL);
    return arg;
}

static int until_alarm(void *fn)
{
    struct tn_config c = quiet(2);
    void *(*first)(void *);
    memcpy(&first, fn, sizeof first);
    c.stall_ms = 40;
    signal(SIGALRM, SIG_DFL);
    alarm(1);
    return tn_run(&c, first, NULL, NULL);
}

static void test_timer(void)
{
    void *(*const fn[])(void *) = {sleeps_an_hour, waits_an_hour, joins_for_an_hour};
    for (size_t i = 0; i < sizeof fn / sizeof *fn; i++) {
        void *(*this)(void *) = fn[i];
        int status = harness_child(until_alarm, &this, err, sizeof err);
        bool good = CHECK(killed(status, SIGALRM));
        good = CHECK(!has("tenter: deadlock")) && good;
        good = CHECK(!has("only a thread outside")) && good;
        show(good, status);
    }
}

/* A timer that a token has cancelled wakes nobody: then it is a deadlock. So too behind one that has fired already. */
static void *fires(void *arg)
{
    tn_token_fire(&token);
    return arg;
}

static void *cancelled(void *arg)
{
    tn_fibre *f = named("hour", waits_an_hour, arg);
    tn_yield();
    tn_join(named("fires", fires, arg), NULL);
    tn_join(f, NULL);
    tn_wait_prepare();
    if (tn_wait(tn_now() + hour, &token) != ECANCELED)
        return NULL;
    tn_token_init(&token);
    tn_wait_prepare();
    tn_wait_note("token", &token); /* nobody is left to fire it */
    tn_wait(TN_FOREVER, &token);
    return arg;
}

static void test_cancelled(void)
{
    void *(*fn)(void *) = cancelled;
    int status = harness_child(run, &fn, err, sizeof err);
    bool good = CHECK(killed(status, SIGABRT));
    good = CHECK(has("tenter: deadlock")) && good;
    good = CHECK(has("'main' (cancelled): waits for token 0x")) && good;
    good = CHECK(has("; no timer\n")) && good;
    show(good, status);
}

int main(void)
{
    static const struct test tests[] = {
        {"a cycle of joins", test_cycle},
        {"a lost wake-up", test_lost_wake},
        {"a self-join", test_self_join},
        {"two runtimes, both stuck", test_two_runtimes},
        {"beside threads of the runtime", test_crowd},
        {"without a descriptor, without the first thread", test_deprived},
        {"in a child of fork", test_fork},
        {"need not be fatal", test_not_fatal},
        {"behind a cancelled timer", test_cancelled},
        {"none: timers of an hour", test_timer},
    };
    return HARNESS_RUN("deadlock", tests);
}
