/* SPDX-License-Identifier: MIT
 *
 * The module pushing: the order of each kind of queue, and for each value of the other knobs the counter, or the worker, that
 * differs. What the four queues do when several are at them is test_queues.c's.
 */
#include "harness.h"
#include "parts/pushed.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MANY = 300, FEW = 24 /* every 64th yield is a hard one */ };

static void run(int64_t workers, const char *spec, void *(*fn)(void *), void *arg)
{
    struct tn_config c = with(workers, spec);
    CHECK_EQUAL(tn_run(&c, fn, arg, NULL), 0);
}

static uint64_t mine(const char *name)
{
    return counter(tn_cluster_self(), name);
}

/* ---- orders ---- */

static int order[2 * FEW];
static unsigned at;

static void *twice(void *number)
{
    order[at++] = (int)(intptr_t)number;
    tn_yield();
    order[at++] = (int)(intptr_t)number;
    return NULL;
}

/* Oldest first, also after a yield: all have run once before the first runs again. */
static void *in_order(void *arg)
{
    tn_fibre *f[FEW];
    at = 0;
    for (int i = 0; i < FEW; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, twice, (void *)(intptr_t)i), 0);
    for (int i = 0; i < FEW; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    unsigned wrong = 0;
    for (int i = 0; i < 2 * FEW; i++)
        wrong += order[i] != i % FEW;
    CHECK_EQUAL(wrong, 0);
    return arg;
}

static void test_order(void)
{
    static const char *const kinds[] = {"locked", "node", "stub", "nemesis"};
    char spec[80];
    if (migration_forced())
        SKIP("every fibre goes through the staging queue");
    for (int i = 0; i < 4; i++) {
        snprintf(spec, sizeof spec, "pushing:fresh=push:queue=%s", kinds[i]);
        run(1, spec, in_order, NULL);
    }
}

/* ---- fresh ---- */

static void *nothing(void *arg)
{
    return arg;
}

static void *spawn_many(void *staged)
{
    tn_fibre *f[MANY];
    uint64_t before = mine("staged");
    for (int i = 0; i < MANY; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, nothing, NULL), 0);
    for (int i = 0; i < MANY; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    *(uint64_t *)staged = mine("staged") - before;
    return NULL;
}

static void test_fresh(void)
{
    uint64_t staging = 0, push = 1;
    if (!counting() || migration_forced())
        SKIP("no counters, or every fibre is staged");
    run(2, "pushing:fresh=staging", spawn_many, &staging);
    run(2, "pushing:fresh=push", spawn_many, &push);
    CHECK(staging >= MANY);
    CHECK_EQUAL(push, 0);
}

/* ---- steal ---- */

static atomic_int stolen;
static atomic_bool over;

static void *count_once(void *arg)
{
    atomic_fetch_add(&stolen, 1);
    return arg;
}

/* Keeps its worker until all others have run somewhere else: those that were pushed behind it have to be stolen. */
static void *hog(void *others)
{
    while (atomic_load(&stolen) != *(int *)others)
        ;
    atomic_store(&over, true);
    return NULL;
}

static void *behind_a_hog(void *tries)
{
    enum { OTHERS = 8 };
    tn_fibre *f[OTHERS + 1];
    int others = OTHERS;
    uint64_t before = mine("steal_hit");
    atomic_store(&stolen, 0);
    atomic_store(&over, false);
    CHECK_EQUAL(tn_spawn(&f[0], NULL, hog, &others), 0);
    for (int i = 1; i <= OTHERS; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, count_once, NULL), 0);
    for (int i = 0; i <= OTHERS; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    CHECK(atomic_load(&over));
    *(uint64_t *)tries = mine("steal_hit") - before;
    return NULL;
}

static void test_steal(void)
{
    uint64_t hits = 0;
    if (!counting() || migration_forced())
        SKIP("no counters, or every fibre is staged");
    run(2, "pushing:fresh=push:steal=one", behind_a_hog, &hits);
    CHECK(hits > 0);
    hits = 0;
    run(2, "pushing:fresh=push:steal=stuck", behind_a_hog, &hits);
    CHECK(hits > 0);
}

/* Back at its owner's, who is busy, it has to be stolen again. */
static void *sleep_and_count(void *arg)
{
    tn_sleep(1000);
    return count_once(arg);
}

static void *back_behind_a_hog(void *returned)
{
    enum { OTHERS = 8 };
    tn_fibre *f[OTHERS + 1];
    int others = OTHERS;
    uint64_t before = mine("returned");
    atomic_store(&stolen, 0);
    CHECK_EQUAL(tn_spawn(&f[0], NULL, hog, &others), 0);
    for (int i = 1; i <= OTHERS; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, sleep_and_count, NULL), 0);
    for (int i = 0; i <= OTHERS; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    *(uint64_t *)returned = mine("returned") - before;
    return NULL;
}

/* The fibres of a single worker, which yield. */
static void *yield_often(void *arg)
{
    for (int i = 0; i < 2000; i++)
        tn_yield();
    return arg;
}

