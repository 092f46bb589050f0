/* SPDX-License-Identifier: MIT
 *
 * tn_run with one worker: the calling thread is that worker, and comes back as it was.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <tenter_io.h>
#include <unistd.h>

#include "stuck.h"

static unsigned threads_inside;
static pthread_t inside;

static void mask_one(int how)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    pthread_sigmask(how, &one, NULL);
}

static void *looks(void *arg)
{
    mask_one(SIG_BLOCK);
    threads_inside = harness_count("task");
    inside = pthread_self();
    return arg;
}

/* A second thread there is only where it is needed. */
static void test_whose_thread(void)
{
    struct tn_config alone = with(1, NULL), pinned = with(1, NULL), two = with(2, NULL);
    pinned.pin = 1;
    CHECK_EQUAL(tn_run(&alone, looks, NULL, NULL), 0); /* the first may bring a sanitizer's */
    unsigned before = harness_count("task");
    CHECK_EQUAL(tn_run(&alone, looks, NULL, NULL), 0);
    CHECK(pthread_equal(inside, pthread_self()));
    CHECK_EQUAL(threads_inside, before);
    CHECK_EQUAL(tn_run(&pinned, looks, NULL, NULL), 0);
    CHECK(!pthread_equal(inside, pthread_self()));
    CHECK_EQUAL(tn_run(&two, looks, NULL, NULL), 0);
    CHECK(!pthread_equal(inside, pthread_self()));
}

/* What a thread has of its own is the caller's again. */
static void test_as_it_was(void)
{
    struct tn_config alone = with(1, NULL), pinned = with(1, NULL);
    cpu_set_t set, after;
    sigset_t mask, mask_after;
    stack_t stack, stack_after;
    pinned.pin = 1;
    CHECK_EQUAL(sched_getaffinity(0, sizeof set, &set), 0);
    memset(&mask, 0, sizeof mask); /* of which the system writes a part */
    memset(&mask_after, 0, sizeof mask_after);
    mask_one(SIG_UNBLOCK); /* else who was here before may have blocked it */
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    sigaltstack(NULL, &stack);
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(tn_run(i == 0 ? &alone : &pinned, looks, NULL, NULL), 0);
        CHECK(tn_fibre_self() == NULL);
        CHECK_EQUAL(sched_getaffinity(0, sizeof after, &after), 0);
        CHECK(CPU_EQUAL(&set, &after));
        pthread_sigmask(SIG_BLOCK, NULL, &mask_after);
        CHECK_EQUAL(memcmp(&mask, &mask_after, sizeof mask), 0);
        sigaltstack(NULL, &stack_after);
        CHECK_EQUAL(stack.ss_flags, stack_after.ss_flags);
    }
}

/* The first fibre ends on another worker while this one sleeps, with nothing to wake it but that. */
static void *ends_elsewhere(void *arg)
{
    struct tn_config config = with(1, NULL);
    tn_cluster *other, *home = tn_cluster_self();
    CHECK_EQUAL(tn_cluster_create(NULL, &config, &other), 0);
    CHECK_EQUAL(tn_migrate(other), 0);
    CHECK(!pthread_equal(pthread_self(), *(pthread_t *)arg));
    while (!harness_sleeps(getpid())) /* the worker that the test's thread is has nothing to do */
        tn_yield();
    tn_exit(home);
    return NULL;
}

static void test_ends_elsewhere(void)
{
    static const char *const pollers[] = {NULL, TEST_IN_POLLER};
    pthread_t me = pthread_self();
    for (int i = 0; i < 200; i++) {
        struct tn_config config = with(1, NULL);
        void *value = NULL;
        config.deadlock = TN_DEADLOCK_OFF; /* else it looks up now and then */
        config.poller = pollers[i % 2];
        CHECK_EQUAL(tn_run(&config, ends_elsewhere, &me, &value), 0);
        CHECK(value != NULL);
    }
}

static void *refused(void *arg)
{
    tn_cluster *other;
    *(int *)arg = tn_cluster_create(NULL, NULL, &other);
    return arg;
}

static void test_whose_runtime(void)
{
    int rc = 0;
    pthread_t t;
    CHECK_EQUAL(pthread_create(&t, NULL, refused, &rc), 0);
    pthread_join(t, NULL);
    CHECK_EQUAL(rc, EPERM); /* of which runtime? */
}

/* Who cancels the thread meanwhile does so when it has come back. */
static int came_back;

static void *cancels(void *arg)
{
    struct timespec moment = {0, 1000};
    pthread_cancel(pthread_self());
    nanosleep(&moment, NULL); /* where a thread is cancelled */
    return arg;
}

static void *is_cancelled(void *arg)
{
    struct tn_config config = with(1, NULL);
    int rc = tn_run(&config, cancels, NULL, NULL);
    came_back += rc == 0;
    pthread_testcancel();
    return arg;
}

static void test_cancelled(void)
{
    pthread_t t;
    void *value;
    CHECK_EQUAL(pthread_create(&t, NULL, is_cancelled, NULL), 0);
    pthread_join(t, &value);
    CHECK_EQUAL(came_back, 1);
    CHECK(value == PTHREAD_CANCELED);
}

/* What only the caller's stack points to is not lost where a fibre ends the process (with -Dsanitize=address). */
static void *ends_the_process(void *arg)
{
    exit(arg != NULL);
}

