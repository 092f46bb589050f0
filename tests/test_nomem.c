/* SPDX-License-Identifier: MIT
 *
 * Without memory: each allocation by which a runtime, a cluster or a worker is set up under a module fails once, and what
 * was set up till then is given back; when all fail during work, what would grow does without, and nothing is lost. Linked
 * with --wrap for the calls by which memory comes and goes.
 *
 *     test_nomem MODULE[:KNOB=VALUE…]...
 */
#include "harness.h"
#include "nomem.h"

#include <errno.h>

static char **specs;
static int n_specs;

static struct tn_config config_of(const char *spec)
{
    struct tn_config c = with(2, spec);
    c.slots = 4;
    return c;
}

/* ---- set-up ---- */

/* How many allocations it took; each of them has failed. `second`: of a second cluster, in a runtime that goes on. */
static int each_fails(const char *spec, bool second)
{
    struct tn_config c = config_of(spec);
    long before = atomic_load(&blocks);
    for (int k = 0; k < 1000; k++) {
        tn_runtime *rt = NULL;
        tn_cluster *cl;
        int rc = second ? tn_start(&rt, &c) : 0;
        CHECK_EQUAL(rc, 0);
        atomic_store(&failed, 0);
        atomic_store(&fails_in, k);
        rc = second ? tn_cluster_create(rt, &c, &cl) : tn_start(&rt, &c);
        atomic_store(&fails_in, -1);
        bool was = atomic_load(&failed) != 0;
        bool good = CHECK_EQUAL(rc, was ? ENOMEM : 0);
        if (second || rc == 0)
            good = CHECK_EQUAL(tn_stop(rt), 0) && good;
        good = CHECK_EQUAL(atomic_load(&blocks), before) && good;
        if (!good)
            harness_note("%s, allocation %d of the %s", spec, k, second ? "second cluster" : "runtime");
        if (!was || !good)
            return k;
    }
    return -1;
}

static void test_set_up(void)
{
    for (int i = 0; i < n_specs; i++) {
        tn_runtime *rt;
        struct tn_config c = config_of(specs[i]);
        CHECK_EQUAL(tn_start(&rt, &c), 0); /* what the first one brings along */
        CHECK_EQUAL(tn_stop(rt), 0);
        int first = each_fails(specs[i], false), second = each_fails(specs[i], true);
        CHECK(second >= 3 && first > second); /* workers, states, and what the module needs */
    }
}

/* ---- work ---- */

enum { MANY = 500 };
static atomic_uint ran;

static void *yields(void *arg)
{
    tn_yield();
    atomic_fetch_add(&ran, 1);
    return arg;
}

static void *without(void *arg)
{
    unsigned n = 0;
    atomic_store(&ran, 0);
    atomic_store(&all_fail, true);
    for (int i = 0; i < MANY; i++) {
        int rc = tn_spawn(NULL, NULL, yields, NULL);
        n += rc == 0;
        CHECK(rc == 0 || rc == EAGAIN || rc == ENOMEM);
    }
    while (atomic_load(&ran) != n)
        tn_yield();
    atomic_store(&all_fail, false);
    CHECK(n != 0);
    CHECK_EQUAL(tn_spawn(NULL, NULL, yields, NULL), 0); /* there is room again, and memory */
    while (atomic_load(&ran) != n + 1)
        tn_yield();
    return arg;
}

static void test_work(void)
{
    for (int i = 0; i < n_specs; i++)
        for (int64_t workers = 1; workers <= 2; workers++) {
            struct tn_config c = config_of(specs[i]);
            c.workers = workers;
            long before = atomic_load(&blocks);
            bool good = CHECK_EQUAL(tn_run(&c, without, NULL, NULL), 0);
            if (!CHECK_EQUAL(atomic_load(&blocks), before) || !good)
                harness_note("%s, %d workers", specs[i], (int)workers);
        }
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"set-up: each allocation fails once", test_set_up},
        {"work: all fail", test_work},
    };
    specs = argv + 1;
    n_specs = argc - 1;
    return n_specs == 0 ? 2 : HARNESS_RUN("nomem", tests);
}
