/* SPDX-License-Identifier: MIT
 *
 * What looks like a deadlock and is none: nothing is said of it. When it is one: test_deadlock.c.
 */
#include "stuck.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* A thread outside, in the kernel, may still wake one: each of these does. */
enum outside_in { IN_NANOSLEEP, IN_BLOCKING, OUTSIDES };

static void *naps_long(void *arg)
{
    nap_us(900000); /* the first three looks come before that */
    return arg;
}

static void *wakes_it(void *in)
{
    while (!atomic_load(&waits))
        nap_us(1000);
    if (*(enum outside_in *)in == IN_BLOCKING) /* on a plain thread the call runs right there */
        tn_blocking(naps_long, NULL, NULL);
    else
        naps_long(NULL);
    tn_wake(waiter);
    return NULL;
}

static int outside(void *in)
{
    struct tn_config c = quiet(2);
    pthread_t t;
    pthread_create(&t, NULL, wakes_it, in);
    int rc = tn_run(&c, waits_for_thread, NULL, NULL);
    pthread_join(t, NULL);
    return rc;
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
    good = CHECK(!has("tenter: deadlock")) && good;
    good = CHECK(has("'main' (calls): waits for blocking call takes_long 0x")) && good;
    show(good, status);
}

static void test_outside(void)
{
    for (enum outside_in in = IN_NANOSLEEP; in < OUTSIDES; in++) {
        int status = harness_child(outside, &in, err, sizeof err);
        bool good = CHECK(exited(status, 0));
        good = CHECK(err[0] == '\0') && good;
        show(good, status);
    }
}

/* A worker has run between the two looks: what was seen in between was not of one moment. Here that happens when the threads
 * are counted for the second time, so that both looks find all idle, and there is a thread outside by then. */
unsigned __real_tn_thread_count(void);
unsigned __wrap_tn_thread_count(void);

static atomic_int counts = -1; /* of the threads, left until something happens; < 0: nothing will */
static atomic_bool back;
static tn_cluster *home;

unsigned __wrap_tn_thread_count(void)
{
    unsigned n = __real_tn_thread_count();
    if (atomic_load(&counts) >= 0 && atomic_fetch_sub(&counts, 1) == 0) {
        uint64_t before = counter(home, "park");
        tn_wake(waiter);
        (void)(EVENTUALLY(atomic_load(&back)) && (!counting() || EVENTUALLY(counter(home, "park") > before)));
    }
    return n;
}

static void *wakes_late(void *arg)
{
    nap_us(500000); /* the look that has begun is over by then; if not, it finds a worker at work */
    tn_wake(waiter);
    return arg;
}

static void *comes_back(void *arg)
{
    pthread_t t;
    home = tn_cluster_self();
    waiter = tn_wait_prepare();
    atomic_store(&counts, 1);
    tn_wait(TN_FOREVER, NULL);
    pthread_create(&t, NULL, wakes_late, NULL);
    waiter = tn_wait_prepare();
    atomic_store(&back, true);
    tn_wait(TN_FOREVER, NULL);
    pthread_join(t, NULL);
    return arg;
}

static void test_between_looks(void)
{
    void *(*fn)(void *) = comes_back;
    int status = harness_child(run, &fn, err, sizeof err);
    bool good = CHECK(exited(status, 0));
    good = CHECK(err[0] == '\0') && good;
    show(good, status);
}

/* A fibre is ready, though its scheduler does not run it: no deadlock, whatever else it is. */
static const char *forgets;

static void *spawns_forgotten(void *arg)
{
    named("forgotten", ends, arg);
    return waits_in_vain(arg);
}

static int forgotten(void *arg)
{
    struct tn_config c = quiet(1);
    c.scheduler = forgets;
    signal(SIGALRM, SIG_DFL);
    alarm(1); /* the first three looks come before that */
    return tn_run(&c, spawns_forgotten, arg, NULL);
}

static void test_forgotten(void)
{
    int status = harness_child(forgotten, NULL, err, sizeof err);
    bool good = CHECK(killed(status, SIGALRM));
    good = CHECK(!has("tenter: deadlock")) && good;
    show(good, status);
}
int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"a short timer, a call that blocks", test_not_stuck},
        {"threads outside, in the kernel", test_outside},
        {"a worker ran between the looks", test_between_looks},
        {"a ready fibre that nobody runs", test_forgotten},
    };
    forgets = argc > 1 ? argv[1] : "";
    return HARNESS_RUN("nodeadlock", tests);
}
