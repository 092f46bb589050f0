/* SPDX-License-Identifier: MIT
 *
 * Deadlocks, stalls, SIGQUIT: found when they are there, each with the names that belong to it, and not when they are not.
 * What goes to standard error lands in a file, so that a program that is stuck can see when it was told so: no test
 * decides by time.
 */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int real_stderr = -1;
static char told_text[1 << 20];

static void divert(void)
{
    FILE *file = tmpfile();
    real_stderr = dup(STDERR_FILENO);
    if (file != NULL)
        dup2(fileno(file), STDERR_FILENO);
}

static __attribute__((noinline)) bool told(const char *what)
{
    ssize_t n = pread(STDERR_FILENO, told_text, sizeof told_text - 1, 0);
    told_text[n > 0 ? n : 0] = '\0';
    return strstr(told_text, what) != NULL;
}

/* Hand what was diverted to whoever reads the real one. */
static int undivert(int code)
{
    told("");
    (void)!write(real_stderr, told_text, strlen(told_text));
    return code;
}

enum { LONG = 20000 };
#define UNTIL(condition) for (int naps_ = 0; naps_ < LONG && !(condition); naps_++)

/* ---- what the children do ---- */

static tn_fibre *ring[3];
static atomic_int ready;
static int dummy;

static tn_fibre *named(const char *name, void *(*fn)(void *), void *arg)
{
    tn_fibre *f = NULL;
    if (tn_spawn(&f, &(struct tn_attr){.name = name}, fn, arg) != 0)
        abort();
    return f;
}

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

