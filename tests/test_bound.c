/* SPDX-License-Identifier: MIT
 *
 * Groups with room for so many members: what a spawn does where there is none, under each module; and that pressure passes from
 * a stage through a channel to the spawner, at twice the load that saturates the stage.
 */
#include "sync.h"

#include "tenter_channel.h"
#include "tenter_group.h"

static const char *const specs[] = {"fifo",
                                    "lifo:spawn=child",
                                    "hybrid",
                                    "sharded",
                                    "multiq",
                                    "staged",
                                    "pushing",
                                    "skeleton",
                                    "yields",
                                    "fifo:layout=global:full=refuse:capacity=2",
                                    "staged:full=refuse:capacity=2"};
enum { SPECS = sizeof specs / sizeof specs[0] };
static const char *spec;

static void each_module(void (*fn)(void))
{
    for (unsigned i = 0; i < SPECS; i++)
        for (int workers = 1; workers <= 2; workers++) {
            struct tn_config c = with(workers, spec = specs[i]);
            CHECK_EQUAL(tn_start(&rt, &c), 0);
            fn();
            CHECK_EQUAL(tn_stop(rt), 0);
        }
}

static void in_fibre(void *(*fn)(void *))
{
    tn_fibre *f = NULL;
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, fn, NULL), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
}

static int spawn_in(tn_group *g, int full, tn_time deadline, void *(*fn)(void *), void *arg)
{
    return tn_spawn(NULL, &(struct tn_attr){.runtime = rt, .group = g, .full = full, .deadline = deadline}, fn, arg);
}

/* ---- units ---- */

enum { ROOM = 3 };
static _Atomic(int) hold, alive, most, ran;

static void *member(void *arg)
{
    int now = atomic_fetch_add(&alive, 1) + 1, before = atomic_load(&most);
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now))
        ;
    while (atomic_load(&hold))
        tn_yield();
    tn_yield();
    atomic_fetch_add(&ran, 1);
    atomic_fetch_sub(&alive, 1);
    return arg;
}

struct waits {
    tn_group *group;
    tn_time deadline;
    int rc;
};

static void *waits_for_room(void *arg)
{
    struct waits *w = arg;
    w->rc = spawn_in(w->group, TN_FULL_WAIT, w->deadline, member, NULL);
    return NULL;
}

/* Until somebody waits for a unit, if that is to be. */
static void let_wait(tn_sem *room)
{
    for (int i = 0; i < 200000 && waiting(&room->waits) == 0; i++)
        tn_yield();
}

static void units(void)
{
    tn_sem room = TN_SEM_INIT(ROOM, 0);
    tn_group g, outer;
    atomic_store(&hold, 1), atomic_store(&alive, 0), atomic_store(&ran, 0);
    tn_group_open(&g, TN_FOREVER);
    tn_group_bound(&g, &room);
    for (int i = 0; i < ROOM; i++) { /* a module of two places may refuse, too: then it has begun in a while */
        int rc;
        while ((rc = spawn_in(&g, TN_FULL_REFUSE, 0, member, NULL)) == EAGAIN && tn_sem_value(&room) != 0)
            tn_yield();
        CHECK_EQUAL(rc, 0);
    }
    CHECK_EQUAL(tn_sem_value(&room), 0);
    CHECK_EQUAL(spawn_in(&g, TN_FULL_REFUSE, 0, member, NULL), EAGAIN);
    CHECK_EQUAL(spawn_in(&g, TN_FULL_WAIT, tn_now() + 1000000, member, NULL), ETIMEDOUT);
    CHECK_EQUAL(spawn_in(&g, TN_FULL_WAIT, 1, member, NULL), ETIMEDOUT);
    CHECK_EQUAL(spawn_in(&g, TN_FULL_OVERFLOW, 0, member, NULL), 0);
    CHECK_EQUAL(tn_sem_value(&room), 0);

    struct waits cancelled = {&g, 0, -1}, waits = {&g, 0, -1};
    tn_group_open(&outer, TN_FOREVER);
    CHECK_EQUAL(spawn_in(&outer, TN_FULL_OVERFLOW, 0, waits_for_room, &cancelled), 0);
    let_wait(&room);
    tn_group_cancel(&outer);
    CHECK_EQUAL(tn_group_close(&outer), ECANCELED);
    CHECK_EQUAL(cancelled.rc, ECANCELED);
    tn_fibre *f = NULL;
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt, .full = TN_FULL_OVERFLOW}, waits_for_room, &waits), 0);
    let_wait(&room);
    CHECK_EQUAL(waits.rc, -1);
    atomic_store(&hold, 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK_EQUAL(waits.rc, 0);
    CHECK_EQUAL(tn_group_close(&g), 0);
    CHECK_EQUAL(atomic_load(&ran), ROOM + 2);
    CHECK_EQUAL(tn_sem_value(&room), ROOM); /* who did without has brought nothing */

    tn_group_open(&g, TN_FOREVER);
    tn_group_bound(&g, &room);
    tn_group_cancel(&g);
    CHECK_EQUAL(spawn_in(&g, TN_FULL_REFUSE, 0, member, NULL), ECANCELED);
    CHECK_EQUAL(spawn_in(&g, TN_FULL_WAIT, 0, member, NULL), ECANCELED);
    CHECK_EQUAL(spawn_in(&g, 3, 0, member, NULL), EINVAL);
    CHECK_EQUAL(tn_group_close(&g), ECANCELED);
    CHECK_EQUAL(tn_sem_value(&room), ROOM);
    CHECK_EQUAL(tn_sem_destroy(&room), 0);
}

