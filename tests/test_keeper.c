/* SPDX-License-Identifier: MIT
 *
 * Timers in a running cluster: behind a hog, in the past, by the thousand; the timekeeper's thread.
 */
#include "harness.h"

#include "internal.h" /* to see when the timekeeper has asked a worker to look up */

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static tn_runtime *rt;

static void in_runtime(int64_t workers, void *(*fn)(void *))
{
    struct tn_config c = with(workers, NULL);
    tn_fibre *f;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    if (CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, fn, NULL), 0))
        CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- behind a hog ---- */

enum { TRIES = 12, HOG_NS = 2000000 }; /* of a hog beyond the deadline: more than the wheel's tick */

static tn_time deadline;
static atomic_bool armed, expired;

static void *sleeper(void *arg)
{
    tn_wait_prepare();
    atomic_store(&armed, true);
    CHECK_EQUAL(tn_wait(deadline, NULL), ETIMEDOUT);
    atomic_store(&expired, true);
    return arg;
}

/* No scheduling point until the sleeper's deadline is over, and until the keeper, which needs a processor for it, has asked
 * this worker to look up. How many from then on until the sleeper has run? */
static unsigned hog(void)
{
    _Atomic(uint32_t) *due = &((struct worker *)tn_self())->due;
    unsigned points = 0;
    while (tn_now() < deadline + HOG_NS)
        nap_us(200);
    CHECK(EVENTUALLY(atomic_load_explicit(due, memory_order_relaxed) == DUE_NOW));
    while (!atomic_load(&expired)) {
        tn_yield();
        points++;
    }
    return points;
}

static void *ready_beside(void *arg)
{
    tn_time ahead = 1000000;
    for (int i = 0; i < TRIES;) {
        tn_fibre *f;
        armed = expired = false;
        deadline = tn_now() + ahead;
        CHECK_EQUAL(tn_spawn(&f, NULL, sleeper, NULL), 0);
        while (!atomic_load(&armed))
            tn_yield();
        if (expired || tn_now() >= deadline) { /* too late to be a hog: perhaps there was no timer at all */
            ahead *= 2;
        } else {
            CHECK(hog() <= 2); /* it runs out at the first; behind this fibre in its queue, perhaps */
            i++;
        }
        CHECK_EQUAL(tn_join(f, NULL), 0);
    }
    return arg;
}

static void test_ready_beside(void)
{
    in_runtime(1, ready_beside);
}

static void *only_hog(void *points)
{
    bool too_late = expired || tn_now() >= deadline;
    *(unsigned *)points = too_late ? UINT_MAX : hog();
    return NULL;
}

/* The worker was idle, and watched the timer itself, until it got the hog to run. */
static void test_after_idle(void)
{
    struct tn_config c = with(1, NULL);
    tn_time ahead = 5000000;
    unsigned points = 0;
    c.idle = TN_IDLE_BLOCK;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    for (int i = 0; i < TRIES;) {
        tn_fibre *f, *h;
        armed = expired = false;
        deadline = tn_now() + ahead;
        CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, sleeper, NULL), 0);
        CHECK(EVENTUALLY(atomic_load(&armed)));
        nap_us(1000);
        CHECK_EQUAL(tn_spawn(&h, &(struct tn_attr){.runtime = rt}, only_hog, &points), 0);
        CHECK_EQUAL(tn_join(h, NULL), 0);
        CHECK_EQUAL(tn_join(f, NULL), 0);
        if (points == UINT_MAX) {
            ahead *= 2;
        } else {
            CHECK(points <= 2);
            i++;
        }
    }
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- deadlines in the past ---- */

static atomic_bool stop_yielding;
static atomic_uint yields;

static void *yielder(void *arg)
{
    while (!atomic_load(&stop_yielding)) {
        atomic_fetch_add(&yields, 1);
        tn_yield();
    }
    return arg;
}

static void *past(void *arg)
{
    tn_fibre *f;
    atomic_store(&stop_yielding, false);
    CHECK_EQUAL(tn_spawn(&f, NULL, yielder, NULL), 0);
    tn_yield();
    unsigned many = 0;
    for (unsigned i = 0; i < 1000; i++) {
        unsigned before = atomic_load(&yields);
        tn_wait_prepare();
        CHECK_EQUAL(tn_wait(i % 2 ? 0 : tn_now() - i, NULL), ETIMEDOUT);
        many += atomic_load(&yields) - before > 2; /* others may run once, and not for 64 turns */
    }
    CHECK_EQUAL(many, 0);
    atomic_store(&stop_yielding, true);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    return arg;
}

static void test_past(void)
{
    in_runtime(1, past);
}

/* ---- memory stays flat ---- */

static unsigned waits_each;

static unsigned long resident_kib(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    if (file != NULL)
        fclose(file);
    return pages * 4;
}

