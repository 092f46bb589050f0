/* SPDX-License-Identifier: MIT
 *
 * All that fibres and threads wait for each other with, in one random crowd: members of groups in two runtimes and plain threads,
 * mutexes in all designs and kinds, reader-writer locks of all kinds, units, channels, select, a condition, a latch, what
 * is done once; with deadlines, tokens, and groups that are cancelled meanwhile. What each excludes holds at each moment, in
 * the end what went in came out, every handler has run once, and nobody is left anywhere.
 */
#include "sync.h"

#include "tenter_channel.h"
#include "tenter_group.h"

enum { DESIGNS = 5, MUTEXES = 3 * DESIGNS, RWLOCKS = 3, UNITS = 7, ONCES = 50, FIBRES = 60, THREADS = 20 };

static tn_mutex mutex[MUTEXES], cond_mutex;
static int holders[MUTEXES], writers[RWLOCKS];
static tn_rwlock rwlock[RWLOCKS];
static _Atomic(int) readers[RWLOCKS], units, once_done;
static tn_sem sem;
static tn_cond cond;
static tn_channel hand, places;
static long room[4];
static tn_latch latch;
static tn_once once[ONCES];
static tn_token token;
static _Atomic(long) sent, received, gave_up, pushed, ran;
static unsigned rounds;

struct me {
    uint64_t random;
};

static unsigned some(struct me *me, unsigned below)
{
    return (unsigned)(harness_random(&me->random) % below);
}

static tn_time soon(struct me *me)
{
    return tn_now() + some(me, 300000);
}

static tn_time some_time(struct me *me)
{
    return some(me, 2) == 0 ? TN_FOREVER : soon(me);
}

static tn_token *some_token(struct me *me)
{
    return some(me, 4) == 0 ? &token : NULL;
}

static bool granted(int rc)
{
    CHECK(rc == 0 || rc == ETIMEDOUT || rc == ECANCELED);
    atomic_fetch_add(&gave_up, rc != 0);
    return rc == 0;
}

static void in_mutex(struct me *me)
{
    unsigned k = some(me, MUTEXES);
    if (!granted(tn_mutex_lock_until(&mutex[k], some_time(me), some_token(me))))
        return;
    CHECK_EQUAL(holders[k]++, 0);
    if (some(me, 4) == 0)
        tn_yield();
    CHECK_EQUAL(--holders[k], 0);
    CHECK_EQUAL(tn_mutex_unlock(&mutex[k]), 0);
}

static void reads(struct me *me)
{
    unsigned k = some(me, RWLOCKS);
    if (!granted(tn_rwlock_rdlock_until(&rwlock[k], some_time(me), some_token(me))))
        return;
    atomic_fetch_add(&readers[k], 1);
    CHECK_EQUAL(writers[k], 0);
    tn_yield();
    CHECK_EQUAL(writers[k], 0);
    atomic_fetch_sub(&readers[k], 1);
    CHECK_EQUAL(tn_rwlock_unlock(&rwlock[k]), 0);
}

static void writes(struct me *me)
{
    unsigned k = some(me, RWLOCKS);
    if (!granted(tn_rwlock_wrlock_until(&rwlock[k], some_time(me), some_token(me))))
        return;
    CHECK(writers[k]++ == 0 && atomic_load(&readers[k]) == 0);
    if (some(me, 4) == 0)
        tn_yield();
    CHECK(--writers[k] == 0 && atomic_load(&readers[k]) == 0);
    CHECK_EQUAL(tn_rwlock_unlock(&rwlock[k]), 0);
}

static void has_units(struct me *me)
{
    unsigned n = 1 + some(me, 4); /* several may starve */
    if (!granted(tn_sem_wait_until(&sem, n, n > 1 ? soon(me) : some_time(me), some_token(me))))
        return;
    CHECK(atomic_fetch_add(&units, (int)n) + (int)n <= UNITS);
    tn_yield();
    atomic_fetch_sub(&units, (int)n);
    CHECK_EQUAL(tn_sem_post_n(&sem, n), 0);
}

static void sends(struct me *me)
{
    long item = 1;
    if (granted(tn_channel_send_until(some(me, 2) == 0 ? &hand : &places, &item, soon(me), some_token(me))))
        atomic_fetch_add(&sent, 1);
}

static void receives(struct me *me)
{
    long item = 0;
    if (granted(tn_channel_receive_until(some(me, 2) == 0 ? &hand : &places, &item, soon(me), some_token(me))))
        atomic_fetch_add(&received, item);
}

static void selects(struct me *me)
{
    long one = 1, by_hand = 0, from_place = 0;
    struct tn_arm arms[] = {TN_SEND(&hand, &one), TN_RECEIVE(&places, &from_place), TN_RECEIVE(&hand, &by_hand),
                            TN_SEND(&places, &one)};
    unsigned which;
    if (!granted(tn_select(arms, 4, &which, soon(me), some_token(me)))) {
        CHECK_EQUAL(which, 4);
        return;
    }
    atomic_fetch_add(&sent, which == 0 || which == 3);
    atomic_fetch_add(&received, by_hand + from_place);
    CHECK_EQUAL(by_hand + from_place, which == 1 || which == 2);
}

static void at_condition(struct me *me)
{
    tn_mutex_lock(&cond_mutex);
    if (some(me, 2) == 0)
        tn_cond_signal(&cond);
    else if (some(me, 8) == 0)
        tn_cond_broadcast(&cond);
    else
        granted(tn_cond_wait_until(&cond, &cond_mutex, soon(me), some_token(me)));
    CHECK_EQUAL(tn_mutex_unlock(&cond_mutex), 0);
}

