/* SPDX-License-Identifier: MIT
 *
 * Mutexes: one body for every design. Fibres and plain threads exclude each other; deadlines and tokens; kinds; who is
 * next. With --stress: storms.
 */
#include "harness.h"

#include "tenter_sync.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

static const struct design {
    const char *name;
    int design;
} designs[] = {{"default", TN_MUTEX_DEFAULT}, {"spin", TN_MUTEX_SPIN}, {"spin-block", TN_MUTEX_SPIN_BLOCK},
               {"block", TN_MUTEX_BLOCK},     {"fair", TN_MUTEX_FAIR}, {"baton", TN_MUTEX_BATON}};
enum { DESIGNS = sizeof(designs) / sizeof(designs[0]) };

static bool stress;
static const struct design *now; /* under test */
static tn_runtime *rt;

static tn_mutex fresh(int kind)
{
    tn_mutex m;
    CHECK_EQUAL(tn_mutex_init(&m, &(struct tn_mutex_attr){now->design, kind}), 0);
    return m;
}

/* fn for each design, by a plain thread beside so many workers. */
static void for_each(int64_t workers, void (*fn)(void))
{
    for (now = designs; now < designs + DESIGNS; now++) {
        struct tn_config c = with(workers, NULL);
        CHECK_EQUAL(tn_start(&rt, &c), 0);
        fn();
        CHECK_EQUAL(tn_stop(rt), 0);
    }
}

static tn_fibre *spawn(void *(*fn)(void *), void *arg)
{
    tn_fibre *f = NULL;
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, fn, arg), 0);
    return f;
}

static void join(tn_fibre *f)
{
    if (f != NULL)
        CHECK_EQUAL(tn_join(f, NULL), 0);
}

static void in_fibre(void *(*fn)(void *))
{
    join(spawn(fn, NULL));
}

/* ---- exclusion ---- */

static struct crowd {
    tn_mutex m;
    int rounds, inside; /* plain: `inside` under the mutex */
    long sum;
    unsigned yields; /* one in so many holders yields with it */
    bool twice;      /* half of them lock it again */
} crowd;

static void *member(void *arg)
{
    uint64_t random = harness_seed() + (uint64_t)(uintptr_t)arg;
    for (int i = 0; i < crowd.rounds; i++) {
        int rc = harness_random(&random) % 4 == 0 ? tn_mutex_lock_until(&crowd.m, TN_FOREVER, NULL)
                                                  : tn_mutex_lock(&crowd.m);
        CHECK_EQUAL(rc, 0);
        bool again = crowd.twice && harness_random(&random) % 2 == 0;
        CHECK(!again || tn_mutex_lock(&crowd.m) == 0);
        CHECK_EQUAL(crowd.inside++, 0);
        if (harness_random(&random) % crowd.yields == 0)
            tn_yield();
        crowd.sum++;
        crowd.inside--;
        CHECK(!again || tn_mutex_unlock(&crowd.m) == 0);
        CHECK_EQUAL(tn_mutex_unlock(&crowd.m), 0);
    }
    return NULL;
}

static void crowd_of(unsigned fibres, unsigned threads)
{
    tn_fibre *f[8];
    pthread_t t[4];
    for (uintptr_t i = 0; i < threads; i++)
        CHECK_EQUAL(pthread_create(&t[i], NULL, member, (void *)(100 + i)), 0);
    for (uintptr_t i = 0; i < fibres; i++)
        f[i] = spawn(member, (void *)i);
    for (unsigned i = 0; i < fibres; i++)
        join(f[i]);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(t[i], NULL);
    CHECK_EQUAL(crowd.sum, (long)(fibres + threads) * crowd.rounds);
    CHECK_EQUAL(tn_mutex_destroy(&crowd.m), 0);
}