static void *nobody_stuck(void *returned)
{
    tn_fibre *f[16];
    for (int i = 0; i < 16; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, yield_often, NULL), 0);
    for (int i = 0; i < 16; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    *(uint64_t *)returned = mine("returned");
    return NULL;
}

/* With one worker nothing can be elsewhere; a fibre that was stolen goes back to its owner when it yields. */
static void test_returned(void)
{
    uint64_t returned = 1;
    if (!counting() || migration_forced())
        SKIP("no counters, or every fibre is staged");
    run(1, "pushing:fresh=push", nobody_stuck, &returned);
    CHECK_EQUAL(returned, 0);
    returned = 0; /* nobody steals where the hog's worker gets no processor meanwhile: again */
    for (int i = 0; i < 200 && returned < 2; i++)
        run(2, "pushing:fresh=push", back_behind_a_hog, &returned);
    CHECK(returned >= 2);
}

/* ---- levels, background ---- */

static void *enter(void *number)
{
    order[at++] = (int)(intptr_t)number;
    return NULL;
}

static void spawn_each(const struct tn_attr *attr, int n)
{
    tn_fibre *f[FEW];
    at = 0;
    for (int i = 0; i < n; i++)
        CHECK_EQUAL(tn_spawn(&f[i], &attr[i], enter, (void *)(intptr_t)i), 0);
    for (int i = 0; i < n; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
}

static void check_order(const int *wanted, int n)
{
    unsigned wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += order[i] != wanted[i];
    CHECK_EQUAL(wrong, 0);
}

/* By level, and the oldest of each first; what is beyond the last one belongs to it. */
static void *by_level(void *wanted)
{
    enum { N = 6 };
    const struct tn_attr attr[N] = {{.priority = -9}, {.priority = 0},  {.priority = 1},
                                    {.priority = 31}, {.priority = -1}, {.priority = 0}};
    spawn_each(attr, N);
    check_order(wanted, N);
    return NULL;
}

static void test_levels(void)
{
    static const int one[] = {0, 1, 2, 3, 4, 5}, two[] = {2, 3, 0, 1, 4, 5}, three[] = {2, 3, 1, 5, 0, 4},
                     all[] = {3, 2, 1, 5, 4, 0};
    static const struct {
        const char *levels;
        const int *order;
    } cases[] = {{"levels=1", one}, {"levels=2", two}, {"levels=3", three}, {"levels=63:queue=node", all}};
    if (migration_forced())
        SKIP("main yields, and that goes another way");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int push = 0; push < 2; push++) {
            char spec[80];
            snprintf(spec, sizeof spec, "pushing:fresh=%s:%s", push ? "push" : "staging", cases[i].levels);
            run(1, spec, by_level, (void *)(uintptr_t)cases[i].order);
        }
}

/* What is for the background runs last, also when it was there first. */
static void *last_of_all(void *taken)
{
    enum { N = 4 };
    static const int wanted[] = {1, 3, 0, 2};
    const struct tn_attr attr[N] = {
        {.background = true}, {0}, {.background = true, .priority = 31}, {.priority = -31}};
    spawn_each(attr, N);
    check_order(wanted, N);
    *(uint64_t *)taken = mine("background");
    return NULL;
}

static void test_background(void)
{
    uint64_t taken = 0;
    if (migration_forced())
        SKIP("main yields, and that goes another way");
    run(1, "pushing:fresh=push", last_of_all, &taken);
    run(1, "pushing:levels=3", last_of_all, &taken);
    if (counting())
        CHECK_EQUAL(taken, 2);
}

/* Those in the background get on among themselves by yielding, and before a worker looks there it steals. */
static atomic_int turn;

static void *take_turns(void *mine)
{
    for (int i = 0; i < 20; i++) {
        while (atomic_load(&turn) % 2 != *(int *)mine)
            tn_yield();
        atomic_fetch_add(&turn, 1);
    }
    return NULL;
}

