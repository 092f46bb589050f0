/* SPDX-License-Identifier: MIT
 *
 * Promises: set once, seen by all; fibres and plain threads wait for it; who gets it may destroy it. With --stress: storms.
 */
#include "sync.h"

#include <stdlib.h>

enum { FIBRES = 6, THREADS = 2 };

static tn_fibre *spawn(void *(*fn)(void *), void *arg)
{
    tn_fibre *f = NULL;
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, fn, arg), 0);
    return f;
}

static void test_once(void)
{
    static tn_promise plain = TN_PROMISE_INIT;
    tn_promise p;
    void *value = &p;
    memset(&p, 0xff, sizeof(p));
    tn_promise_init(&p);
    CHECK_EQUAL(memcmp(&p, &plain, sizeof(p)), 0);
    CHECK_EQUAL(sizeof(p), 24);
    CHECK_EQUAL(tn_promise_tryget(&p, &value), EBUSY);
    CHECK(value == &p); /* untouched */
    CHECK_EQUAL(tn_promise_set(&p, &plain), 0);
    CHECK_EQUAL(tn_promise_set(&p, NULL), EALREADY);
    CHECK_EQUAL(tn_promise_tryget(&p, NULL), 0);
    CHECK_EQUAL(tn_promise_tryget(&p, &value), 0);
    CHECK(value == &plain);
    CHECK(tn_promise_get(&p) == &plain);
    CHECK_EQUAL(tn_promise_destroy(&p), 0);
    CHECK_EQUAL(tn_promise_destroy(&plain), 0); /* never set, nobody waits */
}

/* ---- all that wait are told, and what was written before is there ---- */

static struct {
    tn_promise *p; /* so many, one after another */
    long *told;    /* plain: written before the promise is kept */
    unsigned rounds;
    _Atomic(long) sum, refused;
} crowd;

static void *waits(void *arg)
{
    uint64_t random = harness_seed() + (uint64_t)(uintptr_t)arg;
    for (unsigned i = 0; i < crowd.rounds; i++) {
        void *value = NULL;
        if (harness_random(&random) % 4 == 0)
            while (tn_promise_tryget(&crowd.p[i], &value) == EBUSY)
                tn_yield();
        else
            value = tn_promise_get(&crowd.p[i]);
        CHECK(value == &crowd.told[i]);
        CHECK_EQUAL(crowd.told[i], i);
        atomic_fetch_add(&crowd.sum, 1);
    }
    return NULL;
}

/* Two keep each: one is refused. */
static void *keeps(void *arg)
{
    uint64_t random = harness_seed() - (uint64_t)(uintptr_t)arg;
    for (unsigned i = 0; i < crowd.rounds; i++) {
        if (harness_random(&random) % 2 == 0)
            tn_yield();
        /* whose turn it is has written first; the other offers nothing and comes after it or not at all */
        if (i % 2 == (uintptr_t)arg) {
            crowd.told[i] = i;
            CHECK_EQUAL(tn_promise_set(&crowd.p[i], &crowd.told[i]), 0);
        } else if (tn_promise_tryget(&crowd.p[i], NULL) == 0) {
            CHECK_EQUAL(tn_promise_set(&crowd.p[i], NULL), EALREADY);
            atomic_fetch_add(&crowd.refused, 1);
        }
    }
    return NULL;
}