static void exclude(void)
{
    crowd = (struct crowd){.m = fresh(TN_MUTEX_NORMAL), .rounds = stress ? 20000 : 300, .yields = 8};
    crowd_of(8, 2);
    crowd = (struct crowd){.m = fresh(TN_MUTEX_CHECKED), .rounds = stress ? 20000 : 300, .yields = 1};
    crowd_of(8, 2);
    crowd =
        (struct crowd){.m = fresh(TN_MUTEX_RECURSIVE), .rounds = stress ? 20000 : 300, .yields = 8, .twice = true};
    crowd_of(8, 2);
    crowd = (struct crowd){.m = fresh(TN_MUTEX_NORMAL), .rounds = stress ? 20000 : 300, .yields = ~0U};
    crowd_of(0, 4); /* threads alone */
}

static void test_exclusion(void)
{
    for_each(1, exclude);
    for_each(2, exclude);
}

/* ---- deadlines and tokens ---- */

static struct {
    tn_mutex m;
    tn_token token;
    _Atomic(int) at, rc;
} late;

static void *waits_late(void *arg)
{
    atomic_store(&late.at, 1);
    atomic_store(&late.rc, tn_mutex_lock_until(&late.m, arg != NULL ? TN_FOREVER : tn_now() + 2000000, &late.token));
    return NULL;
}

static void expect_late(void *arg, int rc, bool thread)
{
    pthread_t t;
    tn_fibre *f = NULL;
    atomic_store(&late.at, 0);
    atomic_store(&late.rc, -1);
    tn_token_init(&late.token);
    if (thread)
        CHECK_EQUAL(pthread_create(&t, NULL, waits_late, arg), 0);
    else
        f = spawn(waits_late, arg);
    while (atomic_load(&late.at) == 0)
        sched_yield();
    if (arg != NULL)
        tn_token_fire(&late.token);
    if (thread)
        pthread_join(t, NULL);
    else
        join(f);
    CHECK_EQUAL(atomic_load(&late.rc), rc);
}

static void too_late(void)
{
    late.m = fresh(TN_MUTEX_NORMAL);
    CHECK_EQUAL(tn_mutex_lock(&late.m), 0);
    for (int thread = 0; thread < 2; thread++) {
        expect_late(NULL, ETIMEDOUT, thread);
        expect_late(&late, ECANCELED, thread);
    }
    CHECK_EQUAL(tn_mutex_destroy(&late.m), EBUSY);
    CHECK_EQUAL(tn_mutex_unlock(&late.m), 0);
    CHECK_EQUAL(tn_mutex_destroy(&late.m), 0); /* nobody is left in its ring */
    tn_token_fire(&late.token);
    CHECK_EQUAL(tn_mutex_lock_until(&late.m, 0, &late.token), 0); /* what is free is taken */
    CHECK_EQUAL(tn_mutex_lock_until(&late.m, 0, NULL), ETIMEDOUT);
    CHECK_EQUAL(tn_mutex_trylock(&late.m), EBUSY);
    CHECK_EQUAL(tn_mutex_unlock(&late.m), 0);
    CHECK_EQUAL(tn_mutex_trylock(&late.m), 0);
    CHECK_EQUAL(tn_mutex_unlock(&late.m), 0);
}

static void test_late(void)
{
    for_each(1, too_late);
}

/* Deadlines about as long as a turn: each lock that is told of was had, and the mutex is free in the end. */
static _Atomic(long) had, missed;

static void *hurries(void *arg)
{
    uint64_t random = harness_seed() + (uint64_t)(uintptr_t)arg;
    for (int i = 0; i < crowd.rounds; i++) {
        int rc = tn_mutex_lock_until(&crowd.m, tn_now() + harness_random(&random) % 40000, NULL);
        if (rc == 0) {
            CHECK_EQUAL(crowd.inside++, 0);
            tn_yield();
            crowd.inside--;
            crowd.sum++;
            CHECK_EQUAL(tn_mutex_unlock(&crowd.m), 0);
            atomic_fetch_add(&had, 1);
        } else {
            CHECK_EQUAL(rc, ETIMEDOUT);
            atomic_fetch_add(&missed, 1);
        }
    }
    return NULL;
}

