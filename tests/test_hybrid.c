/* SPDX-License-Identifier: MIT
 *
 * hybrid: for each value of each of its knobs the order of execution, or the counter, that differs. One worker, so that the
 * order is always the same, and that of a plain model.
 */
#include "harness.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 48 };
enum { STOCHASTIC, SWITCH, REVERSE };
static const char *const policies[] = {"stochastic", "switch", "reverse"};

static unsigned order[MOST], at;

static void *write_down(void *number)
{
    order[at++] = (unsigned)(uintptr_t)number;
    return NULL;
}

struct wanted {
    unsigned n, last; /* so many fibres; the one that is expected to run last, which alone is waited for */
    uint64_t oldest, turns;
};

static void *spawn_all(void *arg)
{
    struct wanted *w = arg;
    tn_fibre *f[MOST];
    uint64_t oldest = counter(tn_cluster_self(), "oldest"), turns = counter(tn_cluster_self(), "turns");
    at = 0;
    for (uintptr_t i = 0; i < w->n; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, write_down, (void *)i), 0);
    CHECK_EQUAL(tn_join(f[w->last], NULL), 0);
    w->oldest = counter(tn_cluster_self(), "oldest") - oldest;
    w->turns = counter(tn_cluster_self(), "turns") - turns;
    for (unsigned i = 0; i < w->n; i++)
        if (i != w->last)
            CHECK_EQUAL(tn_join(f[i], NULL), 0);
    return NULL;
}

static struct wanted run(const char *spec, unsigned n, unsigned last)
{
    struct tn_config c = with(1, spec);
    struct wanted w = {.n = n, .last = last};
    CHECK_EQUAL(tn_run(&c, spawn_all, &w, NULL), 0);
    CHECK_EQUAL(at, n);
    return w;
}

/* ---- switch and reverse: as the model ---- */

/* The order in which the n fibres 0 … n-1 run; each turn takes `every`, of which the spawner itself was the first. */
static void model(int policy, unsigned every, unsigned n, unsigned out[], struct wanted *w)
{
    unsigned queue[MOST], left = every - 1;
    bool newest = true;
    *w = (struct wanted){.n = n};
    for (unsigned i = 0; i < n; i++)
        queue[i] = i;
    for (unsigned i = 0; i < n; i++, left--) {
        unsigned count = n - i;
        if (left == 0) {
            left = every;
            w->turns++;
            newest = policy == SWITCH ? !newest : true;
            for (unsigned k = 0; policy == REVERSE && k < count / 2; k++) {
                unsigned swap = queue[k];
                queue[k] = queue[count - 1 - k];
                queue[count - 1 - k] = swap;
            }
        }
        out[i] = queue[newest ? count - 1 : 0];
        w->oldest += !newest;
        if (!newest)
            memmove(queue, queue + 1, (count - 1) * sizeof *queue);
    }
    w->last = out[n - 1];
}

/* Whatever lies where: in the private part, the open one, or both. The last two do not hold all without a spill, and have
 * to bring up what lies at the bottom. */
static const char *const parts[] = {
    "", "private=0", "private=64", "private=16:capacity=64", "private=32:capacity=32", "private=32:capacity=16"};

static void test_as_model(void)
{
    if (migration_forced())
        SKIP("every fibre goes through the shared queue");
    for (int policy = SWITCH; policy <= REVERSE; policy++)
        for (unsigned every = 1; every <= 7; every++)
            for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
                char spec[96];
                unsigned expected[MOST];
                struct wanted w;
                snprintf(spec, sizeof spec, "hybrid:policy=%s:n=%u%s%s", policies[policy], every,
                         *parts[p] ? ":" : "", parts[p]);
                model(policy, every, MOST, expected, &w);
                struct wanted got = run(spec, MOST, w.last);
                if (!CHECK(memcmp(order, expected, sizeof expected) == 0))
                    harness_note("%s: another order than the model's", spec);
                if (counting()) {
                    /* the spawner is woken by the last one, and is one more */
                    CHECK_EQUAL(got.turns, w.turns + ((MOST + 1) % every == 0));
                    CHECK(got.oldest - w.oldest <= 1);
                }
            }
}

