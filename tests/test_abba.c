/* SPDX-License-Identifier: MIT
 *
 * Two fibres that take two mutexes in two orders: each is told with the mutex that it waits for.
 */
#include "stuck.h"

#include "tenter_sync.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

/* Each has one mutex and wants the other's. */
static tn_mutex crossed[2] = {TN_MUTEX_INIT, TN_MUTEX_INIT};
static atomic_int crossing;

static __attribute__((noinline)) void *takes_both(void *which)
{
    tn_mutex_lock(&crossed[(uintptr_t)which]);
    for (atomic_fetch_add(&crossing, 1); atomic_load(&crossing) < 2;)
        tn_yield();
    tn_mutex_lock(&crossed[1 - (uintptr_t)which]);
    return NULL;
}

static void *abba(void *arg)
{
    tn_fibre *a = named("abe", takes_both, (void *)0), *b = named("bea", takes_both, (void *)1);
    tn_join(a, NULL);
    tn_join(b, NULL);
    return arg;
}

static void test_abba(void)
{
    void *(*fn)(void *) = abba;
    char wanted[2][80];
    snprintf(wanted[0], sizeof wanted[0], "'abe' (takes_both): waits for mutex %p\n", (void *)&crossed[1]);
    snprintf(wanted[1], sizeof wanted[1], "'bea' (takes_both): waits for mutex %p\n", (void *)&crossed[0]);
    int status = harness_child(run, &fn, err, sizeof err);
    bool good = CHECK(killed(status, SIGABRT));
    good = CHECK(has("tenter: deadlock: every fibre is blocked")) && good;
    good = CHECK(has(wanted[0]) && has(wanted[1])) && good;
    good = CHECK(has("takes_both+0x")) && good;
    good = CHECK(has("'main' (abba): joins ")) && good;
    show(good, status);
}

int main(void)
{
    static const struct test tests[] = {{"two mutexes in two orders", test_abba}};
    return HARNESS_RUN("abba", tests);
}