static void hurry(void)
{
    enum { FIBRES = 6 };
    tn_fibre *f[FIBRES];
    pthread_t t;
    crowd = (struct crowd){.m = fresh(TN_MUTEX_NORMAL), .rounds = stress ? 20000 : 300};
    atomic_store(&had, 0);
    atomic_store(&missed, 0);
    CHECK_EQUAL(pthread_create(&t, NULL, hurries, &crowd), 0);
    for (uintptr_t i = 0; i < FIBRES; i++)
        f[i] = spawn(hurries, (void *)i);
    for (unsigned i = 0; i < FIBRES; i++)
        join(f[i]);
    pthread_join(t, NULL);
    CHECK_EQUAL(crowd.sum, atomic_load(&had));
    CHECK_EQUAL(atomic_load(&had) + atomic_load(&missed), (FIBRES + 1) * crowd.rounds);
    CHECK_EQUAL(tn_mutex_trylock(&crowd.m), 0);
    CHECK_EQUAL(tn_mutex_unlock(&crowd.m), 0);
    CHECK_EQUAL(tn_mutex_destroy(&crowd.m), 0);
}

static void test_hurry(void)
{
    for_each(1, hurry);
    for_each(2, hurry);
}

/* ---- kinds ---- */

static tn_mutex kind;

static void *stranger(void *arg)
{
    CHECK_EQUAL(tn_mutex_unlock(&kind), EPERM);
    CHECK_EQUAL(tn_mutex_trylock(&kind), EBUSY);
    CHECK_EQUAL(tn_mutex_lock_until(&kind, 0, NULL), ETIMEDOUT);
    return arg;
}

static void *owner(void *arg)
{
    CHECK_EQUAL(tn_mutex_unlock(&kind), EPERM);
    CHECK_EQUAL(tn_mutex_lock(&kind), 0);
    CHECK_EQUAL(tn_mutex_lock(&kind), EDEADLK);
    CHECK_EQUAL(tn_mutex_trylock(&kind), EBUSY);
    in_fibre(stranger);
    CHECK_EQUAL(tn_mutex_unlock(&kind), 0);
    CHECK_EQUAL(tn_mutex_unlock(&kind), EPERM);
    return arg;
}

static void *again(void *arg)
{
    for (int i = 0; i < 1 << 14; i++)
        CHECK_EQUAL(i % 2 == 0 ? tn_mutex_lock(&kind) : tn_mutex_trylock(&kind), 0);
    CHECK_EQUAL(tn_mutex_lock(&kind), EAGAIN);
    CHECK_EQUAL(tn_mutex_trylock(&kind), EAGAIN);
    for (int i = 0; i < 1 << 14; i++) {
        if (i % 4096 == 0)
            in_fibre(stranger);
        CHECK_EQUAL(tn_mutex_unlock(&kind), 0);
    }
    CHECK_EQUAL(tn_mutex_unlock(&kind), EPERM);
    return arg;
}

static void kinds(void)
{
    kind = fresh(TN_MUTEX_CHECKED);
    in_fibre(owner);
    owner(NULL); /* a plain thread */
    kind = fresh(TN_MUTEX_RECURSIVE);
    in_fibre(again);
    again(NULL);
    CHECK_EQUAL(tn_mutex_destroy(&kind), 0);
    CHECK_EQUAL(tn_mutex_init(&kind, &(struct tn_mutex_attr){TN_MUTEX_BATON + 1, TN_MUTEX_NORMAL}), EINVAL);
    CHECK_EQUAL(tn_mutex_init(&kind, &(struct tn_mutex_attr){now->design, -1}), EINVAL);
    CHECK_EQUAL(tn_mutex_init(&kind, NULL), 0);
}

static void test_kinds(void)
{
    for_each(2, kinds);
}

/* ---- who is next, on one worker ---- */

static struct {
    tn_mutex m;
    char order[16];
    unsigned n;
} next;

static void *comes(void *name)
{
    CHECK_EQUAL(tn_mutex_lock(&next.m), 0);
    next.order[next.n++] = *(const char *)name;
    tn_yield();
    CHECK_EQUAL(tn_mutex_unlock(&next.m), 0);
    return NULL;
}

