/* SPDX-License-Identifier: MIT
 *
 * fork: a child that execs, from a plain thread, from a fibre and from a blocking call; one that goes on is refused the
 * parent's runtimes, and may start its own.
 */
#include "harness.h"

#include "tenter_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static tn_runtime *rt;
static tn_fibre *waits, *ended;
static tn_waiter waiter;
static atomic_bool is_there; /* who waits with it */
static tn_token token;

static void *echo(void *arg)
{
    return arg;
}

static void *wait_here(void *arg)
{
    waiter = tn_wait_prepare();
    atomic_store(&is_there, true);
    CHECK_EQUAL(tn_wait(TN_FOREVER, NULL), 0);
    return arg;
}

static void start(void)
{
    struct tn_config c = with(2, NULL);
    c.poller = TEST_IN_POLLER; /* with a descriptor */
    atomic_store(&is_there, false);
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    CHECK_EQUAL(tn_spawn(&waits, &(struct tn_attr){.runtime = rt}, wait_here, NULL), 0);
    CHECK_EQUAL(tn_spawn(&ended, &(struct tn_attr){.runtime = rt}, echo, NULL), 0);
    CHECK(EVENTUALLY(atomic_load(&is_there)));
    nap_us(2000);
}

/* The parent's runtime is as it was. */
static void stop(void)
{
    CHECK(tn_wake(waiter));
    CHECK_EQUAL(tn_join(waits, NULL), 0);
    CHECK_EQUAL(tn_join(ended, NULL), 0);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- exec: the new program has no descriptor of the parent's runtime ---- */

static void exec_shell(void)
{
    execl("/bin/sh", "sh", "-c", "n=0; for f in /proc/self/fd/*; do n=$((n + 1)); done; exit $n", (char *)NULL);
    _exit(99);
}

static unsigned open_now(void)
{
    pid_t child = fork();
    int status = 0;
    if (child == 0)
        exec_shell();
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 99;
}

static void *open_in_fibre(void *arg)
{
    *(unsigned *)arg = open_now();
    return NULL;
}

static void *open_in_call(void *arg)
{
    tn_blocking(open_in_fibre, arg, NULL);
    return NULL;
}

static void test_exec(void)
{
    unsigned before = open_now(), in_fibre = 0, in_call = 0;
    tn_fibre *f;
    CHECK(before > 0 && before < 90);
    start();
    CHECK_EQUAL(open_now(), before);
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, open_in_fibre, &in_fibre), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, open_in_call, &in_call), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK_EQUAL(in_fibre, before);
    CHECK_EQUAL(in_call, before);
    stop();
}

/* ---- going on ---- */

/* Bits of what is wrong. Nothing of the test harness in the child: other threads may hold its locks. */
static int refused(void)
{
    tn_fibre *f;
    tn_cluster *cl = tn_cluster_first(rt), *other;
    struct tn_config c = with(1, NULL);
    uintptr_t handle;
    int wrong = 0;
    wrong |= (tn_fibre_self() != NULL || tn_worker_self() != -1) << 0;
    wrong |= (tn_spawn(&f, &(struct tn_attr){.runtime = rt}, echo, NULL) != EPERM) << 1;
    wrong |= (tn_spawn(&f, NULL, echo, NULL) != EPERM || tn_sleep(1) != EPERM || tn_migrate(cl) != EPERM) << 2;
    wrong |= (tn_join(waits, NULL) != EPERM || tn_join(ended, NULL) != EPERM || tn_detach(waits) != EPERM) << 3;
    wrong |= (tn_wake(waiter)) << 4;
    wrong |= (tn_stop(rt) != EPERM || tn_cluster_create(rt, &c, &other) != EPERM) << 5;
    wrong |= (tn_workers_add(cl, 1) != EPERM || tn_workers_remove(cl, 1) != EPERM || tn_workers(cl) != 0 ||
              tn_worker_thread(cl, 0, &handle) != EPERM)
             << 6;
    return wrong;
}

