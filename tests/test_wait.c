/* SPDX-License-Identifier: MIT
 *
 * The wait primitive: woken, timed out, cancelled; before, during, too late. With --stress: races of all
 * three.
 */
#include "harness.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* ---- one fibre, in order ---- */

static void *in_order(void *arg)
{
    tn_cluster *cl = tn_cluster_self();
    uint64_t waits = counter(cl, "wait");
    tn_waiter w = tn_wait_prepare();
    CHECK(w.fibre == tn_fibre_self());
    CHECK(tn_wake(w)); /* before the wait: remembered */
    CHECK(!tn_wake(w));
    CHECK_EQUAL(tn_wait(TN_FOREVER, NULL), 0);
    if (counting())
        CHECK_EQUAL(counter(cl, "wait"), waits); /* it did not suspend */

    tn_waiter late = tn_wait_prepare();
    CHECK_EQUAL(tn_wait(0, NULL), ETIMEDOUT);
    CHECK_EQUAL(tn_wait_prepare().seq, late.seq + 1);
    CHECK(!tn_wake(late)); /* of the wait before: harmless */
    CHECK_EQUAL(tn_wait(tn_now() + 200000, NULL), ETIMEDOUT);
    CHECK(!tn_wake(late));

    tn_time t0 = tn_now();
    tn_wait_prepare();
    CHECK_EQUAL(tn_wait(t0 + 2000000, NULL), ETIMEDOUT);
    CHECK(tn_now() >= t0 + 2000000);

    tn_token token;
    tn_token_init(&token);
    CHECK(!tn_token_fired(&token));
    w = tn_wait_prepare();
    CHECK(tn_wake(w));
    tn_token_fire(&token); /* later than the wake-up: that one decided */
    CHECK(tn_token_fired(&token));
    CHECK_EQUAL(tn_wait(TN_FOREVER, &token), 0);
    w = tn_wait_prepare();
    CHECK_EQUAL(tn_wait(TN_FOREVER, &token), ECANCELED);
    CHECK(!tn_wake(w));
    CHECK_EQUAL(tn_sleep_until(tn_now() + UINT64_C(5000000000), &token), ECANCELED);
    CHECK_EQUAL(tn_sleep_until(0, &token), ECANCELED);
    return arg;
}

static void test_in_order(void)
{
    in_runtime(1, in_order);
    in_runtime(2, in_order);
}

/* ---- waiter and waker ---- */

static _Atomic(uint64_t) published;
static tn_waiter waiter;
static atomic_int outcome;
static tn_token token;
static tn_time deadline;

static void *waits_once(void *arg)
{
    tn_waiter w = tn_wait_prepare();
    waiter = w;
    atomic_store_explicit(&published, w.seq, memory_order_release);
    int rc = tn_wait(deadline, arg);
    CHECK(!tn_wake(w));
    atomic_store_explicit(&outcome, rc + 1, memory_order_release);
    return NULL;
}

static void start_waiter(tn_fibre **f, tn_time until, tn_token *with_token, uint64_t settle)
{
    deadline = until;
    atomic_store(&published, 0);
    atomic_store(&outcome, 0);
    CHECK_EQUAL(tn_spawn(f, &(struct tn_attr){.runtime = rt}, waits_once, with_token), 0);
    while (atomic_load_explicit(&published, memory_order_acquire) == 0)
        tn_yield();
    if (settle != 0 && tn_fibre_self() != NULL)
        tn_sleep(settle);
    else if (settle != 0)
        nap_us((unsigned)(settle / 1000));
}

static void wait_kinds(void)
{
    tn_fibre *f;
    for (int settled = 0; settled < 2; settled++) {
        uint64_t settle = settled ? 1000000 : 0;
        start_waiter(&f, TN_FOREVER, NULL, settle);
        CHECK(tn_wake(waiter));
        CHECK_EQUAL(tn_join(f, NULL), 0);
        CHECK_EQUAL(atomic_load(&outcome), 1);

        tn_token_init(&token);
        start_waiter(&f, TN_FOREVER, &token, settle);
        tn_token_fire(&token);
        bool woken = tn_wake(waiter); /* then it had not come to its wait, and so not to the token */
        CHECK_EQUAL(tn_join(f, NULL), 0);
        CHECK_EQUAL(atomic_load(&outcome), woken ? 1 : ECANCELED + 1);

        tn_token_init(&token);
        start_waiter(&f, tn_now() + UINT64_C(3600000000000), &token, settle);
        CHECK(tn_wake(waiter));
        tn_token_fire(&token);
        CHECK_EQUAL(tn_join(f, NULL), 0);
        CHECK_EQUAL(atomic_load(&outcome), 1);

        start_waiter(&f, tn_now() + 1000000, NULL, settle);
        CHECK_EQUAL(tn_join(f, NULL), 0);
        CHECK(!tn_wake(waiter)); /* after the time-out, and after the fibre's end */
        CHECK_EQUAL(atomic_load(&outcome), ETIMEDOUT + 1);
    }
}

