/* SPDX-License-Identifier: MIT
 *
 * Waits without memory: what a wait with a deadline allocates, room for its timer, is refused. It is told so, the object is as
 * it was before, and the same wait can be made again. Then fibres that spawn, send, select and cancel in groups, in which each
 * allocation fails once: whatever comes of it, all end and nothing is lost. Linked with --wrap for the calls of memory.
 */
#include "harness.h"
#include "nomem.h"

#include "tenter_channel.h"
#include "tenter_group.h"

#include <errno.h>

/* ---- each wait ---- */

static tn_mutex held, mutex;
static tn_local_mutex local_held;
static tn_sem sem;
static tn_cond cond;
static tn_rwlock written;
static tn_barrier barrier;
static tn_latch latch;
static tn_once once;
static tn_promise promise, *promises[] = {&promise};
static tn_channel hand;
static tn_fibre *other;
static tn_time soon;
static int item;

static int w_mutex(void)
{
    return tn_mutex_lock_until(&held, soon, NULL);
}
static int w_local_mutex(void)
{
    return tn_local_mutex_lock_until(&local_held, soon, NULL);
}
static int w_sem(void)
{
    return tn_sem_wait_until(&sem, 1, soon, NULL);
}
static int w_cond(void)
{
    tn_mutex_lock(&mutex);
    int rc = tn_cond_wait_until(&cond, &mutex, soon, NULL);
    return tn_mutex_unlock(&mutex) == 0 ? rc : -1;
}
static int w_read(void)
{
    return tn_rwlock_rdlock_until(&written, soon, NULL);
}
static int w_write(void)
{
    return tn_rwlock_wrlock_until(&written, soon, NULL);
}
static int w_barrier(void)
{
    return tn_barrier_wait_until(&barrier, soon, NULL);
}
static int w_latch(void)
{
    return tn_latch_wait_until(&latch, soon, NULL);
}
static void never(void)
{
}
static int w_once(void)
{
    return tn_once_until(&once, never, soon, NULL);
}
static int w_promise(void)
{
    return tn_promise_get_until(&promise, NULL, soon, NULL);
}
static int w_all(void)
{
    return tn_promise_all(promises, 1, soon, NULL);
}
static int w_send(void)
{
    return tn_channel_send_until(&hand, &item, soon, NULL);
}
static int w_receive(void)
{
    return tn_channel_receive_until(&hand, &item, soon, NULL);
}
static int w_select(void)
{
    unsigned which;
    struct tn_arm arms[] = {TN_RECEIVE(&hand, &item), TN_KEPT(&promise)};
    return tn_select(arms, 2, &which, soon, NULL);
}
static int w_join(void)
{
    return tn_join_until(other, NULL, soon, NULL);
}
static int w_wait(void)
{
    tn_wait_prepare();
    return tn_wait(soon, NULL);
}
static void publish_nowhere(tn_waiter waiter, void *arg)
{
    (void)waiter, (void)arg;
}
static int w_suspend(void)
{
    return tn_suspend(publish_nowhere, NULL, soon, NULL);
}
/* By the deadline of its group alone. */
static void *waits_for_unit(void *arg)
{
    (void)arg;
    return TN_ERROR(tn_sem_wait(&sem));
}
static int w_group(void)
{
    tn_group g;
    tn_group_open(&g, soon);
    int rc = tn_spawn(NULL, &(struct tn_attr){.group = &g}, waits_for_unit, NULL);
    int error = tn_group_close(&g);
    return rc != 0 ? rc : error;
}

static const struct {
    const char *name;
    int (*wait)(void);
} waits[] = {{"mutex", w_mutex},     {"local mutex", w_local_mutex},
             {"semaphore", w_sem},   {"condition", w_cond},
             {"read lock", w_read},  {"write lock", w_write},
             {"barrier", w_barrier}, {"latch", w_latch},
             {"once", w_once},       {"promise", w_promise},
             {"all", w_all},         {"send", w_send},
             {"receive", w_receive}, {"select", w_select},
             {"join", w_join},       {"wait", w_wait},
             {"suspend", w_suspend}, {"group", w_group}};
enum { WAITS = sizeof(waits) / sizeof(waits[0]) };

static atomic_bool let_go;
static void until_let_go(void)
{
    while (!atomic_load(&let_go))
        tn_yield();
}
static void *keeps(void *arg)
{
    CHECK_EQUAL(tn_once_do(&once, until_let_go), 0);
    return arg;
}

/* A fibre has the mutexes and the lock, another one is doing what is done once and is to be joined. */
static void set_up(void)
{
    const tn_once fresh = TN_ONCE_INIT;
    once = fresh;
    CHECK(tn_mutex_init(&held, NULL) == 0 && tn_mutex_init(&mutex, NULL) == 0 && tn_mutex_lock(&held) == 0);
    CHECK(tn_local_mutex_init(&local_held, tn_cluster_self()) == 0 && tn_local_mutex_lock(&local_held) == 0);
    CHECK(tn_rwlock_init(&written, TN_RWLOCK_FAIR) == 0 && tn_rwlock_wrlock(&written) == 0);
    CHECK(tn_sem_init(&sem, 0, 0) == 0 && tn_barrier_init(&barrier, 2) == 0);
    tn_latch_init(&latch, 1);
    tn_cond_init(&cond);
    tn_promise_init(&promise);
    CHECK_EQUAL(tn_channel_init(&hand, NULL, sizeof item, 0), 0);
    atomic_store(&let_go, false);
    CHECK_EQUAL(tn_spawn(&other, NULL, keeps, NULL), 0);
    tn_yield();
}

static int waited[2], refused;