static void *waits_with_token(void *arg)
{
    tn_wait_prepare();
    return tn_wait(TN_FOREVER, &token) == ECANCELED ? arg : NULL;
}

static void *spawn_in_child(void *arg)
{
    tn_fibre *f;
    void *value = NULL;
    for (int i = 0; i < 50; i++)
        if (tn_spawn(&f, NULL, echo, arg) != 0 || tn_join(f, &value) != 0 || value != arg)
            return NULL;
    if (tn_spawn(&f, &(struct tn_attr){.runtime = rt}, echo, NULL) != EPERM) /* still refused, to fibres too */
        return NULL;
    if (tn_join(waits, NULL) != EPERM || tn_join_until(waits, NULL, tn_now(), NULL) != EPERM ||
        tn_join(ended, NULL) != EPERM || tn_detach(waits) != EPERM || tn_wake(waiter))
        return NULL;
    if (tn_spawn(&f, NULL, waits_with_token, arg) != 0)
        return NULL;
    tn_yield();
    tn_token_fire(&token);
    if (tn_join(f, &value) != 0 || value != arg || !tn_token_fired(&token))
        return NULL;
    return tn_blocking(echo, arg, &value) == 0 && tn_sleep(1000) == 0 ? value : NULL;
}

static int goes_on(void)
{
    struct tn_config c = with(2, NULL);
    void *value = NULL;
    int wrong = refused();
    if (wrong == 0 && !build_has("sanitize=thread")) /* which knows no thread that is made in such a child */
        wrong = tn_run(&c, spawn_in_child, &c, &value) != 0 || value != &c ? 1 << 7 : 0;
    return wrong;
}

struct in_child {
    int (*fn)(void);
    int status;
    char said[1024];
};

static void *fork_and(void *arg)
{
    struct in_child *in = arg;
    int out[2];
    size_t n = 0;
    ssize_t got;
    if (pipe2(out, O_CLOEXEC) != 0)
        return NULL;
    pid_t child = fork();
    if (child == 0) {
        dup2(out[1], STDERR_FILENO);
        harness_watchdog(30);
        if (in->fn == NULL)
            return NULL; /* out of the fibre's function */
        _exit(in->fn());
    }
    close(out[1]);
    while ((got = read(out[0], in->said + n, sizeof in->said - 1 - n)) > 0)
        n += (size_t)got;
    in->said[n] = '\0';
    close(out[0]);
    waitpid(child, &in->status, 0);
    return NULL;
}

static void *fork_in_call(void *arg)
{
    tn_blocking(fork_and, arg, NULL);
    return NULL;
}

static void went_on(const struct in_child *in, const char *where)
{
    bool good = CHECK(exited(in->status, 0));
    const char *line = strstr(in->said, "refused in a child of fork()");
    good = CHECK(line != NULL && strstr(line + 1, "refused") == NULL) && good; /* said once */
    if (!good)
        harness_note("from a %s: status %x, it said: %s", where, (unsigned)in->status, in->said);
}

static void in_fibre(void *(*fn)(void *), struct in_child *in)
{
    tn_fibre *f;
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, fn, in), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
}

static void test_goes_on(void)
{
    struct in_child in = {.fn = goes_on};
    tn_token_init(&token);
    start();
    fork_and(&in);
    went_on(&in, "plain thread");
    in_fibre(fork_and, &in);
    went_on(&in, "fibre");
    in_fibre(fork_in_call, &in);
    went_on(&in, "blocking call");
    stop();
}

/* Of the parent's token the child's firing tells nobody in the parent, and it ends, whoever was at the token when the
 * process forked. */
static atomic_bool enough;

static void *comes_and_goes(void *arg)
{
    while (!atomic_load(&enough))
        tn_sleep_until(tn_now() + 1, &token);
    return arg;
}

static int fires(void)
{
    tn_token_fire(&token);
    return !tn_token_fired(&token);
}