static __attribute__((noinline)) void *waits_in_vain(void *arg)
{
    tn_wait_prepare();
    tn_wait_note("mutex", &dummy);
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

static struct tn_config quiet(int64_t workers)
{
    struct tn_config c = with(workers, NULL);
    c.deadlock = TN_DEADLOCK_ABORT;
    c.stall_ms = 0;
    return c;
}

static int run(void *fn)
{
    struct tn_config c = quiet(2);
    void *(*first)(void *);
    memcpy(&first, fn, sizeof first);
    int rc = 0;
    tn_run(&c, first, &rc, NULL);
    return rc;
}

static char err[1 << 20];

static bool has(const char *text)
{
    return strstr(err, text) != NULL;
}

static void show(bool good, int status)
{
    if (!good)
        harness_note("status %x: %.6000s", (unsigned)status, err);
}

/* ---- deadlocks ---- */

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
    snprintf(object, sizeof object, "'lost' (waits_in_vain): waits for mutex %p\n", (void *)&dummy);
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
static atomic_bool let_go;

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

/* deadlock=dump says it once and goes on; off says nothing. A thread outside sees it, and ends the process. */
static tn_fibre *stuck_in;
static int64_t how;

static void *joins_stuck(void *arg)
{
    tn_join(stuck_in, NULL);
    return arg;
}

static void *cheerless(void *arg)
{
    return waits_in_vain(arg);
}

static int not_fatal(void *arg)
{
    struct tn_config c = quiet(1);
    tn_runtime *rt;
    c.deadlock = how;
    c.stall_ms = TN_UNSET;
    tn_start(&rt, &c);
    tn_spawn(&stuck_in, &(struct tn_attr){.name = "stuck", .runtime = rt}, cheerless, NULL);
    signal(SIGALRM, SIG_DFL);
    alarm(how == TN_DEADLOCK_DUMP ? 4 : 2); /* the only way out: no other thread may be there */
    joins_stuck(NULL);
    return arg != NULL;
}

static void test_not_fatal(void)
{
    how = TN_DEADLOCK_DUMP;
    int status = harness_child(not_fatal, NULL, err, sizeof err);
    bool good = CHECK(killed(status, SIGALRM));
    const char *once = strstr(err, "tenter: deadlock");
    good = CHECK(once != NULL && strstr(once + 1, "tenter: deadlock") == NULL) && good;
    show(good, status);
    how = TN_DEADLOCK_OFF;
    status = harness_child(not_fatal, NULL, err, sizeof err);
    good = CHECK(killed(status, SIGALRM));
    good = CHECK(err[0] == '\0') && good;
    show(good, status);
}

/* ---- no deadlock ---- */

static void *sleeps(void *arg)
{
    tn_sleep(900000000); /* the first three looks come before that */
    return arg;
}

static void *takes_long(void *arg)
{
    nap_us(900000); /* as above */
    tn_dump(STDERR_FILENO);
    return arg;
}

static void *calls(void *arg)
{
    tn_blocking(takes_long, arg, NULL);
    return arg;
}

static tn_waiter waiter;
static atomic_bool waits;

static void *waits_for_thread(void *arg)
{
    waiter = tn_wait_prepare();
    atomic_store(&waits, true);
    tn_wait(TN_FOREVER, NULL);
    return arg;
}

static bool with_watchdog;

static void *wakes_it(void *arg)
{
    while (!atomic_load(&waits))
        nap_us(1000);
    if (with_watchdog)
        UNTIL(told("only a thread outside could wake one"))
    nap_us(1000);
    else nap_us(900000);
    tn_wake(waiter);
    return arg;
}

static int outside(void *arg)
{
    struct tn_config c = quiet(2);
    pthread_t t;
    divert();
    c.stall_ms = with_watchdog ? 40 : 0;
    pthread_create(&t, NULL, wakes_it, NULL);
    int rc = tn_run(&c, waits_for_thread, arg, NULL);
    pthread_join(t, NULL);
    return undivert(rc);
}

static void test_not_stuck(void)
{
    void *(*fn)(void *) = sleeps;
    int status = harness_child(run, &fn, err, sizeof err);
    bool good = CHECK(exited(status, 0));
    good = CHECK(err[0] == '\0') && good; /* a timer will wake it */
    fn = calls;
    status = harness_child(run, &fn, err, sizeof err);
    good = CHECK(exited(status, 0)) && good; /* a call that blocks will end */
    good = CHECK(!has("deadlock")) && good;
    good = CHECK(has("'main' (calls): waits for blocking call 0x")) && good;
    with_watchdog = false;
    status = harness_child(outside, NULL, err, sizeof err);
    good = CHECK(exited(status, 0)) && good;
    good = CHECK(err[0] == '\0') && good; /* a thread outside may, and does */
    show(good, status);
}

/* ---- stalls ---- */

static void test_outside_stall(void)
{
    with_watchdog = true;
    int status = harness_child(outside, NULL, err, sizeof err);
    bool good = CHECK(exited(status, 0));
    good = CHECK(has("tenter: stall: every fibre has been blocked for 40 ms; only a thread outside")) && good;
    good = CHECK(!has("deadlock")) && good;
    show(good, status);
}

static __attribute__((noinline)) void *hogs(void *arg)
{
    UNTIL(told("'hog' (hogs): runs on worker "))
    nap_us(1000);
    return arg;
}

static void *hog_main(void *arg)
{
    tn_join(named("hog", hogs, arg), NULL);
    return arg;
}

static int hog(void *arg)
{
    struct tn_config c = quiet(2);
    divert();
    c.stall_ms = 40;
    c.monitor_us = *(int *)arg;
    return undivert(tn_run(&c, hog_main, arg, NULL));
}

static void hog_told(int monitor_us)
{
    int status = harness_child(hog, &monitor_us, err, sizeof err);
    bool good = CHECK(exited(status, 0));
    good = CHECK(has("tenter: stall: worker ")) && good;
    good = CHECK(has(" has reached no scheduling point for 40 ms\n")) && good;
    good = CHECK(has("'hog' (hogs): runs on worker ")) && good;
    if (!build_has("sanitize=thread")) /* which delays signals */
        good = CHECK(has(" hogs+0x")) && good;
    show(good, status);
}

/* The monitor asks workers to look up, as the watchdog watches whether they do: neither is in the other's way. */
static void test_hog(void)
{
    hog_told(0);
    hog_told(500);
}

/* plainlifo runs the newest: two that yield to each other starve a third one. */
static void *starved(void *arg)
{
    atomic_store(&let_go, true);
    return arg;
}

static void *yields(void *arg)
{
    UNTIL(told("'starved' has been ready"))
    for (int i = 0; i < 1000; i++)
        tn_yield();
    return arg;
}

static void *starve_main(void *arg)
{
    tn_fibre *f[3] = {named("starved", starved, arg), named("one", yields, arg), named("two", yields, arg)};
    for (int i = 3; i-- > 0;)
        tn_join(f[i], NULL);
    return arg;
}

static int starve(void *arg)
{
    struct tn_config c = quiet(1);
    divert();
    c.scheduler = "plainlifo";
    c.stall_ms = 40;
    return undivert(tn_run(&c, starve_main, arg, NULL));
}

static void test_starved(void)
{
    int status = harness_child(starve, NULL, err, sizeof err);
    bool good = CHECK(exited(status, 0));
    good = CHECK(has("tenter: stall: fibre 'starved' has been ready for 40 ms and did not run\n")) && good;
    good = CHECK(has("'starved' (starved): ready, has not run yet\n")) && good;
    show(good, status);
}

/* Nothing is said of a runtime that works. */
static void *works(void *arg)
{
    tn_time end = tn_now() + 400000000;
    while (tn_now() < end) {
        tn_join(named("child", starved, arg), NULL);
        tn_yield();
        tn_sleep(1000000);
    }
    return arg;
}

static int working(void *arg)
{
    struct tn_config c = quiet(2);
    c.stall_ms = 10000;
    return tn_run(&c, works, arg, NULL);
}

static void test_working(void)
{
    int status = harness_child(working, NULL, err, sizeof err);
    bool good = CHECK(exited(status, 0));
    good = CHECK(err[0] == '\0') && good;
    show(good, status);
}

/* ---- SIGQUIT and tn_dump ---- */

static atomic_int own;

static __attribute__((noinline)) void *sends_quit(void *arg)
{
    kill(getpid(), SIGQUIT);
    if (how == TN_SIGQUIT_DUMP)
        UNTIL(told("tenter: end of the dump"))
    nap_us(1000);
    else nap_us(200000);
    return arg;
}

static int quits(void *arg)
{
    struct tn_config c = quiet(2);
    if (atomic_load(&own) == 0)
        signal(SIGQUIT, SIG_DFL); /* a shell ignores it for what runs in the background */
    if (how == TN_SIGQUIT_DUMP)
        divert();
    c.sigquit = how;
    int rc = tn_run(&c, sends_quit, arg, NULL);
    return how == TN_SIGQUIT_DUMP ? undivert(rc) : rc;
}

static void own_handler(int signal)
{
    (void)signal;
    atomic_store(&own, 5);
}

static int quits_with_own(void *arg)
{
    atomic_store(&own, 1);
    signal(SIGQUIT, own_handler);
    int rc = quits(arg);
    return rc != 0 ? rc : atomic_load(&own);
}

static void test_sigquit(void)
{
    how = TN_SIGQUIT_DUMP;
    int status = harness_child(quits, NULL, err, sizeof err);
    bool good = CHECK(exited(status, 0));
    good = CHECK(has("tenter: SIGQUIT\n")) && good;
    good = CHECK(has("'main' (sends_quit): runs on worker")) && good;
    if (!build_has("sanitize=thread"))
        good = CHECK(has(" sends_quit+0x")) && good;
    show(good, status);
    how = TN_SIGQUIT_DIE;
    status = harness_child(quits, NULL, err, sizeof err);
    good = CHECK(killed(status, SIGQUIT));
    good = CHECK(has("tenter: end of the dump")) && good;
    show(good, status);
    how = TN_SIGQUIT_OFF;
    status = harness_child(quits, NULL, err, sizeof err);
    good = CHECK(killed(status, SIGQUIT));
    good = CHECK(err[0] == '\0') && good;
    how = TN_SIGQUIT_DIE;
    status = harness_child(quits_with_own, NULL, err, sizeof err);
    good = CHECK(exited(status, 5)) && good; /* the program's own handler stays */
    good = CHECK(err[0] == '\0') && good;
    show(good, status);
}

static void *sleeps_long(void *arg)
{
    tn_sleep(UINT64_C(3600000000000));
    return arg;
}

static void *ends(void *arg)
{
    return arg;
}

static __attribute__((noinline)) void dump_from_here(void)
{
    CHECK_EQUAL(tn_dump(STDERR_FILENO), 0);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

static void *many_states(void *arg)
{
    tn_fibre *f[4] = {named("sleeper", sleeps_long, arg), named("dead", ends, arg),
                      named("lost", waits_in_vain, arg)};
    f[3] = named("joiner", joins_next, (void *)2);
    ring[0] = f[0];
    atomic_store(&ready, 1);
    for (int i = 0; i < 1000; i++)
        tn_yield();
    named("new", ends, arg);
    dump_from_here();
    return arg;
}

static int dumps(void *arg)
{
    struct tn_config c = quiet(1);
    return tn_run(&c, many_states, arg, NULL);
}

static void test_dump(void)
{
    int status = harness_child(dumps, NULL, err, sizeof err);
    bool good = CHECK(exited(status, 0));
    good = CHECK(has("1 running, 1 ready, 2 waiting, 1 joining, 1 ended")) && good;
    good = CHECK(has("; timers run\n")) && good;
    good = CHECK(has("'sleeper' (sleeps_long): sleeps, or waits to be woken, at most 35")) && good;
    good = CHECK(has("'dead' (ends): has ended, nobody has joined it\n")) && good;
    good = CHECK(has("'lost' (waits_in_vain): waits for mutex 0x")) && good;
    good = CHECK(has("'new' (ends): ready, has not run yet\n")) && good;
    good = CHECK(has("'joiner' (joins_next): joins 0x")) && good;
    good = CHECK(has("'main' (many_states): runs on worker 0\n")) && good;
    good = CHECK(has(" dump_from_here+0x")) && good;
    good = CHECK(has(" many_states+0x")) && good;
    good = CHECK(has(" begin+0x")) && good; /* and that is where the trace ends */
    good = CHECK(!has("start_thread")) && good;
    good = CHECK(has("  worker 0, thread ")) && good;
    if (!migration_forced())
        good = CHECK(has(": runs 0x") && has("'main'; 1 ready\n")) && good;
    show(good, status);
}

/* Dumps of several threads while fibres come and go: nothing breaks, and each is whole. */
static void *churns(void *arg)
{
    while (!atomic_load(&let_go)) {
        tn_fibre *f = named("short", ends, arg);
        tn_yield();
        tn_join(f, NULL);
        tn_sleep(1000);
    }
    return arg;
}

static int dumps_each;

static void *dumper(void *fd)
{
    for (int i = 0; i < dumps_each; i++)
        CHECK_EQUAL(tn_dump(*(int *)fd), 0);
    return NULL;
}

static int storm(void *arg)
{
    struct tn_config c = quiet(3);
    tn_runtime *rt;
    pthread_t t[2];
    tn_fibre *f[4];
    FILE *file = tmpfile();
    int fd = fileno(file);
    tn_start(&rt, &c);
    for (int i = 0; i < 4; i++)
        tn_spawn(&f[i], &(struct tn_attr){.name = "churn", .runtime = rt}, churns, arg);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, dumper, &fd);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    atomic_store(&let_go, true);
    for (int i = 0; i < 4; i++)
        tn_join(f[i], NULL);
    tn_stop(rt);
    rewind(file);
    int begun = 0, ended = 0;
    char line[1024];
    while (fgets(line, sizeof line, file) != NULL) {
        begun += strcmp(line, "tenter: dump\n") == 0;
        ended += strcmp(line, "tenter: end of the dump\n") == 0;
    }
    return begun != 2 * dumps_each || ended != 2 * dumps_each;
}

static void test_storm(void)
{
    atomic_store(&let_go, false);
    dumps_each = build_has("sanitize=none") ? 50 : 5; /* a thread that is slow to stop is waited for */
    int status = harness_child(storm, NULL, err, sizeof err);
    show(CHECK(exited(status, 0)), status);
}

int main(void)
{
    static const struct test tests[] = {
        {"a cycle of joins", test_cycle},
        {"a lost wake-up", test_lost_wake},
        {"a self-join", test_self_join},
        {"two runtimes, both stuck", test_two_runtimes},
        {"a deadlock beside threads of the runtime", test_crowd},
        {"a deadlock in a child of fork", test_fork},
        {"a deadlock that need not be fatal", test_not_fatal},
        {"timers and threads outside: no deadlock", test_not_stuck},
        {"a thread outside lets all wait: stall", test_outside_stall},
        {"a hog: stall", test_hog},
        {"a starved fibre: stall", test_starved},
        {"no stall", test_working},
        {"SIGQUIT", test_sigquit},
        {"a dump of every state", test_dump},
        {"a storm of dumps", test_storm},
    };
    return HARNESS_RUN("diagnose", tests);
}