static void *units_in_fibre(void *arg)
{
    units();
    return arg;
}

static void both(void)
{
    in_fibre(units_in_fibre);
    units(); /* and by a plain thread */
}

static void test_units(void)
{
    CHECK_EQUAL(sizeof(tn_group), 80);
    each_module(both);
}

/* ---- many spawners of groups that share one room ---- */

enum { SPAWNERS = 4, EACH = 100 };
static tn_sem shared;

static void *spawner(void *arg)
{
    tn_group g;
    tn_group_open(&g, TN_FOREVER);
    tn_group_bound(&g, &shared);
    for (int i = 0; i < EACH; i++)
        CHECK_EQUAL(spawn_in(&g, TN_FULL_WAIT, 0, member, NULL), 0);
    CHECK_EQUAL(tn_group_close(&g), 0);
    return arg;
}

static void storm(void)
{
    struct party p;
    CHECK_EQUAL(tn_sem_init(&shared, ROOM, 0), 0);
    atomic_store(&hold, 0), atomic_store(&alive, 0), atomic_store(&most, 0), atomic_store(&ran, 0);
    p = (struct party){.fibres = SPAWNERS, .threads = 1};
    for (unsigned i = 0; i < SPAWNERS; i++)
        CHECK_EQUAL(tn_spawn(&p.fibre[i], &(struct tn_attr){.runtime = rt, .full = TN_FULL_OVERFLOW}, spawner, NULL),
                    0);
    CHECK_EQUAL(pthread_create(&p.thread[0], NULL, spawner, NULL), 0);
    all_gone(&p);
    CHECK_EQUAL(atomic_load(&ran), (SPAWNERS + 1) * EACH);
    CHECK(atomic_load(&most) <= ROOM);
    CHECK_EQUAL(tn_sem_value(&shared), ROOM);
    CHECK_EQUAL(tn_sem_destroy(&shared), 0);
}

static void test_storm(void)
{
    each_module(storm);
}

/* ---- twice the load ---- */

/* In each tick two items are due, and the stage behind the channel can do one: no clock, but exactly twice what it can. An item is
 * a fibre that sends into the channel; where that is full it waits, and nothing of it lies in a queue of the module's. */
enum { PLACES = 4, MEMBERS = 8, TICKS = 200, AT_MOST = MEMBERS + PLACES };
static tn_channel channel;
static tn_sem tick, members;
static int full;
static _Atomic(int) taken, due, spawned, shed;

static void *item(void *number)
{
    CHECK_EQUAL(tn_channel_send(&channel, &number), 0);
    return NULL;
}