static void test_token(void)
{
    struct in_child in = {.fn = fires};
    tn_fibre *with_token, *busy[2];
    tn_token_init(&token);
    start();
    atomic_store(&enough, false);
    CHECK_EQUAL(tn_spawn(&with_token, &(struct tn_attr){.runtime = rt}, waits_with_token, &token), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_spawn(&busy[i], &(struct tn_attr){.runtime = rt}, comes_and_goes, NULL), 0);
    for (int i = 0; i < 40; i++) {
        fork_and(&in);
        if (!CHECK(exited(in.status, 0)))
            break;
    }
    CHECK(!tn_token_fired(&token));
    atomic_store(&enough, true);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_join(busy[i], NULL), 0);
    tn_token_fire(&token);
    void *value = NULL;
    CHECK_EQUAL(tn_join(with_token, &value), 0);
    CHECK(value == &token);
    stop();
}

static void test_returns(void)
{
    struct in_child in = {.fn = NULL};
    start();
    in_fibre(fork_and, &in);
    CHECK(killed(in.status, 6));
    CHECK(strstr(in.said, "its worker stayed in the parent") != NULL);
    stop();
}

/* ---- in the middle of something ---- */

/* Another thread of the parent writes a dump, with its workers stopped. The child's own dump ends, and is its own. */
static int pipe_in;

static int dumps_anew(void)
{
    struct tn_config c = with(1, NULL);
    tn_runtime *own;
    char text[64] = "";
    FILE *file = tmpfile();
    if (file == NULL || tn_start(&own, &c) != 0)
        return 1;
    if (tn_dump(fileno(file)) != 0 || tn_stop(own) != 0)
        return 2;
    return pread(fileno(file), text, sizeof text - 1, 0) < 12 || strncmp(text, "tenter: dump\n", 13) != 0 ? 3 : 0;
}

static void *dumps_to_pipe(void *arg)
{
    CHECK_EQUAL(tn_dump(pipe_in), 0);
    return arg;
}