/* Not where the sanitizer would keep its variables (detect_stack_use_after_return), but on the stack itself. */
static __attribute__((noinline, no_sanitize("address"))) int keeps(void *arg)
{
    struct tn_config config = with(1, NULL);
    void *volatile kept = malloc(100);
    int rc = tn_run(&config, ends_the_process, arg, NULL);
    free(kept);
    return rc;
}

static void test_keeps(void)
{
    int status = harness_child(keeps, NULL, err, sizeof err);
    bool good = CHECK(exited(status, 0));
    good = CHECK(!has("leak")) && good;
    show(good, status);
}

/* Nobody else looks for a deadlock: the worker does, wherever it sleeps. */
static int alone_in_vain(void *poller)
{
    struct tn_config config = quiet(1);
    config.poller = poller;
    return tn_run(&config, waits_in_vain, NULL, NULL);
}

static void test_deadlock(void)
{
    static const char *const pollers[] = {NULL, TEST_IN_POLLER};
    for (int i = 0; i < 2; i++) {
        int status = harness_child(alone_in_vain, (void *)(uintptr_t)pollers[i], err, sizeof err);
        bool good = CHECK(killed(status, SIGABRT));
        good = CHECK(has("tenter: deadlock: every fibre is blocked")) && good;
        good = CHECK(has("waits_in_vain+0x")) && good;
        show(good, status);
    }
}

/* Two of them, and each waits for what the other does not do. */
static void *second_alone(void *arg)
{
    alone_in_vain(NULL);
    return arg;
}

static int two_in_vain(void *arg)
{
    pthread_t t;
    return pthread_create(&t, NULL, second_alone, NULL) != 0 ? 1 : alone_in_vain(arg);
}

static void test_two_deadlocked(void)
{
    int status = harness_child(two_in_vain, NULL, err, sizeof err);
    bool good = CHECK(killed(status, SIGABRT));
    good = CHECK(has("tenter: deadlock: every fibre is blocked")) && good;
    show(good, status);
}

/* With other workers a descriptor may be closed, and a timer come, while this one waits for them. */
static void *ends_late(void *arg)
{
    tn_sleep(2000000);
    return arg;
}

static void *waits_with_more(void *arg)
{
    int fd[2];
    char c;
    tn_workers_add(tn_cluster_self(), 2);
    nap_us(20000);
    if (pipe(fd) != 0 || tn_spawn(NULL, NULL, ends_late, arg) != 0)
        return NULL;
    nap_us(20000);
    tn_read_until(fd[0], &c, 1, tn_now() + 100000000, NULL);
    tn_close(fd[0]);
    return waits_in_vain(arg);
}

static int with_more_in_vain(void *arg)
{
    struct tn_config config = quiet(1);
    return tn_run(&config, waits_with_more, arg, NULL);
}

static void test_with_more(void)
{
    int status = harness_child(with_more_in_vain, NULL, err, sizeof err);
    bool good = CHECK(killed(status, SIGABRT));
    good = CHECK(has("tenter: deadlock: every fibre is blocked")) && good;
    show(good, status);
}

/* Signals that come more often than somebody looks put that off no further. */
static void passes(int number)
{
    (void)number;
}

static int interrupted_in_vain(void *workers)
{
    struct tn_config config = quiet((intptr_t)workers);
    struct itimerval often = {{0, 300}, {0, 300}};
    signal(SIGALRM, passes);
    setitimer(ITIMER_REAL, &often, NULL);
    return tn_run(&config, waits_in_vain, NULL, NULL);
}

static void test_interrupted(void)
{
    for (intptr_t workers = 1; workers <= 2; workers++) {
        int status = harness_child(interrupted_in_vain, (void *)workers, err, sizeof err);
        bool good = CHECK(killed(status, SIGABRT));
        good = CHECK(has("tenter: deadlock: every fibre is blocked")) && good;
        show(good, status);
    }
}

/* What a plain thread will wake is no deadlock. */
static void *wakes_later(void *arg)
{
    UNTIL(atomic_load(&waits))
    nap_us(1000);
    nap_us(400000); /* longer than some looks are apart */
    tn_wake(waiter);
    return arg;
}

static int woken_from_outside(void *arg)
{
    pthread_t t;
    struct tn_config config = quiet(1);
    if (pthread_create(&t, NULL, wakes_later, NULL) != 0)
        return 1;
    int rc = tn_run(&config, waits_for_thread, arg, NULL);
    pthread_join(t, NULL);
    return rc;
}

static void test_no_deadlock(void)
{
    int status = harness_child(woken_from_outside, NULL, err, sizeof err);
    bool good = CHECK(exited(status, 0));
    good = CHECK(!has("deadlock")) && good;
    show(good, status);
}

int main(void)
{
    static const struct test tests[] = {
        {"whose thread it is", test_whose_thread},
        {"it comes back as it was", test_as_it_was},
        {"the first fibre ends elsewhere", test_ends_elsewhere},
        {"a cluster of whose runtime", test_whose_runtime},
        {"cancelled meanwhile", test_cancelled},
        {"a fibre ends the process", test_keeps},
        {"a deadlock, and nobody else to look", test_deadlock},
        {"two of them in a deadlock", test_two_deadlocked},
        {"a deadlock, and other workers", test_with_more},
        {"a deadlock, and signals", test_interrupted},
        {"no deadlock", test_no_deadlock},
    };
    return HARNESS_RUN("lent", tests);
}
