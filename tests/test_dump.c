/* SPDX-License-Identifier: MIT
 *
 * SIGQUIT and tn_dump: each state of a fibre has its words; the program's own handler stays; storms of dumps are whole.
 */
#include "stuck.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- SIGQUIT and tn_dump ---- */

static atomic_int own;
static int64_t how;

static __attribute__((noinline)) void *sends_quit(void *arg)
{
    kill(getpid(), SIGQUIT);
    UNTIL((how == TN_SIGQUIT_DUMP && told("tenter: end of the dump")) || atomic_load(&own) == 5)
    nap_us(1000); /* else it ends the process */
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

/* Ctrl-\ ends a program whose dump nobody reads: a thread is stuck in writing it; the signal meets it, or another one. */
static atomic_bool hits_writer;

static void *writes_to_nobody(void *arg)
{
    sigset_t quit;
    sigemptyset(&quit);
    sigaddset(&quit, SIGQUIT);
    pthread_sigmask(atomic_load(&hits_writer) ? SIG_UNBLOCK : SIG_BLOCK, &quit, NULL);
    tn_dump(STDERR_FILENO);
    return arg;
}

static int stuck_in_writing(void *arg)
{
    enum { FIBRES = 100 };
    struct tn_config c = quiet(2);
    int ends[2], there = 0;
    tn_runtime *rt;
    pthread_t t;
    sigset_t quit;
    signal(SIGQUIT, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    alarm(60); /* how it ends where SIGQUIT does nothing */
    c.sigquit = TN_SIGQUIT_DIE;
    sigemptyset(&quit);
    sigaddset(&quit, SIGQUIT);
    if (pipe(ends) != 0 || tn_start(&rt, &c) != 0)
        return 1;
    fcntl(ends[1], F_SETPIPE_SZ, 4096); /* full long before a dump of so many fibres is over */
    dup2(ends[1], STDERR_FILENO);
    for (int i = 0; i < FIBRES; i++)
        tn_spawn(NULL, &(struct tn_attr){.name = "lost", .runtime = rt}, waits_in_vain, arg);
    if (atomic_load(&hits_writer))
        pthread_sigmask(SIG_BLOCK, &quit, NULL);
    pthread_create(&t, NULL, writes_to_nobody, NULL);
    if (!EVENTUALLY(ioctl(ends[0], FIONREAD, &there) == 0 && there > 0))
        return 2;
    if (atomic_load(&hits_writer))
        pthread_kill(t, SIGQUIT);
    else
        kill(getpid(), SIGQUIT);
    for (;;)
        pause();
}

static void test_stuck_in_writing(void)
{
    int ways = build_has("sanitize=thread") ? 1 : 2; /* which keeps signals back while a thread writes */
    for (int i = 0; i < ways; i++) {
        atomic_store(&hits_writer, i != 0);
        int status = harness_child(stuck_in_writing, NULL, err, sizeof err);
        show(CHECK(killed(status, SIGQUIT)), status);
    }
}

static void *sleeps_long(void *arg)
{
    tn_sleep(UINT64_C(3600000000000));
    return arg;
}

static tn_fibre *joined;

static void *joins(void *arg)
{
    tn_join(joined, NULL);
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
    joined = f[0];
    f[3] = named("joiner", joins, arg);
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
    good = CHECK(has("'sleeper' (sleeps_long): sleeps, or waits to be woken, at most 3")) && good;
    good = CHECK(has("'dead' (ends): has ended, nobody has joined it\n")) && good;
    good = CHECK(has("'lost' (waits_in_vain): waits for mutex 0x")) && good;
    good = CHECK(has("'new' (ends): ready, has not run yet\n")) && good;
    good = CHECK(has("'joiner' (joins): joins 0x")) && good;
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

static atomic_bool let_go;

/* While a worker does not stop, no fibre that it may resume is walked: none of those that are parked. */
static void *deaf(void *arg)
{
    sigset_t urgent;
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    pthread_sigmask(SIG_BLOCK, &urgent, NULL);
    atomic_store(&own, 1);
    while (!atomic_load(&let_go))
        nap_us(500);
    pthread_sigmask(SIG_UNBLOCK, &urgent, NULL);
    return arg;
}

static int dumps_beside_deaf(void *arg)
{
    struct tn_config c = quiet(1);
    tn_runtime *rt;
    tn_fibre *f;
    tn_start(&rt, &c);
    tn_spawn(NULL, &(struct tn_attr){.name = "lost", .runtime = rt}, waits_in_vain, arg);
    tn_spawn(&f, &(struct tn_attr){.name = "deaf", .runtime = rt}, deaf, arg);
    bool began = EVENTUALLY(atomic_load(&own) == 1);
    int rc = tn_dump(STDERR_FILENO);
    atomic_store(&let_go, true);
    tn_join(f, NULL);
    return !began || rc != 0;
}

static void test_deaf(void)
{
    atomic_store(&own, 0);
    atomic_store(&let_go, false);
    int status = harness_child(dumps_beside_deaf, NULL, err, sizeof err);
    bool good = CHECK(exited(status, 0));
    good = CHECK(has("'deaf'; 0 ready; did not stop\n") || migration_forced()) && good;
    good = CHECK(has("'deaf' (deaf): runs on worker 0\n")) && good;
    good = CHECK(has("'lost' (waits_in_vain): waits for mutex 0x")) && good;
    if (!build_has("sanitize=thread")) { /* which delays signals so that few ever stop */
        good = CHECK(has("    (a worker's thread did not stop, so there is no back-trace)\n")) && good;
        good = CHECK(!has("waits_in_vain+0x")) && good;
    }
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
        {"SIGQUIT", test_sigquit},  {"SIGQUIT while nobody reads", test_stuck_in_writing},
        {"every state", test_dump}, {"a worker that does not stop", test_deaf},
        {"a storm", test_storm},
    };
    return HARNESS_RUN("dump", tests);
}