static void *waits_twice(void *number)
{
    const unsigned i = (unsigned)(uintptr_t)number;
    for (int with_memory = 0; with_memory < 2; with_memory++) {
        atomic_store(&failed, 0);
        atomic_store(&all_fail, with_memory == 0);
        soon = tn_now() + 2000000;
        waited[with_memory] = waits[i].wait();
        atomic_store(&all_fail, false);
        if (with_memory == 0)
            refused = atomic_load(&failed);
    }
    return number;
}

static void *one_wait(void *number)
{
    tn_fibre *f;
    set_up();
    CHECK_EQUAL(tn_spawn(&f, NULL, waits_twice, number), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    atomic_store(&let_go, true);
    CHECK_EQUAL(tn_join(other, NULL), 0);
    CHECK(tn_mutex_unlock(&held) == 0 && tn_local_mutex_unlock(&local_held) == 0 && tn_rwlock_unlock(&written) == 0);
    CHECK(tn_mutex_destroy(&held) == 0 && tn_mutex_destroy(&mutex) == 0 && tn_local_mutex_destroy(&local_held) == 0);
    CHECK(tn_sem_destroy(&sem) == 0 && tn_cond_destroy(&cond) == 0 && tn_rwlock_destroy(&written) == 0);
    CHECK(tn_barrier_destroy(&barrier) == 0 && tn_latch_destroy(&latch) == 0 && tn_promise_destroy(&promise) == 0);
    CHECK_EQUAL(tn_channel_destroy(&hand), 0);
    return number;
}

static void test_waits(void)
{
    for (uintptr_t i = 0; i < WAITS; i++) {
        long before = atomic_load(&blocks);
        struct tn_config c = with(1, NULL);
        bool good = CHECK_EQUAL(tn_run(&c, one_wait, (void *)i, NULL), 0);
        /* The wheel needs no room: there it is only too late. */
        good = CHECK_EQUAL(waited[0], refused != 0 ? ENOMEM : ETIMEDOUT) && good;
        good = CHECK((refused != 0) == build_has("timers=heap")) && good;
        good = CHECK_EQUAL(waited[1], ETIMEDOUT) && good;
        good = CHECK_EQUAL(atomic_load(&blocks), before) && good;
        if (!good)
            harness_note("%s", waits[i].name);
    }
}

/* ---- all together ---- */

enum { SENDERS = 3, SENT = 20 };
static tn_channel few, none;
static int places[2];
static tn_key key;
static atomic_int odd; /* answers that nobody would expect */

static void *told(int rc)
{
    if (rc != 0 && rc != ENOMEM && rc != ECANCELED && rc != EAGAIN && rc != EPIPE)
        atomic_store(&odd, rc);
    return TN_ERROR(rc);
}

static void *sends(void *arg)
{
    int rc = tn_local_set(&key, arg);
    for (int i = 0; i < SENT && rc == 0; i++)
        rc = tn_channel_send_until(i % 2 != 0 ? &few : &none, &i, tn_now() + 60000000000, NULL);
    return told(rc);
}

static void *receives(void *arg)
{
    int rc = 0, got;
    unsigned which;
    (void)arg;
    for (int i = 0; i < SENDERS * SENT && rc == 0; i++) {
        struct tn_arm arms[] = {TN_RECEIVE(&few, &got), TN_RECEIVE(&none, &got)};
        rc = tn_select(arms, 2, &which, tn_now() + 60000000000, NULL);
    }
    return told(rc);
}

static void *party(void *arg)
{
    tn_group g;
    struct tn_attr attr = {.group = &g};
    int rc = tn_channel_init(&few, places, sizeof(int), 2);
    CHECK(rc == 0 && tn_channel_init(&none, NULL, sizeof(int), 0) == 0);
    tn_group_open(&g, tn_now() + 100000000000);
    for (int i = 0; i <= SENDERS && rc == 0; i++)
        rc = tn_spawn(NULL, &attr, i < SENDERS ? sends : receives, arg);
    if (rc != 0)
        tn_group_cancel(&g);
    told(rc);
    rc = tn_group_close(&g);
    told(rc);
    CHECK(rc == 0 || rc == ECANCELED || atomic_load(&failed) != 0);
    return arg;
}

static void test_party(void)
{
    for (int workers = 1; workers <= 2; workers++)
        for (int k = 0;; k++) {
            long before = atomic_load(&blocks);
            struct tn_config c = with(workers, NULL);
            tn_runtime *rt;
            tn_fibre *f;
            CHECK_EQUAL(tn_start(&rt, &c), 0);
            atomic_store(&failed, 0);
            atomic_store(&odd, 0);
            atomic_store(&fails_in, k);
            int rc = tn_spawn(&f, &(struct tn_attr){.runtime = rt}, party, &key);
            if (rc == 0)
                CHECK_EQUAL(tn_join(f, NULL), 0);
            else
                told(rc);
            atomic_store(&fails_in, -1);
            bool good = CHECK_EQUAL(tn_stop(rt), 0);
            good = CHECK_EQUAL(atomic_load(&odd), 0) && good;
            good = CHECK_EQUAL(atomic_load(&blocks), before) && good;
            if (!good)
                harness_note("allocation %d, %d workers", k, workers);
            if (atomic_load(&failed) == 0) {
                CHECK(k >= 2); /* a timer's room, a fibre's values: there was something to fail */
                break;
            }
            if (!good)
                return;
        }
}

int main(void)
{
    static const struct test tests[] = {
        {"each wait with a deadline", test_waits},
        {"each allocation among groups, channels and selects", test_party},
    };
    return HARNESS_RUN("nomem sync", tests);
}
