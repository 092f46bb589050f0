/* SPDX-License-Identifier: MIT
 *
 * sharded: for each value of each of its knobs the order of execution, the rank error or the counter that differs; and the
 * structure itself against an exact queue. Rank error: how many older ones were queued when one was taken.
 */
#include "harness.h"

#include "scheduler.h"
#include "parts/shards.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the structure, one thread: any pushes and takes, each held against all that is queued ---- */

enum { ITEMS = 64, FIBRE_ROOM = 4096 };

static void structure(uint32_t n, int64_t bound, uint64_t seed, unsigned *worst)
{
    static _Alignas(TN_CACHE_LINE) unsigned char room[ITEMS][FIBRE_ROOM];
    struct tn_shards *s = tn_sched_alloc(sizeof *s);
    unsigned queued[ITEMS], count = 0, spare[ITEMS], spares = 0; /* queued: oldest first */
    CHECK_EQUAL(tn_shards_init(s, n, bound), 0);
    for (unsigned i = 0; i < ITEMS; i++)
        spare[spares++] = i;
    for (int step = 0; step < 20000; step++) {
        uint64_t r = harness_random(&seed);
        uint32_t i = (uint32_t)(r >> 32) % n;
        if (r % 32 < (step / 300 % 2 ? 17 : 15)) {
            if (spares != 0) {
                unsigned item = queued[count++] = spare[--spares];
                tn_shards_push(s, i, (struct tn_fibre *)(void *)room[item]);
            }
            continue;
        }
        uint64_t limit = tn_shards_limit(s);
        struct tn_fibre *f = NULL;
        for (uint32_t k = 0; k < n && f == NULL; k++)
            f = tn_shards_take(s, (i + k) % n, limit);
        CHECK_EQUAL(f != NULL, count != 0); /* the oldest one is never beyond the limit */
        if (f == NULL)
            continue;
        unsigned item = (unsigned)((unsigned char(*)[FIBRE_ROOM])(void *)f - room), rank = 0;
        while (rank < count && queued[rank] != item)
            rank++;
        CHECK(rank < count);
        CHECK(bound < 0 || rank <= bound);
        *worst = rank > *worst ? rank : *worst;
        memmove(queued + rank, queued + rank + 1, (--count - rank) * sizeof *queued);
        spare[spares++] = item;
    }
    tn_shards_fini(s);
    tn_sched_free(s, sizeof *s);
}

static void test_structure(void)
{
    for (uint32_t n = 1; n <= 9; n += 4)
        for (int64_t bound = -1; bound <= 7; bound += bound < 0 ? 1 : 3) {
            unsigned worst = 0;
            structure(n, bound, harness_seed() + n, &worst);
            if (n == 1 || bound == 0)
                CHECK_EQUAL(worst, 0);
            else
                CHECK(bound < 0 ? worst > 7 : worst > 0);
        }
}

/* ---- the module, one worker ---- */

enum { MOST = 64 };
static unsigned order[MOST], at;

static void *write_down(void *number)
{
    order[at++] = (unsigned)(uintptr_t)number;
    return NULL;
}

struct seen {
    unsigned worst, sum; /* rank errors */
    uint64_t other, overflow, passed;
    unsigned order[MOST];
};

static void *spawn_all(void *arg)
{
    struct seen *s = arg;
    tn_fibre *f[MOST];
    tn_cluster *cl = tn_cluster_self();
    at = 0;
    for (uintptr_t i = 0; i < MOST; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, write_down, (void *)i), 0);
    for (int i = 0; i < MOST; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    s->other = counter(cl, "other");
    s->overflow = counter(cl, "overflow");
    s->passed = counter(cl, "passed");
    return NULL;
}

static struct seen run(const char *spec)
{
    struct tn_config c = with(1, spec);
    struct seen s = {0};
    CHECK_EQUAL(tn_run(&c, spawn_all, &s, NULL), 0);
    CHECK_EQUAL(at, MOST);
    memcpy(s.order, order, sizeof order);
    for (unsigned i = 0; i < MOST; i++) {
        unsigned rank = 0;
        for (unsigned k = i + 1; k < MOST; k++)
            rank += order[k] < order[i];
        s.worst = rank > s.worst ? rank : s.worst;
        s.sum += rank;
    }
    return s;
}

static const char *const choices[] = {"round-robin", "random", "two"};

static void test_choice(void)
{
    struct seen seen[3];
    if (migration_forced())
        SKIP("every fibre yields hard");
    struct seen plain = run("sharded"); /* all fit into the worker's own shard */
    CHECK_EQUAL(plain.worst, 0);
    CHECK(plain.overflow == 0 || !counting());
    plain = run("sharded:capacity=63");
    CHECK(plain.overflow == 1 || !counting());
    for (int i = 0; i < 3; i++) {
        char spec[96];
        snprintf(spec, sizeof spec, "sharded:capacity=1:choice=%s", choices[i]);
        seen[i] = run(spec);
        CHECK(seen[i].worst > 0);
        if (counting()) {
            CHECK(seen[i].overflow >= MOST - 1);
            CHECK(seen[i].other > MOST / 2);
            CHECK_EQUAL(seen[i].passed, 0);
        }
        for (int k = 0; k < i; k++)
            CHECK(memcmp(seen[i].order, seen[k].order, sizeof order) != 0);
    }
    for (unsigned i = 1; i < 7; i++) /* dealt out like cards; the own hand first */
        CHECK_EQUAL(seen[0].order[i + 1] - seen[0].order[i], 8);
}