static void *stage(void *arg)
{
    void *number;
    while (tn_sem_wait(&tick) == 0 && tn_channel_receive(&channel, &number) == 0)
        atomic_fetch_add(&taken, 1);
    return arg;
}

/* Two are due for each one that has been taken. */
static void *source(void *arg)
{
    tn_group g;
    tn_group_open(&g, TN_FOREVER);
    tn_group_bound(&g, &members);
    for (intptr_t i = 0; i < 2 * TICKS; i++) {
        while (atomic_load(&due) <= i)
            tn_yield();
        int rc;
        do /* a module of two places refuses as well; it is the group's room that this is about */
            rc = spawn_in(&g, full, 0, item, (void *)(i + 1));
        while (rc == EAGAIN && tn_sem_value(&members) != 0);
        CHECK(rc == 0 || (rc == EAGAIN && full == TN_FULL_REFUSE));
        atomic_fetch_add(rc == 0 ? &spawned : &shed, 1);
        CHECK(atomic_load(&spawned) - atomic_load(&taken) <= AT_MOST + 1); /* and one in the stage's hand */
    }
    CHECK_EQUAL(tn_group_close(&g), 0);
    CHECK_EQUAL(tn_channel_close(&channel), 0);
    return arg;
}

static void *runs_twice_the_load(void *arg)
{
    static void *places[PLACES];
    tn_fibre *f[2];
    CHECK_EQUAL(tn_channel_init(&channel, places, sizeof(void *), PLACES), 0);
    CHECK_EQUAL(tn_sem_init(&tick, 0, 0), 0);
    CHECK_EQUAL(tn_sem_init(&members, MEMBERS, 0), 0);
    atomic_store(&taken, 0), atomic_store(&due, 0), atomic_store(&spawned, 0), atomic_store(&shed, 0);
    CHECK_EQUAL(tn_spawn(&f[0], &(struct tn_attr){.full = TN_FULL_OVERFLOW}, stage, NULL), 0);
    CHECK_EQUAL(tn_spawn(&f[1], &(struct tn_attr){.full = TN_FULL_OVERFLOW}, source, NULL), 0);
    for (int i = 1; i <= TICKS; i++) {
        atomic_fetch_add(&due, 2);
        /* Who sheds has dealt with both before the stage takes one; who waits may be behind, and further each time. */
        while (full == TN_FULL_REFUSE && atomic_load(&spawned) + atomic_load(&shed) < 2 * i)
            tn_yield();
        CHECK_EQUAL(tn_sem_post(&tick), 0);
        while (atomic_load(&taken) < i)
            tn_yield();
    }
    int in_time = atomic_load(&spawned), lost = atomic_load(&shed);
    CHECK(in_time <= TICKS + AT_MOST + 1);
    if (full == TN_FULL_REFUSE)
        CHECK(lost >= TICKS - AT_MOST && lost <= TICKS);
    else
        CHECK_EQUAL(lost, 0);
    harness_note("%s, %s: of %d due %d spawned, %d shed, with %d taken", spec,
                 full == TN_FULL_REFUSE ? "sheds" : "waits", 2 * TICKS, in_time, lost, TICKS);
    CHECK_EQUAL(tn_sem_post_n(&tick, 2 * TICKS), 0); /* the rest, as fast as it goes */
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    CHECK_EQUAL(atomic_load(&taken), atomic_load(&spawned));
    CHECK_EQUAL(atomic_load(&spawned) + atomic_load(&shed), 2 * TICKS);
    CHECK_EQUAL(tn_sem_value(&members), MEMBERS);
    return arg;
}

static void twice(void)
{
    for (full = TN_FULL_REFUSE; full <= TN_FULL_WAIT; full++)
        in_fibre(runs_twice_the_load);
}

static void test_twice(void)
{
    each_module(twice);
}

static const struct test tests[] = {{"refuse, wait, overflow", test_units},
                                    {"many spawners share one room", test_storm},
                                    {"twice the load, through a channel to the spawner", test_twice}};

SYNC_MAIN("bound", tests)