static void *wait_kinds_in_fibre(void *arg)
{
    wait_kinds();
    return arg;
}

static void test_kinds(void)
{
    in_runtime(1, wait_kinds_in_fibre);
    in_runtime(2, wait_kinds_in_fibre);
    struct tn_config c = with(2, NULL); /* and from a plain thread */
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    wait_kinds();
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* One token, many waiters. */
enum { MANY = 50 };
static atomic_uint cancelled;

static void *waits_with_token(void *arg)
{
    tn_wait_prepare();
    int rc = tn_wait((uintptr_t)arg % 2 ? TN_FOREVER : tn_now() + UINT64_C(3600000000000), &token);
    atomic_fetch_add(&cancelled, rc == ECANCELED);
    return NULL;
}

static void *many_waiters(void *arg)
{
    tn_fibre *f[MANY];
    tn_token_init(&token);
    atomic_store(&cancelled, 0);
    for (uintptr_t i = 0; i < MANY; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, waits_with_token, (void *)i), 0);
    tn_sleep(1000000);
    tn_token_fire(&token);
    for (int i = 0; i < MANY; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    CHECK_EQUAL(atomic_load(&cancelled), MANY);
    return arg;
}

static void test_many_waiters(void)
{
    in_runtime(1, many_waiters);
    in_runtime(2, many_waiters);
}

/* A waiter kept beyond its fibre's end touches nothing but memory that stays valid. */
static void *stale(void *arg)
{
    static const size_t stacks[] = {0, 131072, 1 << 20};
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < 3; i++) {
            tn_fibre *f;
            deadline = 0;
            atomic_store(&published, 0);
            CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.stack = stacks[i]}, waits_once, NULL), 0);
            CHECK_EQUAL(tn_join(f, NULL), 0);
            CHECK(!tn_wake(waiter));
        }
    return arg;
}

static void test_stale(void)
{
    in_runtime(1, stale);
}

/* ---- a race: signals + time-outs = waits ---- */

static struct cell {
    _Alignas(64) _Atomic(uint64_t) seq; /* 0: nobody waits */
    tn_fibre *fibre;
    uint64_t woken, timed_out;
    uint64_t signals; /* the waker's */
} cells[4];
static atomic_bool over;
static unsigned rounds;

static void *race_waiter(void *arg)
{
    struct cell *c = arg;
    uint64_t random = harness_seed() + (uintptr_t)(c - cells);
    for (unsigned i = 0; i < rounds; i++) {
        tn_waiter w = tn_wait_prepare();
        if (i == 0)
            c->fibre = w.fibre;
        atomic_store_explicit(&c->seq, w.seq, memory_order_release);
        int rc = tn_wait(tn_now() + harness_random(&random) % 3000, NULL);
        atomic_store_explicit(&c->seq, 0, memory_order_relaxed);
        c->woken += rc == 0;
        c->timed_out += rc == ETIMEDOUT;
    }
    return NULL;
}

static void *race_waker(void *arg)
{
    uint64_t random = harness_seed() ^ (uintptr_t)arg;
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        for (size_t i = 0; i < 4; i++) {
            uint64_t seq = atomic_load_explicit(&cells[i].seq, memory_order_acquire);
            if (seq != 0)
                cells[i].signals += tn_wake((tn_waiter){cells[i].fibre, seq});
        }
        for (uint64_t n = harness_random(&random) % 400; n > 0; n--)
            tn_yield();
    }
    return arg;
}

