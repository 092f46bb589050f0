/* SPDX-License-Identifier: MIT
 *
 * The ways to yield of 003 §4.4.4 (module yields): which of them lets what is ready run, with how many fibres that wait
 * for it by yielding. A livelock is so many yields in vain, never a time.
 */
#include "harness.h"

#include <stdatomic.h>
#include <stdio.h>

enum { BOUND = 20000, MOST = 64 };

static const char *const ways[] = {"top", "pop", "swap", "tail", "global", "soft"};
static atomic_bool there, ran, vain; /* the key is ready, has run, is waited for in vain */
static atomic_int about;
static unsigned blocked;

static const char *spec_of(const char *way)
{
    static char spec[64];
    snprintf(spec, sizeof spec, "yields:yield=%s", way);
    return spec;
}

static void *key(void *arg)
{
    atomic_store(&ran, true);
    return arg;
}

static void *yielder(void *arg)
{
    atomic_fetch_add(&about, 1);
    for (unsigned yields = 0; !atomic_load(&ran) && !atomic_load(&vain); yields += atomic_load(&there)) {
        if (yields == BOUND)
            atomic_store(&vain, true);
        tn_yield();
    }
    return arg;
}

static void spawn_blocked(tn_fibre *f[MOST])
{
    for (unsigned i = 0; i < blocked; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, yielder, NULL), 0);
}

static void join_all(tn_fibre *f[], unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
}

static void reset(unsigned n)
{
    atomic_store(&there, false);
    atomic_store(&ran, false);
    atomic_store(&vain, false);
    atomic_store(&about, 0);
    blocked = n;
}

/* ---- one worker: who must run lies under those that wait ---- */

static void *under(void *arg)
{
    tn_fibre *f[MOST], *k;
    CHECK_EQUAL(tn_spawn(&k, NULL, key, NULL), 0);
    atomic_store(&there, true);
    spawn_blocked(f);
    join_all(f, blocked);
    CHECK_EQUAL(tn_join(k, NULL), 0);
    return arg;
}

static bool livelocks_under(const char *way, unsigned n)
{
    struct tn_config c = with(1, spec_of(way));
    reset(n);
    CHECK_EQUAL(tn_run(&c, under, NULL, NULL), 0);
    return atomic_load(&vain);
}

static void test_under(void)
{
    static const unsigned needed[] = {1, 2, 0, 0, 0, 0}; /* 0: no number of fibres livelocks */
    if (migration_forced())
        SKIP("every fibre goes through the shared queue");
    for (int w = 0; w < 6; w++)
        for (unsigned n = 1; n <= MOST; n = n < 3 ? n + 1 : 4 * n)
            if (!CHECK_EQUAL(livelocks_under(ways[w], n), needed[w] != 0 && n >= needed[w]))
                harness_note("%s with %u", ways[w], n);
}

/* ---- two workers: who must run is that of the other one, which computes on ---- */

static void *hog(void *arg)
{
    tn_fibre *k;
    while (atomic_load(&about) == 0) /* the other worker has taken one that yields */
        ;
    CHECK_EQUAL(tn_spawn(&k, NULL, key, NULL), 0);
    atomic_store(&there, true);
    while (!atomic_load(&ran) && !atomic_load(&vain))
        ;
    CHECK_EQUAL(tn_join(k, NULL), 0);
    return arg;
}

static void *beside(void *arg)
{
    tn_fibre *f[MOST], *h;
    spawn_blocked(f);
    CHECK_EQUAL(tn_spawn(&h, NULL, hog, NULL), 0);
    CHECK_EQUAL(tn_join(h, NULL), 0);
    join_all(f, blocked);
    return arg;
}

static void test_beside(void)
{
    if (migration_forced())
        SKIP("every fibre goes through the shared queue");
    for (int w = 0; w < 6; w++) {
        for (unsigned n = 1; n <= 4; n += 3) {
            struct tn_config c = with(2, spec_of(ways[w]));
            reset(n);
            CHECK_EQUAL(tn_run(&c, beside, NULL, NULL), 0);
            if (!CHECK_EQUAL(atomic_load(&vain), w < 4))
                harness_note("%s with %u", ways[w], n);
        }
    }
}

/* ---- orders and counters ---- */

static char order[16];
static unsigned at;

static void *say_twice(void *letter)
{
    order[at++] = (char)(uintptr_t)letter;
    tn_yield();
    order[at++] = (char)(uintptr_t)letter;
    return NULL;
}

static void *three(void *arg)
{
    tn_fibre *f[3];
    at = 0;
    for (uintptr_t i = 0; i < 3; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, say_twice, (void *)('a' + i)), 0);
    join_all(f, 3);
    order[at] = '\0';
    *(uint64_t *)arg = counter(tn_cluster_self(), "yield_global");
    return NULL;
}

/* c is on top. swap is drawn, so only that nobody is lost; the others are always the same. */
static void test_orders(void)
{
    static const char *const wanted[] = {"ccbbaa", "cbcbaa", NULL, "cbacba", "cbacba", "cbacba"};
    if (migration_forced())
        SKIP("every fibre goes through the shared queue");
    for (int w = 0; w < 6; w++) {
        struct tn_config c = with(1, spec_of(ways[w]));
        uint64_t global = 0;
        CHECK_EQUAL(tn_run(&c, three, &global, NULL), 0);
        CHECK_EQUAL(at, 6);
        if (wanted[w] != NULL && !CHECK(__builtin_strcmp(order, wanted[w]) == 0))
            harness_note("%s: %s, not %s", ways[w], order, wanted[w]);
        if (counting())
            CHECK_EQUAL(global, w == 4 ? 3 : 0); /* soft: none of them was hard */
    }
}

static void *hard_once(void *arg)
{
    tn_fibre *k;
    CHECK_EQUAL(tn_spawn(&k, NULL, key, NULL), 0);
    tn_yield_hard();
    *(uint64_t *)arg = counter(tn_cluster_self(), "yield_global");
    CHECK_EQUAL(tn_join(k, NULL), 0);
    return NULL;
}

static void *nine(void *arg)
{
    tn_fibre *f[9];
    for (int i = 0; i < 9; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, key, NULL), 0);
    *(uint64_t *)arg = counter(tn_cluster_self(), "overflow");
    join_all(f, 9);
    return NULL;
}

static void test_counters(void)
{
    uint64_t n = 0;
    if (migration_forced() || !counting())
        SKIP("nothing is counted, or every fibre goes through the shared queue");
    struct tn_config soft = with(1, "yields:yield=soft"), small = with(1, "yields:size=4");
    CHECK_EQUAL(tn_run(&soft, hard_once, &n, NULL), 0);
    CHECK_EQUAL(n, 1);
    CHECK_EQUAL(tn_run(&small, nine, &n, NULL), 0);
    CHECK_EQUAL(n, 5);
}

int main(void)
{
    static const struct test tests[] = {
        {"under those that wait, one worker", test_under},
        {"beside a hog, two workers", test_beside},
        {"orders", test_orders},
        {"counters", test_counters},
    };
    return HARNESS_RUN("ways to yield", tests);
}