/* Has it, lets two come and wait, gives it back, and takes it again at once. */
static void *holds(void *milliseconds)
{
    tn_fibre *f[2];
    CHECK_EQUAL(tn_mutex_lock(&next.m), 0);
    f[0] = spawn(comes, "a");
    for (int i = 0; i < 3; i++)
        tn_yield();
    f[1] = spawn(comes, "b");
    for (int i = 0; i < 3; i++)
        tn_yield();
    tn_sleep((uint64_t) * (int *)milliseconds * 1000000);
    CHECK_EQUAL(tn_mutex_unlock(&next.m), 0);
    CHECK_EQUAL(tn_mutex_lock(&next.m), 0);
    next.order[next.n++] = 'h';
    CHECK_EQUAL(tn_mutex_unlock(&next.m), 0);
    join(f[0]);
    join(f[1]);
    return NULL;
}

static const char *order_after(int milliseconds)
{
    memset(&next, 0, sizeof(next));
    next.m = fresh(TN_MUTEX_NORMAL);
    join(spawn(holds, &milliseconds));
    CHECK_EQUAL(strlen(next.order), 3);
    return next.order;
}

static void who_is_next(void)
{
    int design = now->design;
    if (design == TN_MUTEX_DEFAULT) {
#ifdef TN_MUTEX
        design = TN_MUTEX;
#else
        return; /* the build's, which the suites of the variants know */
#endif
    }
    bool passes = design == TN_MUTEX_BATON;
    /* Barging: the holder has it again before those that wait. Handed over, it comes when they have been. */
    const char *order = order_after(0);
    if (passes)
        CHECK(strcmp(order, "abh") == 0);
    else if (design != TN_MUTEX_FAIR) /* which may have waited for long, where the machine is busy */
        CHECK(order[0] == 'h');
    order = order_after(3);
    if (design == TN_MUTEX_FAIR)
        CHECK(order[0] == 'a'); /* starved */
    else if (!passes)
        CHECK(order[0] == 'h');
}

static void test_next(void)
{
    if (migration_forced())
        SKIP("the order of fibres is another one under forced migration");
    for_each(1, who_is_next);
}

/* ---- what it costs ---- */

static void *quiet(void *arg)
{
    tn_cluster *cl = tn_cluster_self();
    tn_mutex m = fresh(TN_MUTEX_NORMAL);
    uint64_t waits = counter(cl, "wait"), wakes = counter(cl, "wake"), yields = counter(cl, "yield");
    for (int i = 0; i < 1000; i++) {
        CHECK_EQUAL(tn_mutex_lock(&m), 0);
        CHECK_EQUAL(tn_mutex_unlock(&m), 0);
    }
    CHECK_EQUAL(counter(cl, "wait"), waits);
    CHECK_EQUAL(counter(cl, "wake"), wakes);
    CHECK_EQUAL(counter(cl, "yield"), yields);
    return arg;
}

static void alone(void)
{
    in_fibre(quiet);
}

static void test_alone(void)
{
    static tn_mutex plain = TN_MUTEX_INIT;
    CHECK_EQUAL(sizeof(tn_mutex), 16);
    CHECK_EQUAL(tn_mutex_lock(&plain), 0);
    CHECK_EQUAL(tn_mutex_trylock(&plain), EBUSY);
    CHECK_EQUAL(tn_mutex_unlock(&plain), 0);
    CHECK_EQUAL(tn_mutex_destroy(&plain), 0);
    if (counting())
        for_each(1, alone);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {{"fibres and threads exclude each other", test_exclusion},
                                        {"deadlines and tokens", test_late},
                                        {"deadlines against hand-over", test_hurry},
                                        {"kinds", test_kinds},
                                        {"who is next", test_next},
                                        {"alone it waits for nothing", test_alone}};
    stress = argc > 1 && strcmp(argv[1], "--stress") == 0;
    if (stress)
        harness_patience(600);
    return HARNESS_RUN("mutex", tests);
}
