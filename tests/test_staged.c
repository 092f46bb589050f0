/* SPDX-License-Identifier: MIT
 *
 * The module staged, and tn_stage: for each value of each knob the order, or the counter, that differs. How well the
 * controller does is tests/py/test_stages.py's, on simulated cores.
 */
#include "harness.h"

#include "parts/stage.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static void run(int64_t workers, const char *spec, void *(*fn)(void *), void *arg)
{
    struct tn_config c = with(workers, spec);
    CHECK_EQUAL(tn_run(&c, fn, arg, NULL), 0);
}

static uint64_t mine(const char *name)
{
    return counter(tn_cluster_self(), name);
}

/* ---- what tn_stage answers ---- */

static void *answers(void *stages)
{
    unsigned n = *(unsigned *)stages;
    for (unsigned s = 0; s < 9; s++)
        CHECK_EQUAL(tn_stage(s), s < n ? 0 : EINVAL);
    CHECK_EQUAL(tn_stage(0), 0);
    CHECK_EQUAL(tn_stage(0), 0);
    uint64_t switches = mine("switch");
    CHECK_EQUAL(tn_stage(0), 0);
    CHECK_EQUAL(mine("switch"), switches); /* it was there */
    return NULL;
}

static void test_answers(void)
{
    unsigned three = 3, one = 1, nine = 9;
    CHECK_EQUAL(tn_stage(0), EPERM);
    for (int64_t workers = 1; workers <= 4; workers += 3) {
        run(workers, "staged", answers, &three);
        run(workers, "staged:stages=1", answers, &one);
        run(workers, "staged:stages=9:control=0", answers, &nine);
    }
    run(1, "fifo", answers, &nine); /* no stages: nothing happens */
    run(1, "multiq", answers, &nine);
}

/* ---- orders on one worker: whose stage is nobody's comes first, the latest of them ---- */

static char order[64];
static unsigned at;

static void *through(void *letter)
{
    for (unsigned s = 0; s < 3; s++) {
        CHECK_EQUAL(tn_stage(s), 0);
        order[at++] = (char)(uintptr_t)letter;
    }
    return NULL;
}

static void *spawn_three(void *wanted)
{
    tn_fibre *f[3];
    at = 0;
    for (uintptr_t i = 0; i < 3; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, through, (void *)('a' + i)), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    order[at] = '\0';
    if (!CHECK(strcmp(order, wanted) == 0))
        harness_note("%s, not %s", order, (const char *)wanted);
    return NULL;
}

static void test_orders(void)
{
    if (migration_forced())
        SKIP("a join goes on elsewhere");
    /* The next one is chosen before the one that moves on is in its queue: so two are under way, c begins when they end. */
    run(1, "staged:batch=1:control=0", spawn_three, "abababccc");
    run(1, "staged:batch=8:control=0", spawn_three, "abcababcc"); /* three were taken at once */
    run(1, "fifo", spawn_three, "aaabbbccc");
}

/* ---- pools: split, and what the controller changes ---- */

static void *go_round(void *arg)
{
    for (int round = 0; round < 20; round++)
        for (unsigned s = 0; s < 3; s++)
            CHECK_EQUAL(tn_stage(s), 0);
    return arg;
}

static void *all_go_round(void *moved)
{
    tn_fibre *f[12];
    for (int i = 0; i < 12; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, go_round, NULL), 0);
    for (int i = 0; i < 12; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    *(uint64_t *)moved = mine("moved");
    return NULL;
}

static void test_pools(void)
{
    uint64_t moved = 1;
    run(4, "staged:split=211:control=0:batch=1", all_go_round, &moved);
    if (!counting())
        SKIP("nothing is counted");
    CHECK_EQUAL(moved, 0);
    run(4, "staged:control=0", all_go_round, &moved);
    CHECK_EQUAL(moved, 0);
    for (int i = 0; i < 1000 && moved == 0; i++) /* all in stage 0: some have to go, once several are at work */
        run(4, "staged:split=400:control=1:batch=1", all_go_round, &moved);
    CHECK(moved > 0);
}