static void all_told(void)
{
    tn_fibre *f[FIBRES + 2];
    pthread_t t[THREADS];
    crowd.rounds = stress ? 20000 : 300;
    crowd.p = calloc(crowd.rounds, sizeof(*crowd.p));
    crowd.told = calloc(crowd.rounds, sizeof(*crowd.told));
    atomic_store(&crowd.sum, 0);
    CHECK(crowd.p != NULL && crowd.told != NULL);
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK_EQUAL(pthread_create(&t[i], NULL, waits, (void *)(100 + i)), 0);
    for (uintptr_t i = 0; i < FIBRES; i++)
        f[i] = spawn(waits, (void *)i);
    for (uintptr_t i = 0; i < 2; i++)
        f[FIBRES + i] = spawn(keeps, (void *)i);
    for (unsigned i = 0; i < FIBRES + 2; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    CHECK_EQUAL(atomic_load(&crowd.sum), (long)(FIBRES + THREADS) * crowd.rounds);
    free(crowd.p);
    free(crowd.told);
}

static void test_told(void)
{
    beside(all_told);
}

/* ---- two race to keep it ---- */

static struct race {
    tn_promise p;
    _Atomic(unsigned) kept;
    int values[2];
} race;

static void *races(void *arg)
{
    if (tn_promise_set(&race.p, arg) == 0)
        atomic_fetch_add(&race.kept, 1);
    CHECK(tn_promise_get(&race.p) == race.p.value);
    return NULL;
}

static void one_keeps(void)
{
    for (unsigned i = 0; i < (stress ? 20000U : 200U); i++) {
        tn_promise_init(&race.p);
        atomic_store(&race.kept, 0);
        tn_fibre *f[2] = {spawn(races, &race.values[0]), spawn(races, &race.values[1])};
        CHECK_EQUAL(tn_join(f[0], NULL), 0);
        CHECK_EQUAL(tn_join(f[1], NULL), 0);
        CHECK_EQUAL(atomic_load(&race.kept), 1);
        CHECK(race.p.value == &race.values[0] || race.p.value == &race.values[1]);
    }
}

static void test_race(void)
{
    beside(one_keeps);
}

/* ---- who gets it frees it: a chain, each link of which lies on the heap until it was read ---- */

static void *adds(void *arg)
{
    tn_promise **ends = arg; /* its own copy */
    uintptr_t n = (uintptr_t)tn_promise_get(ends[0]);
    CHECK_EQUAL(tn_promise_destroy(ends[0]), 0);
    free(ends[0]);
    CHECK_EQUAL(tn_promise_set(ends[1], (void *)(n + 1)), 0);
    free(ends);
    return NULL;
}

static void chained(void)
{
    enum { LINKS = 32 };
    for (unsigned round = 0; round < (stress ? 2000U : 20U); round++) {
        tn_promise *first = calloc(1, sizeof(*first)), *last = first;
        for (int i = 0; i < LINKS; i++) {
            tn_promise *next = calloc(1, sizeof(*next)), **ends = calloc(2, sizeof(*ends));
            CHECK(next != NULL && ends != NULL);
            ends[0] = last;
            ends[1] = last = next;
            CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.runtime = rt, .detached = true}, adds, ends), 0);
        }
        CHECK_EQUAL(tn_promise_set(first, NULL), 0);
        CHECK_EQUAL((uintptr_t)tn_promise_get(last), LINKS);
        free(last);
    }
}

static void test_chain(void)
{
    beside(chained);
}

/* ---- somebody waits ---- */

static tn_promise kept;

static void *waits_for_it(void *arg)
{
    CHECK(tn_promise_get(&kept) == arg);
    return arg;
}

static void *busy(void *arg)
{
    tn_cluster *cl = tn_cluster_self();
    uint64_t waits_before = counter(cl, "wait");
    tn_promise_init(&kept);
    tn_fibre *f = spawn(waits_for_it, &kept);
    while (tn_promise_destroy(&kept) != EBUSY)
        tn_yield();
    CHECK_EQUAL(tn_promise_tryget(&kept, NULL), EBUSY);
    CHECK_EQUAL(tn_promise_set(&kept, &kept), 0);
    CHECK_EQUAL(tn_promise_destroy(&kept), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    uint64_t waited = counter(cl, "wait");
    for (int i = 0; i < 100; i++)
        CHECK(tn_promise_get(&kept) == &kept);
    if (counting()) {
        CHECK(waited > waits_before);
        CHECK_EQUAL(counter(cl, "wait"), waited); /* what is there costs no wait */
    }
    return arg;
}

static void one_waits(void)
{
    CHECK_EQUAL(tn_join(spawn(busy, NULL), NULL), 0);
}

static void test_busy(void)
{
    beside(one_waits);
}

/* ---- deadlines ---- */

static tn_promise never;

static int get_late(tn_time deadline, tn_token *token)
{
    void *value = &never;
    int rc = tn_promise_get_until(&never, &value, deadline, token);
    CHECK(value == &never); /* untouched */
    return rc;
}

static void lates(void)
{
    tn_promise_init(&never);
    too_late(get_late);
    CHECK_EQUAL(tn_promise_destroy(&never), 0); /* nobody is left in its ring */
    CHECK_EQUAL(tn_promise_set(&never, &never), 0);
    CHECK_EQUAL(get_late(0, NULL), 0);
}

static void test_late(void)
{
    beside(lates);
}

/* ---- a deadline against the value ---- */

static tn_promise about_now;

static void begin_promise(void)
{
    tn_promise_init(&about_now);
}

static int wait_promise(tn_time deadline, tn_token *token)
{
    void *value = &never;
    int rc = tn_promise_get_until(&about_now, &value, deadline, token);
    CHECK(value == (rc == 0 ? (void *)&about_now : (void *)&never)); /* with its value, or untouched */
    return rc;
}

static void bring_promise(void)
{
    CHECK_EQUAL(tn_promise_set(&about_now, &about_now), 0);
}

static void end_promise(void)
{
    CHECK_EQUAL(tn_promise_destroy(&about_now), 0);
    memset(&about_now, 0xff, sizeof(about_now)); /* nobody touches it any more */
}

static void against_value(void)
{
    deadlines_against(begin_promise, wait_promise, bring_promise, end_promise);
}

static void test_against(void)
{
    beside(against_value);
}

static const struct test tests[] = {{"set once", test_once},
                                    {"fibres and threads are told", test_told},
                                    {"one of two sets it", test_race},
                                    {"who gets it frees it", test_chain},
                                    {"somebody waits", test_busy},
                                    {"deadlines and tokens", test_late},
                                    {"a deadline against the value", test_against}};
SYNC_MAIN("promise", tests)