static void initialise(void)
{
    atomic_fetch_add(&once_done, 1);
}

static void at_gates(struct me *me)
{
    CHECK_EQUAL(tn_once_do(&once[some(me, ONCES)], initialise), 0);
    CHECK_EQUAL(tn_latch_up(&latch, 1), 0);
    CHECK(!granted(tn_latch_wait_until(&latch, tn_now() + 1000, some_token(me))));
    CHECK_EQUAL(tn_latch_down(&latch, 1), 0);
}

static void handles(void *arg)
{
    tn_mutex_lock(&cond_mutex); /* a handler may block, whatever was cancelled */
    tn_yield();
    tn_mutex_unlock(&cond_mutex);
    atomic_fetch_add((_Atomic(long) *)arg, 1);
}

static void *joins_in(void *seed)
{
    static void (*const what[])(struct me *) = {in_mutex, in_mutex, reads,   writes,       has_units,
                                                sends,    receives, selects, at_condition, at_gates};
    struct me me = {(uintptr_t)seed};
    struct tn_cleanup c;
    bool fibre = tn_cleanup_push(&c, handles, &ran) == 0;
    atomic_fetch_add(&pushed, fibre);
    for (unsigned i = 0; i < rounds; i++)
        what[some(&me, sizeof what / sizeof what[0])](&me);
    if (fibre)
        tn_exit(tn_cancelled() != 0 ? TN_ERROR(tn_cancelled()) : NULL);
    return NULL;
}

static void begins(void)
{
    for (int i = 0; i < MUTEXES; i++)
        CHECK_EQUAL(tn_mutex_init(&mutex[i], &(struct tn_mutex_attr){1 + i % DESIGNS, i / DESIGNS}), 0);
    CHECK_EQUAL(tn_mutex_init(&cond_mutex, NULL), 0);
    for (int i = 0; i < RWLOCKS; i++)
        CHECK_EQUAL(tn_rwlock_init(&rwlock[i], i), 0);
    CHECK_EQUAL(tn_sem_init(&sem, UNITS, UNITS), 0);
    CHECK_EQUAL(tn_channel_init(&hand, NULL, sizeof(long), 0), 0);
    CHECK_EQUAL(tn_channel_init(&places, room, sizeof(long), sizeof room / sizeof room[0]), 0);
    for (int i = 0; i < ONCES; i++)
        once[i] = (tn_once)TN_ONCE_INIT;
    tn_cond_init(&cond);
    tn_latch_init(&latch, 1);
    tn_token_init(&token);
    atomic_store(&sent, 0), atomic_store(&received, 0), atomic_store(&once_done, 0);
    atomic_store(&pushed, 0), atomic_store(&ran, 0);
}

static void is_over(void)
{
    long item;
    while (tn_channel_tryreceive(&places, &item) == 0)
        atomic_fetch_add(&received, item);
    CHECK_EQUAL(atomic_load(&sent), atomic_load(&received));
    CHECK_EQUAL(atomic_load(&pushed), atomic_load(&ran));
    CHECK_EQUAL(tn_sem_value(&sem), UNITS);
    int done = 0;
    for (int i = 0; i < ONCES; i++)
        done += (int)once[i].done;
    CHECK_EQUAL(atomic_load(&once_done), done);
    for (int i = 0; i < MUTEXES; i++)
        CHECK_EQUAL(tn_mutex_destroy(&mutex[i]), 0);
    for (int i = 0; i < RWLOCKS; i++)
        CHECK_EQUAL(tn_rwlock_destroy(&rwlock[i]), 0);
    CHECK_EQUAL(tn_sem_destroy(&sem), 0);
    CHECK_EQUAL(tn_cond_destroy(&cond), 0);
    CHECK_EQUAL(tn_latch_destroy(&latch), 0);
    CHECK_EQUAL(tn_channel_destroy(&hand), 0);
    CHECK_EQUAL(tn_channel_destroy(&places), 0);
}

/* `cancel`: the group of the second runtime in the middle of it, and the token. */
static void together(bool cancel)
{
    struct tn_config c = with(2, NULL);
    tn_runtime *both[2];
    tn_group group[2];
    struct party p;
    uint64_t random = harness_seed();
    begins();
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(tn_start(&both[i], &c), 0);
        tn_group_open(&group[i], TN_FOREVER);
    }
    for (int i = 0; i < FIBRES; i++)
        CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.runtime = both[i % 2], .group = &group[i % 2]}, joins_in,
                             (void *)(uintptr_t)harness_random(&random)),
                    0);
    rt = both[0];
    invite(&p, 0, THREADS, joins_in);
    if (cancel) {
        nap_us(2000);
        tn_group_cancel(&group[1]);
        tn_token_fire(&token);
    }
    all_gone(&p);
    CHECK_EQUAL(tn_group_close(&group[0]), 0);
    CHECK_EQUAL(tn_group_close(&group[1]), cancel ? ECANCELED : 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_stop(both[i]), 0);
    is_over();
    harness_note("%ld sent, %ld gave up", atomic_load(&sent), atomic_load(&gave_up));
}

static void test_together(void)
{
    rounds = stress ? 5000 : 100;
    together(false);
}

static void test_cancelled(void)
{
    rounds = stress ? 5000 : 100;
    together(true);
}

static const struct test tests[] = {
    {"all together", test_together},
    {"all together, and some are cancelled", test_cancelled},
};

SYNC_MAIN("together", tests)