static void test_in_dump(void)
{
    enum { FIBRES = 100 };
    if (build_has("sanitize=thread"))
        SKIP("ThreadSanitizer knows no thread that is made in such a child");
    struct in_child in = {.fn = dumps_anew};
    struct tn_config c = with(2, NULL);
    int ends[2], there = 0;
    char drain[4096];
    pthread_t t;
    CHECK_EQUAL(pipe2(ends, O_CLOEXEC), 0);
    fcntl(ends[1], F_SETPIPE_SZ, 4096); /* full long before a dump of so many fibres is over */
    pipe_in = ends[1];
    tn_token_init(&token);
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    tn_fibre *f[FIBRES];
    for (int i = 0; i < FIBRES; i++)
        CHECK_EQUAL(tn_spawn(&f[i], &(struct tn_attr){.runtime = rt}, waits_with_token, NULL), 0);
    pthread_create(&t, NULL, dumps_to_pipe, NULL);
    CHECK(EVENTUALLY(ioctl(ends[0], FIONREAD, &there) == 0 && there > 0));
    fork_and(&in);
    if (!CHECK(exited(in.status, 0)))
        harness_note("status %x, it said: %s", (unsigned)in.status, in.said);
    struct pollfd poll_it = {.fd = ends[0], .events = POLLIN};
    bool over = false;
    while (!over) {
        while (poll(&poll_it, 1, 10) > 0)
            (void)!read(ends[0], drain, sizeof drain);
        over = pthread_tryjoin_np(t, NULL) == 0;
    }
    close(ends[0]);
    close(ends[1]);
    tn_token_fire(&token);
    for (int i = 0; i < FIBRES; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* Another thread of the parent starts a runtime: it is at the first system call of those that install the handler of
 * faults, where it waits until the process has forked. */
static atomic_bool armed, arrived, forked;

int __real_sigaction(int number, const struct sigaction *now, struct sigaction *was);
int __wrap_sigaction(int number, const struct sigaction *now, struct sigaction *was);

int __wrap_sigaction(int number, const struct sigaction *now, struct sigaction *was)
{
    if (number == SIGSEGV && atomic_load(&armed)) {
        atomic_store(&arrived, true);
        while (!atomic_load(&forked))
            nap_us(500);
    }
    return __real_sigaction(number, now, was);
}

static int starts(void)
{
    struct tn_config c = with(1, NULL);
    void *value = NULL;
    atomic_store(&armed, false);
    return tn_run(&c, echo, &c, &value) != 0 || value != &c;
}

static void *starts_slowly(void *arg)
{
    struct tn_config c = with(1, NULL);
    tn_runtime *own;
    CHECK_EQUAL(tn_start(&own, &c), 0);
    CHECK_EQUAL(tn_stop(own), 0);
    return arg;
}

static void test_in_start(void)
{
    if (build_has("sanitize=thread"))
        SKIP("ThreadSanitizer knows no thread that is made in such a child");
    struct in_child in = {.fn = starts};
    pthread_t t;
    atomic_store(&armed, true);
    pthread_create(&t, NULL, starts_slowly, NULL);
    CHECK(EVENTUALLY(atomic_load(&arrived)));
    fork_and(&in);
    if (!CHECK(exited(in.status, 0)))
        harness_note("status %x, it said: %s", (unsigned)in.status, in.said);
    atomic_store(&armed, false);
    atomic_store(&forked, true);
    pthread_join(t, NULL);
    CHECK_EQUAL(starts(), 0);
}

/* ---- who waited in the parent, fibre or thread, is not there in the child: nothing is handed over to it ---- */

static tn_sem sem = TN_SEM_INIT(0, 0);
static tn_mutex baton;
static tn_channel channel = TN_CHANNEL_INIT(NULL, 1, 0);

static void *waits_for_unit(void *arg)
{
    CHECK_EQUAL(tn_sem_wait(&sem), 0);
    return arg;
}

static void *waits_for_baton(void *arg)
{
    CHECK_EQUAL(tn_mutex_lock(&baton), 0);
    CHECK_EQUAL(tn_mutex_unlock(&baton), 0);
    return arg;
}

static void *waits_for_item(void *item)
{
    CHECK_EQUAL(tn_channel_receive(&channel, item), 0);
    return item;
}

static int has_it(void)
{
    return tn_sem_post(&sem) != 0 || tn_sem_trywait(&sem) != 0 || tn_mutex_unlock(&baton) != 0 ||
           tn_mutex_trylock(&baton) != 0 || tn_channel_trysend(&channel, "x") != EAGAIN;
}

static void test_waited(void)
{
    void *(*const fn[])(void *) = {waits_for_unit, waits_for_baton, waits_for_item};
    struct in_child in = {.fn = has_it};
    tn_fibre *f[3];
    pthread_t thread[3];
    char item[2];
    CHECK_EQUAL(tn_mutex_init(&baton, &(struct tn_mutex_attr){TN_MUTEX_BATON, TN_MUTEX_NORMAL}), 0);
    CHECK_EQUAL(tn_mutex_lock(&baton), 0);
    start();
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(pthread_create(&thread[i], NULL, fn[i], &item[0]), 0);
        CHECK_EQUAL(tn_spawn(&f[i], &(struct tn_attr){.runtime = rt}, fn[i], &item[1]), 0);
    }
    nap_us(20000); /* each is in its wait, as a rule */
    fork_and(&in);
    CHECK(exited(in.status, 0));
    CHECK_EQUAL(tn_sem_post_n(&sem, 2), 0);
    CHECK_EQUAL(tn_mutex_unlock(&baton), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_channel_send(&channel, "x"), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(pthread_join(thread[i], NULL), 0);
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    }
    stop();
}

int main(void)
{
    static const struct test tests[] = {
        {"a child that execs", test_exec},
        {"a child that goes on", test_goes_on},
        {"a token of the parent", test_token},
        {"who waited in the parent", test_waited},
        {"a fibre that returns in a child", test_returns},
        {"while another thread dumps", test_in_dump},
        {"while another thread starts a runtime", test_in_start},
    };
    return HARNESS_RUN("fork", tests);
}