static void *two_in_the_background(void *arg)
{
    static int numbers[] = {0, 1};
    const struct tn_attr attr = {.background = true};
    tn_fibre *f[2];
    atomic_store(&turn, 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_spawn(&f[i], &attr, take_turns, &numbers[i]), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    CHECK_EQUAL(atomic_load(&turn), 40);
    return arg;
}

static void test_background_turns(void)
{
    for (int workers = 1; workers <= 2; workers++)
        run(workers, "pushing", two_in_the_background, NULL);
}

/* Many wait by yielding, also hard, for one that is more urgent or less, and lies in the staging queue. */
static atomic_bool came;

static void *come(void *arg)
{
    atomic_store(&came, true);
    return arg;
}

static void *await_it(void *arg)
{
    while (!atomic_load(&came))
        tn_yield();
    return arg;
}

static void *one_among_many(void *priority)
{
    const struct tn_attr attr = {.priority = *(int *)priority, .detached = true};
    tn_fibre *f[FEW];
    atomic_store(&came, false);
    for (int i = 0; i < FEW; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, await_it, NULL), 0);
    for (int i = 0; i < 1000; i++) /* now all belong to this worker */
        tn_yield();
    CHECK_EQUAL(tn_spawn(NULL, &attr, come, NULL), 0);
    for (int i = 0; i < FEW; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    return NULL;
}

static void test_among_many(void)
{
    for (int priority = -1; priority <= 1; priority++)
        run(1, "pushing:levels=3", one_among_many, &priority);
}

/* ---- preset ---- */

static void *describe_self(void *text)
{
    tn_describe_cluster(tn_cluster_self(), text, 4096);
    return NULL;
}

static int misnamed(void *arg)
{
    struct tn_config c = with(1, arg);
    return tn_run(&c, describe_self, NULL, NULL);
}

/* A preset is what docs/modules.md says; what the program says itself comes before it. */
static void test_preset(void)
{
    static char text[4096];
    struct tn_config c = with(1, "pushing:preset=fibre");
    CHECK_EQUAL(tn_run(&c, describe_self, text, NULL), 0);
    CHECK(strstr(text, "{\"queue\":\"nemesis\",\"fresh\":\"staging\",\"steal\":\"one\",\"levels\":3}") != NULL);
    CHECK(strstr(text, "\"idle\":\"block\"") != NULL);
    c.idle = TN_IDLE_SPIN;
    CHECK_EQUAL(tn_run(&c, describe_self, text, NULL), 0);
    CHECK(strstr(text, "\"idle\":\"spin\"") != NULL);
    run(1, "pushing", describe_self, text);
    CHECK(strstr(text, "\"levels\":1}") != NULL && strstr(text, "\"idle\":\"spin-block\"") != NULL);
    CHECK(
        build_has("{\"name\":\"pushing:preset=fibre\",\"stands_for\":\"pushing:queue=nemesis:fresh=staging:steal=one:"
                  "levels=3\",\"idle\":\"block\"}"));
    int status = harness_child(misnamed, "pushing:preset=fibra", text, sizeof text);
    CHECK(exited(status, EINVAL));
    CHECK(strstr(text, "no preset 'fibra'; there is pushing:preset=fibre") != NULL);
    status = harness_child(misnamed, "fifo:preset=x:capacity=8", text, sizeof text);
    CHECK(exited(status, EINVAL) && strstr(text, "no preset 'x'; there is pushing:preset=fibre") != NULL);
    status = harness_child(misnamed, "pushing:preset=fibre:levels=2", text, sizeof text);
    CHECK(exited(status, EINVAL) && strstr(text, "pushing:preset=fibre takes no further knobs") != NULL);
}

/* ---- nodes ---- */

static unsigned blocks(const struct tn_pushed_nodes *all)
{
    unsigned n = 0;
    for (const struct tn_pushed_block *b = all->blocks; b != NULL; b = b->next)
        n++;
    return n;
}

/* Who always pops gives nodes back to who always pushes, a worker or not: however long they do that, there are no more
 * blocks than invariant 2 of parts/pushed.h says. */
static void test_nodes(void)
{
    enum { ROUNDS = 20000, AT_ONCE = 100 };
    static struct tn_fibre f[AT_ONCE];
    for (int outside = 0; outside < 2; outside++) {
        struct tn_pushed_nodes all = {0};
        struct tn_pushed_hand pusher = {0}, popper = {0};
        static struct tn_pushed q;
        unsigned wrong = 0;
        tn_spinlock_init(&all.lock);
        tn_pushed_init(&q, TN_PUSHED_NODE);
        for (int i = 0; i < ROUNDS; i++) {
            for (int j = 0; j < AT_ONCE; j++)
                wrong += !tn_pushed_push(&q, TN_PUSHED_NODE, &all, outside ? NULL : &pusher, &f[j]);
            for (int j = 0; j < AT_ONCE; j++)
                wrong += tn_pushed_pop(&q, TN_PUSHED_NODE, &all, &popper) != &f[j];
        }
        CHECK_EQUAL(wrong, 0);
        CHECK(pusher.n < TN_PUSHED_BLOCK && popper.n < TN_PUSHED_BLOCK && q.hand.n <= TN_PUSHED_BLOCK);
        CHECK(blocks(&all) <= (AT_ONCE + TN_PUSHED_BLOCK - 1) / TN_PUSHED_BLOCK + 2 * 2 + 1);
        tn_pushed_nodes_fini(&all);
    }
}

static const struct test tests[] = {
    {"queue: oldest first", test_order},
    {"fresh: staged or pushed", test_fresh},
    {"steal: behind a hog", test_steal},
    {"returned: behind a hog, not with one worker", test_returned},
    {"levels: by level, then by age", test_levels},
    {"background: last of all", test_background},
    {"background: in turns", test_background_turns},
    {"levels: one among many that yield", test_among_many},
    {"preset: as it is written out", test_preset},
    {"queue=node: nodes come back", test_nodes},
};

int main(void)
{
    return HARNESS_RUN("pushing", tests);
}