static void test_bound(void)
{
    if (migration_forced())
        SKIP("every fibre yields hard");
    for (int i = 0; i < 3; i++)
        for (unsigned bound = 0; bound <= 20; bound += 5) {
            char spec[96];
            snprintf(spec, sizeof spec, "sharded:capacity=1:choice=%s:bound=%u", choices[i], bound);
            struct seen s = run(spec);
            CHECK(s.worst <= bound);
            CHECK((s.worst == 0) == (bound == 0));
            if (counting())
                CHECK(s.passed > 0);
        }
}

static void test_shards(void)
{
    if (migration_forced())
        SKIP("every fibre yields hard");
    CHECK_EQUAL(run("sharded:shards=1:capacity=1").worst, 0);
    struct seen few = run("sharded:shards=2:capacity=1"), many = run("sharded:shards=32:capacity=1");
    CHECK(few.worst > 0);
    CHECK_EQUAL(few.order[2] - few.order[1], 2);
    CHECK(many.order[1] >= 32); /* two rounds of cards at most */
}

static void *work(void *ns)
{
    tn_work((uint64_t)(uintptr_t)ns);
    return NULL;
}

/* Two workers, one shard: the second one has none of its own. */
static void *by_both(void *arg)
{
    tn_fibre *f[MOST];
    tn_cluster *cl = tn_cluster_self();
    for (int round = 0; round < 1000 && counter(cl, "other") == 0; round++) {
        for (int i = 0; i < MOST; i++)
            CHECK_EQUAL(tn_spawn(&f[i], NULL, work, (void *)(uintptr_t)20000), 0);
        for (int i = 0; i < MOST; i++)
            CHECK_EQUAL(tn_join(f[i], NULL), 0);
    }
    CHECK(counter(cl, "other") > 0);
    return arg;
}

static void test_without_own(void)
{
    struct tn_config c = with(2, "sharded:shards=1");
    if (migration_forced() || !counting())
        SKIP("it is told by a counter of a plain build");
    CHECK_EQUAL(tn_run(&c, by_both, NULL, NULL), 0);
}

static void *until_full(void *wanted)
{
    uintptr_t n = 0;
    int rc = 0;
    while (n < 1000 && (rc = tn_spawn(NULL, NULL, work, NULL)) == 0)
        n++;
    CHECK_EQUAL(n, (uintptr_t)wanted);
    CHECK_EQUAL(rc, n < 1000 ? EAGAIN : 0);
    return NULL;
}

static void test_full(void)
{
    struct tn_config refuse = with(1, "sharded:capacity=4:shards=3:full=refuse");
    struct tn_config overflow = with(1, "sharded:capacity=4:shards=3:full=overflow");
    if (migration_forced())
        SKIP("every fibre yields hard");
    CHECK_EQUAL(tn_run(&refuse, until_full, (void *)12, NULL), 0);
    CHECK_EQUAL(tn_run(&overflow, until_full, (void *)1000, NULL), 0);
}

static atomic_bool enough;

static void *until_enough(void *sleeps)
{
    while (!atomic_load(&enough)) {
        if (sleeps != NULL)
            tn_sleep(1);
        else
            tn_yield();
    }
    return NULL;
}

/* Those who have begun take nobody's room, however often they are back: one more may be spawned, and one more is refused. */
static void *full_of_old(void *sleep)
{
    tn_fibre *f[5];
    for (int i = 0; i < 5; i++) {
        while (tn_spawn(&f[i], NULL, until_enough, sleep) == EAGAIN)
            tn_yield();
    }
    for (int i = 0; i < 40; i++)
        tn_yield();
    atomic_store(&enough, true);
    CHECK_EQUAL(tn_spawn(NULL, NULL, work, NULL), 0);
    CHECK_EQUAL(tn_spawn(NULL, NULL, work, NULL), 0);
    CHECK_EQUAL(tn_spawn(NULL, NULL, work, NULL), EAGAIN);
    for (int i = 0; i < 5; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    atomic_store(&enough, false);
    return NULL;
}

static void test_full_of_old(void)
{
    struct tn_config c = with(1, "sharded:capacity=2:shards=1:full=refuse");
    CHECK_EQUAL(tn_run(&c, full_of_old, NULL, NULL), 0);
    CHECK_EQUAL(tn_run(&c, full_of_old, &c, NULL), 0);
}

static void *yield_hard(void *arg)
{
    tn_fibre *f;
    CHECK_EQUAL(tn_spawn(&f, NULL, write_down, (void *)1), 0);
    at = 0;
    tn_yield_hard();
    CHECK_EQUAL(at, 1);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK(counter(tn_cluster_self(), "yields") == 1 || !counting());
    return arg;
}

static void test_yields(void)
{
    struct tn_config c = with(1, "sharded");
    if (migration_forced())
        SKIP("every fibre yields hard");
    CHECK_EQUAL(tn_run(&c, yield_hard, NULL, NULL), 0);
}

int main(void)
{
    static const struct test tests[] = {
        {"shards against an exact queue", test_structure},
        {"choice of a shard", test_choice},
        {"bound", test_bound},
        {"number of shards", test_shards},
        {"a worker without a shard", test_without_own},
        {"full", test_full},
        {"full of those that have begun", test_full_of_old},
        {"hard yields", test_yields},
    };
    return HARNESS_RUN("sharded", tests);
}
