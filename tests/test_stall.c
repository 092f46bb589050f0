/* SPDX-License-Identifier: MIT
 *
 * Stalls: a worker that reaches no scheduling point, a fibre that is ready and does not run, fibres that only a thread
 * outside could wake; and none where there is none.
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

/* ---- a thread outside lets all wait ---- */

static void *wakes_it(void *arg)
{
    UNTIL(atomic_load(&waits) && told("only a thread outside could wake one"))
    nap_us(1000);
    tn_wake(waiter);
    return arg;
}

static int outside(void *arg)
{
    struct tn_config c = quiet(2);
    pthread_t t;
    divert();
    c.stall_ms = 40;
    pthread_create(&t, NULL, wakes_it, NULL);
    int rc = tn_run(&c, waits_for_thread, arg, NULL);
    pthread_join(t, NULL);
    return undivert(rc);
}

static void test_outside_stall(void)
{
    int status = harness_child(outside, NULL, err, sizeof err);
    bool good = CHECK(exited(status, 0));
    good = CHECK(has("tenter: stall: every fibre has been blocked for 40 ms; only a thread outside")) && good;
    good = CHECK(!has("deadlock")) && good;
    show(good, status);
}

/* ---- a worker that reaches no scheduling point ---- */

static __attribute__((noinline)) void *hogs(void *name)
{
    char this[64];
    snprintf(this, sizeof this, "'%s' (hogs): runs on worker ", (const char *)name);
    UNTIL(told(this))
    nap_us(1000);
    return NULL;
}

static void *hog_main(void *arg)
{
    static char first[] = "hog", second[] = "again"; /* the one's stall does not hide the other's */
    tn_join(named(first, hogs, first), NULL);
    tn_join(named(second, hogs, second), NULL);
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
    good = CHECK(has("'again' (hogs): runs on worker ")) && good;
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

/* plainlifo runs the newest: two that yield to each other starve others, which one look finds together. */
static void *yields(void *arg)
{
    UNTIL(told("'starved' has been ready") && told("'too' has been ready"))
    for (int i = 0; i < 1000; i++)
        tn_yield();
    return arg;
}

static void *starve_main(void *arg)
{
    tn_fibre *f[4] = {named("starved", ends, arg), named("too", ends, arg), named("one", yields, arg),
                      named("two", yields, arg)};
    for (int i = 4; i-- > 0;)
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
    good = CHECK(has("tenter: stall: fibre 'too' has been ready for 40 ms and did not run\n")) && good;
    good = CHECK(has("'starved' (ends): ready, has not run yet\n")) && good;
    show(good, status);
}

/* Nothing is said of a runtime that works. */
static void *works(void *arg)
{
    tn_time end = tn_now() + 400000000;
    while (tn_now() < end) {
        tn_join(named("child", ends, arg), NULL);
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

int main(void)
{
    static const struct test tests[] = {
        {"a thread outside lets all wait", test_outside_stall},
        {"a hog, and another one", test_hog},
        {"a starved fibre", test_starved},
        {"none", test_working},
    };
    return HARNESS_RUN("stall", tests);
}