/* ---- stochastic ---- */

static void test_stochastic(void)
{
    if (migration_forced())
        SKIP("every fibre goes through the shared queue");
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        char spec[96];
        snprintf(spec, sizeof spec, "hybrid:policy=stochastic:p=0%s%s", *parts[p] ? ":" : "", parts[p]);
        uint64_t oldest = run(spec, MOST, 0).oldest;
        for (unsigned i = 0; i < MOST; i++)
            CHECK_EQUAL(order[i], MOST - 1 - i); /* lifo */
        CHECK_EQUAL(oldest, 0);
        snprintf(spec, sizeof spec, "hybrid:policy=stochastic:p=100%s%s", *parts[p] ? ":" : "", parts[p]);
        oldest = run(spec, MOST, MOST - 1).oldest;
        for (unsigned i = 0; i < MOST; i++)
            CHECK_EQUAL(order[i], i); /* fifo */
        if (counting())
            CHECK(oldest >= MOST);

        /* each is one end or the other of what is left */
        snprintf(spec, sizeof spec, "hybrid:p=50%s%s", *parts[p] ? ":" : "", parts[p]);
        oldest =
            run(spec, MOST, MOST / 2).oldest; /* who waits is woken somewhere in the middle, and is none of them */
        unsigned low = 0, high = MOST - 1, lows = 0;
        for (unsigned i = 0; i < MOST; i++)
            if (CHECK(order[i] == low || order[i] == high)) {
                lows += order[i] == low;
                low += order[i] == low;
                high -= order[i] == high;
            }
        CHECK(lows > MOST / 8 && lows < MOST - MOST / 8); /* but for one seed in 10^7 */
        if (counting())
            CHECK(oldest > 0);
    }
}

/* ---- thieves beside reversals ---- */

static atomic_uint done;

static void *spawn_more(void *depth)
{
    for (int i = 0; i < 2 && depth != NULL; i++)
        CHECK_EQUAL(tn_spawn(NULL, NULL, spawn_more, (void *)((uintptr_t)depth - 1)), 0);
    tn_work(500);
    atomic_fetch_add(&done, 1);
    return NULL;
}

static void *tree(void *arg)
{
    uint64_t *got = arg;
    enum { DEPTH = 13, ALL = (2 << DEPTH) - 1 };
    atomic_store(&done, 0);
    CHECK_EQUAL(tn_spawn(NULL, NULL, spawn_more, (void *)(uintptr_t)DEPTH), 0);
    while (atomic_load(&done) != ALL)
        tn_sleep(100000);
    got[0] = counter(tn_cluster_self(), "turns");
    got[1] = counter(tn_cluster_self(), "stolen");
    return NULL;
}

static void test_beside_thieves(void)
{
    static const char *const specs[] = {"hybrid:policy=reverse:n=1:private=0",
                                        "hybrid:policy=reverse:n=2:private=8:capacity=8",
                                        "hybrid:policy=switch:n=2:private=8:capacity=8"};
    for (int s = 0; s < 3; s++) {
        struct tn_config c = with(4, specs[s]);
        uint64_t got[2] = {0};
        bool told = counting() && !migration_forced();
        for (int i = 0; i == 0 || (told && got[1] == 0 && i < 1000);
             i++) /* none if no other worker gets a processor */
            CHECK_EQUAL(tn_run(&c, tree, got, NULL), 0);
        if (told) {
            CHECK(got[0] > 1000);
            CHECK(got[1] > 0);
        }
    }
}

int main(void)
{
    static const struct test tests[] = {
        {"switch and reverse: the order of a model", test_as_model},
        {"stochastic: both ends, as often as it says", test_stochastic},
        {"reversals beside thieves", test_beside_thieves},
    };
    return HARNESS_RUN("hybrid", tests);
}
