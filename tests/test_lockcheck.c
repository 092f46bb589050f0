/* SPDX-License-Identifier: MIT
 *
 * A build that checks locks: a mutex of the operating system held over a scheduling point is reported with the places of
 * both; one that is not, never.
 */
#include "harness.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

/* Not static, for their names to stand in the back-traces (the program is linked so that they can). */
void place_that_locks(int how);
void place_that_switches(int how);

__attribute__((noinline)) void place_that_locks(int how)
{
    if (how % 2 == 0)
        pthread_mutex_lock(&mutex);
    else
        pthread_mutex_trylock(&mutex);
    __asm__ volatile(""); /* no jump in place of the call */
}

static void *echo(void *arg)
{
    return arg;
}

__attribute__((noinline)) void place_that_switches(int how)
{
    tn_fibre *f;
    switch (how) {
    case 0:
    case 1:
        tn_yield();
        break;
    case 2:
        tn_sleep(1000);
        break;
    case 3:
        tn_blocking(echo, NULL, NULL);
        break;
    default:
        tn_spawn(&f, NULL, echo, NULL);
        tn_join(f, NULL);
    }
    __asm__ volatile("");
}

static void *wrong_fibre(void *how)
{
    pthread_mutex_lock(&other); /* what was given back is not the culprit */
    place_that_locks(*(int *)how);
    pthread_mutex_unlock(&other);
    place_that_switches(*(int *)how);
    return NULL;
}

static int wrong(void *how)
{
    struct tn_config c = with(1, NULL);
    tn_runtime *rt;
    tn_fibre *f;
    if (tn_start(&rt, &c) != 0 ||
        tn_spawn(&f, &(struct tn_attr){.name = "culprit", .runtime = rt}, wrong_fibre, how) != 0)
        return 2;
    tn_join(f, NULL);
    return 0;
}

static void test_found(void)
{
    for (int how = 0; how < 5; how++) {
        static char err[16384];
        int status = harness_child(wrong, &how, err, sizeof err);
        const char *locked = strstr(err, "place_that_locks"), *at = strstr(err, "place_that_switches");
        bool good = CHECK(killed(status, 6));
        good = CHECK(strstr(err, "fibre 'culprit' holds a pthread_mutex") != NULL) && good;
        good = CHECK(locked != NULL && at != NULL && locked < at) && good;
        if (!good)
            harness_note("way %d, status %x: %.3000s", how, (unsigned)status, err);
    }
}

static void *keep_locked(void *arg)
{
    pthread_mutex_lock(&mutex);
    return arg;
}

static int exits_with_it(void *arg)
{
    struct tn_config c = with(1, NULL);
    return tn_run(&c, keep_locked, arg, NULL);
}

static void test_found_at_exit(void)
{
    char err[8192];
    CHECK(killed(harness_child(exits_with_it, NULL, err, sizeof err), 6));
    CHECK(strstr(err, "'main' holds a pthread_mutex") != NULL);
}

static int shared_count;

static void *right_fibre(void *arg)
{
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_lock(&other);
        shared_count++;
        pthread_mutex_unlock(&mutex); /* not in the order of a stack */
        pthread_mutex_unlock(&other);
        if (pthread_mutex_trylock(&mutex) == 0)
            pthread_mutex_unlock(&mutex);
        struct timespec past = {0, 0}, soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_sec += 20;
        if (pthread_mutex_timedlock(&mutex, &soon) == 0) {
            if (i % 64 == 0)
                pthread_cond_timedwait(&cond, &mutex, &past);
            pthread_mutex_unlock(&mutex);
        }
        tn_yield();
    }
    return arg;
}

static void *right(void *arg)
{
    tn_fibre *f[8];
    for (int i = 0; i < 8; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, right_fibre, NULL), 0);
    for (int i = 0; i < 8; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    return arg;
}

static void test_not_found(void)
{
    struct tn_config c = with(2, NULL);
    CHECK(build_has("\"lock_check\":\"yes\""));
    pthread_mutex_lock(&mutex); /* a plain thread may hold what it likes */
    tn_yield();
    pthread_mutex_unlock(&mutex);
    CHECK_EQUAL(tn_run(&c, right, NULL, NULL), 0);
    CHECK_EQUAL(shared_count, 8 * 200);
}

int main(void)
{
    static const struct test tests[] = {
        {"held over a scheduling point: both places are shown", test_found},
        {"held at a fibre's end", test_found_at_exit},
        {"given back in time: nothing is said", test_not_found},
    };
    return HARNESS_RUN("lockcheck", tests);
}