static void *race(void *arg)
{
    tn_fibre *waiters[4], *waker;
    memset(cells, 0, sizeof cells);
    atomic_store(&over, false);
    CHECK_EQUAL(tn_spawn(&waker, NULL, race_waker, NULL), 0);
    for (int i = 0; i < 4; i++)
        CHECK_EQUAL(tn_spawn(&waiters[i], NULL, race_waiter, &cells[i]), 0);
    for (int i = 0; i < 4; i++)
        CHECK_EQUAL(tn_join(waiters[i], NULL), 0);
    atomic_store(&over, true);
    CHECK_EQUAL(tn_join(waker, NULL), 0);
    uint64_t woken = 0, timed_out = 0;
    for (int i = 0; i < 4; i++) {
        CHECK_EQUAL(cells[i].signals, cells[i].woken);
        CHECK_EQUAL(cells[i].woken + cells[i].timed_out, rounds);
        woken += cells[i].woken;
        timed_out += cells[i].timed_out;
    }
    harness_note("%llu woken, %llu timed out ", (unsigned long long)woken, (unsigned long long)timed_out);
    return arg;
}

static void test_race(void)
{
    rounds = 500;
    in_runtime(1, race);
    in_runtime(2, race);
}

static void test_race_long(void)
{
    rounds = 50000;
    harness_watchdog(300);
    in_runtime(2, race);
    in_runtime(4, race);
}

/* Many joins that give up while their fibre ends. */
static void *ends_soon(void *arg)
{
    tn_sleep((uintptr_t)arg);
    return arg;
}

static void *join_race(void *arg)
{
    uint64_t random = harness_seed();
    unsigned in_time = 0;
    for (unsigned i = 0; i < rounds; i++) {
        tn_fibre *f;
        void *value = NULL;
        uint64_t ns = 1 + harness_random(&random) % 20000;
        CHECK_EQUAL(tn_spawn(&f, NULL, ends_soon, (void *)ns), 0);
        int rc = tn_join_until(f, &value, tn_now() + ns + harness_random(&random) % 5000, NULL);
        in_time += rc == 0;
        if (rc != 0) {
            CHECK_EQUAL(rc, ETIMEDOUT);
            CHECK_EQUAL(tn_join(f, &value), 0);
        }
        CHECK_EQUAL((uintptr_t)value, ns);
    }
    harness_note("%u of %u joined in time ", in_time, rounds);
    return arg;
}

/* A token whose memory has gone, after waits with it that have ended: nobody looks at it any more, tn_stop neither. */
static atomic_uint waits_on;

static void *waits_without_token(void *page)
{
    tn_token *t = page;
    tn_token_init(t);
    tn_wait_prepare();
    CHECK_EQUAL(tn_wait(tn_now() + 1000, t), ETIMEDOUT);
    CHECK_EQUAL(tn_sleep_until(tn_now() + 1000, t), 0);
    CHECK_EQUAL(munmap(page, (size_t)sysconf(_SC_PAGESIZE)), 0);
    atomic_fetch_add(&waits_on, 1);
    tn_wait_prepare();
    tn_wait(TN_FOREVER, NULL);
    return NULL;
}

static void test_token_gone(void)
{
    struct tn_config c = with(2, NULL);
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    atomic_store(&waits_on, 0);
    for (int i = 0; i < 8; i++) {
        void *page =
            mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (CHECK(page != MAP_FAILED))
            CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.runtime = rt}, waits_without_token, page), 0);
    }
    CHECK(EVENTUALLY(atomic_load(&waits_on) == 8));
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void test_join_race(void)
{
    rounds = 300;
    in_runtime(1, join_race);
    in_runtime(2, join_race);
}

static void test_join_race_long(void)
{
    rounds = 30000;
    harness_watchdog(300);
    in_runtime(2, join_race);
}

int main(int argc, char **argv)
{
    static const struct test fast[] = {
        {"one fibre, in order", test_in_order},         {"woken, cancelled, timed out", test_kinds},
        {"one token, many waiters", test_many_waiters}, {"a stale waiter is harmless", test_stale},
        {"time-out races wake-up", test_race},          {"a join gives up while its fibre ends", test_join_race},
        {"a token that has gone", test_token_gone},
    };
    static const struct test stress[] = {
        {"time-out races wake-up, long", test_race_long},
        {"a join gives up while its fibre ends, long", test_join_race_long},
    };
    if (argc > 1 && strcmp(argv[1], "--stress") == 0)
        return HARNESS_RUN("wait-stress", stress);
    return HARNESS_RUN("wait", fast);
}