static void *times_out(void *arg)
{
    uint64_t random = harness_seed() + (uintptr_t)arg;
    unsigned wrong = 0;
    for (unsigned i = 0; i < waits_each; i++) {
        tn_wait_prepare();
        wrong += tn_wait(tn_now() + harness_random(&random) % 20000, NULL) != ETIMEDOUT;
    }
    CHECK_EQUAL(wrong, 0);
    return NULL;
}

static void *flat(void *arg)
{
    enum { FIBRES = 100 };
    static tn_fibre *f[FIBRES];
    unsigned long before = 0;
    for (int round = 0; round < 2; round++) { /* the first maps what there is to map */
        before = resident_kib();
        for (uintptr_t i = 0; i < FIBRES; i++)
            CHECK_EQUAL(tn_spawn(&f[i], NULL, times_out, (void *)i), 0);
        for (int i = 0; i < FIBRES; i++)
            CHECK_EQUAL(tn_join(f[i], NULL), 0);
    }
    unsigned long after = resident_kib();
    harness_note("%lu KiB more ", after > before ? after - before : 0);
    if (build_has("sanitize=none") || build_has("sanitize=undefined")) /* the others keep books */
        CHECK(after <= before + 1024);
    return arg;
}

static void test_flat(void)
{
    waits_each = 100;
    in_runtime(2, flat);
}

static void test_flat_long(void)
{
    waits_each = 10000; /* a million waits */
    harness_watchdog(300);
    in_runtime(1, flat);
    in_runtime(2, flat);
}

/* ---- many, cancelled before they run out ---- */

static atomic_uint cancelled;
static tn_token token;

static void *waits_long(void *arg)
{
    tn_wait_prepare();
    int rc = tn_wait(tn_now() + UINT64_C(1000000000) * (3600 + (uintptr_t)arg % 4000), &token);
    atomic_fetch_add(&cancelled, rc == ECANCELED);
    return NULL;
}

static void *many(void *arg)
{
    enum { MANY = 500 }; /* ThreadSanitizer takes milliseconds for a fibre */
    static tn_fibre *f[MANY];
    tn_token_init(&token);
    atomic_store(&cancelled, 0);
    for (uintptr_t i = 0; i < MANY; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, waits_long, (void *)i), 0);
    tn_sleep(2000000);
    tn_token_fire(&token);
    for (int i = 0; i < MANY; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    CHECK_EQUAL(atomic_load(&cancelled), MANY);
    CHECK_EQUAL(tn_sleep_until(tn_now() + 20000, NULL), 0); /* and the structure is in order */
    return arg;
}

static void test_many(void)
{
    in_runtime(2, many);
}

/* ---- the keeper's thread ---- */

static tn_waiter waiter;

static void *waits_an_hour(void *arg)
{
    waiter = tn_wait_prepare();
    atomic_store(&armed, true);
    CHECK_EQUAL(tn_wait(tn_now() + UINT64_C(3600000000000), NULL), 0);
    return arg;
}

static void *busy_with_timer(void *arg)
{
    unsigned without = harness_count("task");
    tn_fibre *f;
    for (int i = 0; i < 200; i++)
        tn_yield();
    CHECK_EQUAL(harness_count("task"), without); /* no timer, no thread */
    armed = false;
    CHECK_EQUAL(tn_spawn(&f, NULL, waits_an_hour, NULL), 0);
    while (!atomic_load(&armed)) /* and then it is off the only worker, which goes on with this fibre */
        tn_yield();
    CHECK_EQUAL(harness_count("task"), without + 1);
    CHECK(tn_wake(waiter));
    CHECK_EQUAL(tn_join(f, NULL), 0);
    return arg;
}

static void *yielder_once(void *arg)
{
    tn_yield();
    return arg;
}

static void test_thread(void)
{
    in_runtime(1, yielder_once); /* a sanitizer may start a thread of its own with the first */
    unsigned before = harness_count("task");
    for (int i = 0; i < 3; i++) {
        in_runtime(1, busy_with_timer);
        CHECK(EVENTUALLY(harness_count("task") == before));
    }
}

int main(int argc, char **argv)
{
    static const struct test fast[] = {
        {"behind a hog that was ready", test_ready_beside},
        {"behind a hog that came to an idle worker", test_after_idle},
        {"deadlines 0 and past", test_past},
        {"waits that time out leave no memory", test_flat},
        {"many cancelled at once", test_many},
        {"the keeper's thread comes and goes", test_thread},
    };
    static const struct test stress[] = {{"a million waits that time out leave no memory", test_flat_long}};
    if (argc > 1 && strcmp(argv[1], "--stress") == 0)
        return HARNESS_RUN("keeper-stress", stress);
    return HARNESS_RUN("keeper", fast);
}