/* Which stage the first workers belong to, and so on from the start. */
static void test_split(void)
{
    static const struct {
        int64_t split;
        const char *stages;
    } cases[] = {
        {211, "00120012"}, {181, "0111111112"},           {101, "0202"}, {90, "000000000000"}, {343, "000111122200"},
        {1, "000"},        {123456789, "011222333344444"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint32_t w = 0; cases[i].stages[w] != '\0'; w++)
            CHECK_EQUAL(tn_stage_of_split(cases[i].split, w), (uint32_t)(cases[i].stages[w] - '0'));
}

/* Where one of the own stage's workers goes: to the stage with most waiting for each worker, if that is more than twice as
 * loaded, and unless nobody is left for what waits at home; once in so long. */
static void test_controller(void)
{
    enum { N = 3, MANY = 200 };
    static struct tn_link links[N][MANY];
    static const struct {
        unsigned load[N];
        uint32_t workers[N];
        uint64_t bound;
        uint32_t to;
    } cases[] = {
        {{0, 0, 0}, {2, 1, 1}, 1000, 0},   {{0, 2, 0}, {1, 1, 1}, 1000, 0},   {{0, 3, 0}, {1, 1, 1}, 1000, 1},
        {{1, 30, 0}, {1, 1, 1}, 1000, 0},  {{1, 30, 0}, {2, 1, 1}, 1000, 1},  {{14, 30, 0}, {2, 2, 1}, 1000, 0},
        {{12, 30, 0}, {2, 2, 1}, 1000, 1}, {{0, 30, 30}, {1, 1, 1}, 1000, 2}, {{0, 100, 30}, {1, 1, 1}, 1000, 1},
        {{0, 100, 30}, {1, 1, 1}, 10, 2},  {{0, 30, 80}, {1, 1, 4}, 1000, 1}, {{0, 1, 0}, {1, 0, 1}, 1000, 1},
        {{20, 100, 50}, {3, 1, 1}, 10, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct tn_stage_pool stage[N];
        struct tn_list out = {0};
        _Atomic(uint64_t) due = 0;
        uint32_t to = cases[i].to;
        for (uint32_t s = 0; s < N; s++) {
            tn_stage_init(&stage[s]);
            atomic_store(&stage[s].workers, cases[i].workers[s]);
            for (unsigned k = 0; k < cases[i].load[s]; k++) /* whichever queue of the stage they wait in */
                tn_locked_queue_push_back(k % 3 != 0 ? &stage[s].queue : &stage[s].again, &links[s][k]);
        }
        if (!CHECK_EQUAL(tn_stages_move(stage, N, 0, cases[i].bound, &due, 1000000000), to))
            harness_note("case %u ", (unsigned)i);
        for (uint32_t s = 0; s < N; s++)
            CHECK_EQUAL(tn_stage_workers(&stage[s]),
                        cases[i].workers[s] + (to != 0 && s == to) - (to != 0 && s == 0));
        CHECK_EQUAL(atomic_load(&due) != 0, to != 0);
        if (to != 0) {
            atomic_store(&stage[to].workers, 0); /* there is none: all the more to do, but its turn is over */
            atomic_store(&stage[0].workers, 9);
            CHECK_EQUAL(tn_stages_move(stage, N, 0, cases[i].bound, &due, 1), 0);
            atomic_store(&due, 0);
            CHECK_EQUAL(tn_stages_move(stage, N, 0, cases[i].bound, &due, 1), to);
        }
        for (uint32_t s = 0; s < N; s++)
            tn_stage_drain(&stage[s], &out);
    }
}

static int start_bad(void *spec)
{
    struct tn_config c = with(1, spec);
    tn_runtime *rt;
    return tn_start(&rt, &c);
}

static void test_bad_split(void)
{
    char err[512];
    CHECK(exited(harness_child(start_bad, "staged:stages=2:split=111", err, sizeof err), EINVAL));
    CHECK(strstr(err, "split=111") != NULL);
}

/* ---- a full stage ---- */

static void *nothing(void *arg)
{
    return arg;
}

static void *until_full(void *wanted)
{
    intptr_t n = 0;
    while (n < 100 && tn_spawn(NULL, NULL, nothing, NULL) == 0)
        n++;
    CHECK_EQUAL(n, (intptr_t)wanted);
    return NULL;
}

static void *last_is_slow(void *arg)
{
    CHECK_EQUAL(tn_stage(2), 0);
    tn_work(200000);
    return arg;
}

/* Two workers feed a stage with room for two, which a third one serves slowly. */
static void *press(void *helped)
{
    tn_fibre *f[40];
    for (int i = 0; i < 40; i++)
        while (tn_spawn(&f[i], NULL, last_is_slow, NULL) == EAGAIN)
            tn_yield();
    for (int i = 0; i < 40; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    *(uint64_t *)helped = mine("helped");
    return NULL;
}

static void test_full(void)
{
    uint64_t helped = 0;
    if (!migration_forced()) {
        run(1, "staged:full=refuse:capacity=8", until_full, (void *)8);
        run(1, "staged:full=refuse:capacity=1", until_full, (void *)1);
    }
    run(1, "staged:full=overflow:capacity=8", until_full, (void *)100);
    if (!counting())
        SKIP("nothing is counted");
    run(2, "staged:full=overflow:capacity=100:control=0:split=101", press, &helped);
    CHECK_EQUAL(helped, 0);
    const char *spec[] = {"staged:full=overflow:capacity=2:control=0:split=101",
                          "staged:full=refuse:capacity=2:control=0:split=101"};
    for (int s = 0; s < 2; s++) {
        helped = 0;
        for (int i = 0; i < 100 && helped == 0; i++) /* not if who feeds has no processor */
            run(2, spec[s], press, &helped);
        CHECK(helped > 0);
    }
}

/* ---- out of reach: one fibre in the stage of a worker that computes for ever ---- */

static atomic_bool told, hogs;

static void *tell(void *arg)
{
    CHECK_EQUAL(tn_stage(1), 0);
    atomic_store(&told, true);
    return arg;
}

static void *hog(void *arg)
{
    CHECK_EQUAL(tn_stage(1), 0);
    atomic_store(&hogs, true);
    while (!atomic_load(&told))
        sched_yield();
    return arg;
}

static void *behind_hog(void *freed)
{
    tn_fibre *f[2];
    atomic_store(&told, false);
    atomic_store(&hogs, false);
    CHECK_EQUAL(tn_spawn(&f[0], NULL, hog, NULL), 0);
    while (!atomic_load(&hogs))
        tn_yield();
    CHECK_EQUAL(tn_spawn(&f[1], NULL, tell, NULL), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    *(uint64_t *)freed = mine("freed");
    return NULL;
}

static void test_out_of_reach(void)
{
    uint64_t freed = 0;
    run(2, "staged:stages=2:split=11:control=0", behind_hog, &freed);
    run(2, "staged:stages=2:split=11:control=0:batch=1:full=refuse", behind_hog, &freed);
    if (counting() && !migration_forced())
        CHECK(freed >= 1);
}

int main(void)
{
    static const struct test tests[] = {
        {"what tn_stage answers", test_answers},
        {"batch: orders", test_orders},
        {"split and control: pools", test_pools},
        {"split: who belongs where", test_split},
        {"the controller: where one goes", test_controller},
        {"split that does not fit", test_bad_split},
        {"a full stage", test_full},
        {"behind a hog of another stage", test_out_of_reach},
    };
    return HARNESS_RUN("staged", tests);
}
