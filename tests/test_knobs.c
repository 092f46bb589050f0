/* SPDX-License-Identifier: MIT
 *
 * The knobs of fifo, lifo and hybrid: for each value the order of execution, or the counter, that differs. One worker
 * where an order is told, so that it is always the same.
 */
#include "harness.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIFO = 1, HYBRID, MODULES };
static const char *const names[MODULES] = {"fifo", "lifo", "hybrid:p=0"}; /* of which the last has no layout */

static const char *spec_of(const char *name, const char *knobs)
{
    static char spec[128];
    snprintf(spec, sizeof spec, "%s%s%s", name, knobs[0] != '\0' ? ":" : "", knobs);
    return spec;
}

static void run(int64_t workers, const char *name, const char *knobs, void *(*fn)(void *), void *arg)
{
    struct tn_config c = with(workers, spec_of(name, knobs));
    CHECK_EQUAL(tn_run(&c, fn, arg, NULL), 0);
}

static uint64_t mine(const char *name)
{
    return counter(tn_cluster_self(), name);
}

/* ---- orders of execution ---- */

static char order[256];
static unsigned at;

static void *write_down(void *letter)
{
    order[at++] = (char)(uintptr_t)letter;
    return NULL;
}

static void *spawn_six(void *wanted)
{
    tn_fibre *f[6];
    at = 0;
    for (uintptr_t i = 0; i < 6; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, write_down, (void *)('a' + i)), 0);
    order[at++] = '|';
    for (int i = 0; i < 6; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    order[at] = '\0';
    if (!CHECK(strcmp(order, wanted) == 0))
        harness_note("order %s, not %s", order, (const char *)wanted);
    return NULL;
}

static void test_order(void)
{
    static const char *const layouts[] = {"", "private=0", "private=4", "private=4:capacity=2", "layout=global"};
    if (migration_forced())
        SKIP("all fibres go through the shared queue");
    for (int i = 0; i < 5; i++)
        run(1, "fifo", layouts[i], spawn_six, "|abcdef");
    run(1, "lifo", "", spawn_six, "|fedcba");
    run(1, "lifo", "private=0", spawn_six, "|fedcba");
    run(1, "lifo", "layout=global", spawn_six, "|fedcba");
    run(1, "skeleton", "", spawn_six, "|abcdef");
    run(1, "plainlifo", "", spawn_six, "|fedcba");
    for (int m = 0; m < MODULES; m++) { /* child first: each child runs before the spawner goes on */
        run(1, names[m], "spawn=child", spawn_six, "abcdef|");
        if (m != HYBRID)
            run(1, names[m], "spawn=child:layout=global", spawn_six, "abcdef|");
        run(1, names[m], "spawn=parent", spawn_six, m == 0 ? "|abcdef" : "|fedcba");
    }
}

/* ---- the global queue ---- */

static void *nothing(void *arg)
{
    return arg;
}

/* One in four spawns, more or less. */
static void *some_pooled(void *arg)
{
    tn_fibre *f;
    for (int i = 0; i < 1000; i++) {
        CHECK_EQUAL(tn_spawn(&f, NULL, nothing, NULL), 0);
        CHECK_EQUAL(tn_join(f, NULL), 0);
    }
    CHECK(mine("pooled") > 150 && mine("pooled") < 350);
    return arg;
}

static void test_chance(void)
{
    if (migration_forced() || !counting())
        SKIP("it is told by counters of a plain build");
    for (int m = 0; m < MODULES; m++)
        run(1, names[m], "chance=250", some_pooled, NULL);
}

/* layout=global: in which order, with which queue. One ring and the list are in order; of five each is. */
static void *pool_order(void *wanted)
{
    tn_fibre *f[26];
    at = 0;
    for (uintptr_t i = 0; i < 26; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, write_down, (void *)('a' + i)), 0);
    for (int i = 0; i < 26; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    order[at] = '\0';
    CHECK_EQUAL(strcmp(order, "abcdefghijklmnopqrstuvwxyz") == 0, wanted != NULL);
    return NULL;
}

static void test_pool(void)
{
    if (migration_forced())
        SKIP("all fibres go through the shared queue");
    run(1, "fifo", "layout=global:pool=ring", pool_order, "in order");
    run(1, "fifo", "layout=global:pool=locked", pool_order, "in order");
    run(1, "fifo", "layout=global:pool=five", pool_order, NULL);
}

/* ---- bounds ---- */

static void *until_full(void *wanted)
{
    uintptr_t n = 0;
    tn_fibre *f = NULL;
    int rc = 0;
    uint64_t refused = mine("refused");
    while (n < 1000 && (rc = tn_spawn(&f, NULL, nothing, NULL)) == 0) {
        tn_detach(f);
        n++;
    }
    CHECK_EQUAL(n, (uintptr_t)wanted);
    CHECK_EQUAL(rc, n < 1000 ? EAGAIN : 0);
    if (rc == EAGAIN) {
        CHECK_EQUAL(tn_spawn(&f, NULL, nothing, NULL), EAGAIN); /* and stays refused */
        CHECK(!counting() || mine("refused") - refused == 2);
        uint64_t refills = mine("stack_refill");
        for (int i = 0; i < 200; i++) /* each gives back the stack that it had taken */
            CHECK_EQUAL(tn_spawn(&f, NULL, nothing, NULL), EAGAIN);
        CHECK(!counting() || mine("stack_refill") - refills <= 1);
        tn_yield(); /* one runs: there is room for one again */
        CHECK_EQUAL(tn_spawn(NULL, NULL, nothing, NULL), 0);
    }
    return NULL;
}

static void test_full(void)
{
    if (migration_forced())
        SKIP("all fibres go through the shared queue");
    for (int m = 0; m < MODULES; m++) {
        run(1, names[m], "full=refuse:private=0:capacity=8", until_full, (void *)8);
        run(1, names[m], "full=refuse:private=0:capacity=1", until_full, (void *)1);
        run(1, names[m], "full=refuse:private=4:capacity=8", until_full, (void *)12);
        run(1, names[m], "full=refuse:private=32:capacity=128", until_full, (void *)160);
        run(1, names[m], "full=overflow:private=0:capacity=8", until_full, (void *)1000);
        if (m == HYBRID)
            continue;
        run(1, names[m], "full=refuse:layout=global:capacity=16", until_full, (void *)16);
        run(1, names[m], "layout=global:capacity=8", until_full, (void *)1000);
    }
}

static tn_waiter parked[4];

static void *park_twice(void *which)
{
    for (int i = 0; i < 2; i++) {
        parked[(uintptr_t)which] = tn_wait_prepare();
        CHECK_EQUAL(tn_wait(TN_FOREVER, NULL), 0);
    }
    return NULL;
}

/* layout=global: those who are only back, woken or after a yield, take nobody's room; else they would keep others out. */
static void *full_of_woken(void *arg)
{
    tn_fibre *f[4];
    for (uintptr_t i = 0; i < 4; i++) {
        while (tn_spawn(&f[i], NULL, park_twice, (void *)i) == EAGAIN)
            tn_yield();
    }
    for (int twice = 0; twice < 2; twice++) {
        for (int i = 0; i < 20; i++)
            tn_yield();
        for (int i = 0; i < 4; i++)
            CHECK(tn_wake(parked[i]));
        CHECK_EQUAL(tn_spawn(NULL, NULL, nothing, NULL), 0);
        CHECK_EQUAL(tn_spawn(NULL, NULL, nothing, NULL), EAGAIN);
    }
    for (int i = 0; i < 4; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    return arg;
}

static void test_full_of_woken(void)
{
    if (migration_forced())
        SKIP("who is spawned runs at once");
    for (int m = 0; m <= LIFO; m++)
        run(1, names[m], "full=refuse:layout=global:capacity=1", full_of_woken, NULL);
    run(1, "fifo", "full=refuse:layout=global:capacity=1:pool=locked", full_of_woken, NULL);
}

struct bound {
    unsigned spawns;
    bool spill, overflow;
};

static void *count_bounds(void *arg)
{
    const struct bound *b = arg;
    tn_fibre *f[512];
    uint64_t spill = mine("spill"), overflow = mine("overflow");
    for (unsigned i = 0; i < b->spawns; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, nothing, NULL), 0);
    for (unsigned i = 0; i < b->spawns; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    CHECK_EQUAL(mine("spill") != spill, b->spill);
    CHECK_EQUAL(mine("overflow") != overflow, b->overflow);
    return NULL;
}

static void test_spill(void)
{
    static const struct {
        const char *knobs;
        struct bound bound;
    } cases[] = {
        {"private=32", {32, false, false}},
        {"private=32", {33, true, false}},
        {"private=32:capacity=128", {160, true, false}},
        {"private=32:capacity=128", {161, true, true}},
        {"private=0", {128, false, false}},
        {"private=0", {129, false, true}},
        {"private=0:capacity=16", {16, false, false}},
        {"private=0:capacity=16", {17, false, true}},
        {"private=64", {64, false, false}},
        {"layout=global:capacity=64", {64, false, false}},
        {"layout=global:capacity=64", {65, false, true}},
    };
    if (migration_forced() || !counting())
        SKIP("it is told by counters of a plain build");
    for (int m = 0; m < MODULES; m++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct bound b = cases[i].bound;
            if (m == HYBRID && strstr(cases[i].knobs, "layout") != NULL)
                continue;
            run(1, names[m], cases[i].knobs, count_bounds, &b);
        }
}

/* ---- stealing ---- */

static atomic_uint done;

static void *slow(void *arg)
{
    tn_work(20000);
    atomic_fetch_add(&done, 1);
    return arg;
}

static void *spawn_slow(void *arg)
{
    for (int round = 0; round < 50; round++) {
        tn_fibre *f[64];
        for (int i = 0; i < 64; i++)
            CHECK_EQUAL(tn_spawn(&f[i], NULL, slow, NULL), 0);
        for (int i = 0; i < 64; i++)
            CHECK_EQUAL(tn_join(f[i], NULL), 0);
    }
    return arg;
}

/* Told from outside, and not at once: a thief counts what it has taken a moment after its victim may have it back. Again where
 * the other worker's thread had no processor. `kind`: nothing is stolen, one at a time, several. */
static void steals(const char *name, const char *knobs, int kind)
{
    struct tn_config c = with(2, spec_of(name, knobs));
    tn_runtime *rt;
    tn_fibre *f;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    tn_cluster *cl = tn_cluster_first(rt);
    for (int i = 0; i < 1000; i++) {
        CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, spawn_slow, NULL), 0);
        CHECK_EQUAL(tn_join(f, NULL), 0);
        uint64_t stolen = counter(cl, "stolen");
        if (kind == 0 || stolen > (kind == 2 ? counter(cl, "steal_hit") : 0))
            break;
    }
    CHECK(kind == 0   ? counter(cl, "steal_try") + counter(cl, "stolen") == 0
          : kind == 1 ? counter(cl, "stolen") > 0 && EVENTUALLY(counter(cl, "stolen") == counter(cl, "steal_hit"))
                      : counter(cl, "stolen") > counter(cl, "steal_hit"));
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void test_steal(void)
{
    if (migration_forced() || !counting())
        SKIP("it is told by counters of a plain build");
    for (int m = 0; m < MODULES; m++) {
        steals(names[m], "private=0:steal=half", 2);
        steals(names[m], "private=0:steal=one", 1);
        steals(names[m], "private=32:steal=one", 1);
        if (m != HYBRID)
            steals(names[m], "layout=global", 0);
    }
}

/* A hog's private work is taken under the heavy fence, and counted. When it was spawned the other worker was
 * busy, so that the spawner kept it to itself. */
static atomic_bool told, busy, go_on;

static void *tell(void *arg)
{
    atomic_store(&told, true);
    return arg;
}

static void *be_busy(void *arg)
{
    atomic_store(&busy, true);
    while (!atomic_load(&go_on))
        sched_yield();
    return arg;
}

static void *hog(void *arg)
{
    tn_cluster *cl = tn_cluster_self();
    uint64_t revoked = counter(cl, "revoked");
    for (int i = 0; i < 20; i++) {
        tn_fibre *f[2];
        atomic_store(&told, false);
        atomic_store(&busy, false);
        atomic_store(&go_on, false);
        CHECK_EQUAL(tn_spawn(&f[0], NULL, be_busy, NULL), 0);
        while (!atomic_load(&busy))
            sched_yield();
        CHECK_EQUAL(tn_spawn(&f[1], NULL, tell, NULL), 0);
        atomic_store(&go_on, true);
        while (!atomic_load(&told))
            sched_yield();
        for (int k = 0; k < 2; k++)
            CHECK_EQUAL(tn_join(f[k], NULL), 0);
    }
    revoked = counter(cl, "revoked") - revoked;
    CHECK(arg != NULL ? revoked >= 10 : revoked == 0);
    return NULL;
}

static void test_revoked(void)
{
    if (migration_forced() || !counting())
        SKIP("it is told by counters of a plain build");
    for (int m = 0; m < MODULES; m++) {
        run(2, names[m], "private=32", hog, "taken by force");
        run(2, names[m], "private=0", hog, NULL);
    }
}

/* ---- place: where a woken fibre goes ---- */

static tn_waiter waiter;
static _Atomic(uint64_t) seq;

static void *wait_then_tell(void *arg)
{
    waiter = tn_wait_prepare();
    atomic_store_explicit(&seq, waiter.seq, memory_order_release);
    CHECK_EQUAL(tn_wait(TN_FOREVER, NULL), 0);
    return tell(arg);
}

/* A fibre waits, having run on the other worker. It is woken from this one, which then gives no way: the
 * other worker finds it in its inbox (home), or has to steal it from here (waker). */
static void *wake_from_here(void *arg)
{
    tn_cluster *cl = tn_cluster_self();
    uint64_t *stolen = arg;
    for (int i = 0; i < 20; i++) {
        tn_fibre *f;
        atomic_store(&seq, 0);
        atomic_store(&told, false);
        CHECK_EQUAL(tn_spawn(&f, NULL, wait_then_tell, NULL), 0);
        while (atomic_load_explicit(&seq, memory_order_acquire) == 0)
            sched_yield(); /* as a hog, so that the other worker takes it */
        nap_us(500);
        uint64_t before = counter(cl, "stolen");
        CHECK(tn_wake(waiter));
        while (!atomic_load(&told))
            sched_yield();
        *stolen += counter(cl, "stolen") - before;
        CHECK_EQUAL(tn_join(f, NULL), 0);
    }
    return NULL;
}

static void test_place(void)
{
    if (migration_forced() || !counting())
        SKIP("it is told by counters of a plain build");
    for (int m = 0; m < MODULES; m++) {
        uint64_t home = 0, waker = 0;
        run(2, names[m], "place=home", wake_from_here, &home);
        run(2, names[m], "place=waker", wake_from_here, &waker);
        harness_note("stolen: %u home, %u waker ", (unsigned)home, (unsigned)waker);
        CHECK(home <= 5 && waker >= 15);
    }
}

/* ---- every knob of the modules, out of range ---- */

static int try_spec(void *arg)
{
    struct tn_config c = with(1, arg);
    tn_runtime *rt;
    int rc = tn_start(&rt, &c);
    return rc != 0 ? rc : tn_stop(rt);
}

static void test_bad_values(void)
{
    static const struct {
        const char *spec, *text, *also;
    } bad[] = {
        {"fifo:layout=locale", "layout=locale", "local|global"},
        {"lifo:capacity=0", "capacity=0", "1 to 1048576"},
        {"fifo:capacity=2M", "capacity=2M", "1 to 1048576"},
        {"fifo:private=-1", "private=-1", "0 to 4096"},
        {"lifo:private=5000", "private=5000", "0 to 4096"},
        {"fifo:full=maybe", "full=maybe", "overflow|refuse"},
        {"lifo:steal=all", "steal=all", "half|one"},
        {"fifo:spawn=first", "spawn=first", "parent|child"},
        {"lifo:victims=far", "victims=far", "random|nearest|busy"},
        {"fifo:nearest=0", "nearest=0", "1 to 4096"},
        {"fifo:place=here", "place=here", "waker|home"},
        {"multiq:queues=0", "queues=0", "1 to 64"},
        {"multiq:stick=0", "stick=0", "1 to 1024"},
        {"multiq:buffer=1025", "buffer=1025", "1 to 1024"},
        {"multiq:level=-1", "level=-1", "0 to 1000000000"},
        {"staged:stages=10", "stages=10", "1 to 9"},
        {"staged:split=-1", "split=-1", "0 to 999999999"},
        {"staged:split=09", "split=09 is no number", "0 to 999999999"},
        {"fifo:capacity=010", "capacity=010 is no number", "1 to 1048576"},
        {"fifo:private=00", "private=00 is no number", "0 to 4096"},
        {"fifo:private=-00", "private=-00 is no number", "0 to 4096"},
        {"staged:capacity=0", "capacity=0", "1 to 1048576"},
        {"staged:full=wait", "full=wait", "overflow|refuse"},
        {"staged:batch=65", "batch=65", "1 to 64"},
        {"staged:control=-1", "control=-1", "0 to 1000000"},
        {"fifo:privat=1", "no knob 'privat", "private"},
        {"fifo:zzzzzzzz=1", "no knob 'zzzzzzzz'; it has layout, capacity", "place"},
        {"lifo:layout", "layout", "layout"},
        {"skeleton:capacity=4", "capacity", "none"},
        {"lifo:", "", ""},
        {"lfo", "no scheduler 'lfo'", "lifo"},
        {"skeletn:x=1", "no scheduler 'skeletn'", "skeleton"},
        {"fifo:capacity=12x", "12x", "1 to 1048576"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char err[512];
        int status = harness_child(try_spec, (void *)(uintptr_t)bad[i].spec, err, sizeof err);
        bool empty = bad[i].text[0] == '\0'; /* a colon and nothing behind it may pass or not: it must not crash */
        bool good = CHECK(exited(status, EINVAL) || (empty && exited(status, 0)));
        good = CHECK(strstr(err, bad[i].text) != NULL && strstr(err, bad[i].also) != NULL) && good;
        if (!good)
            harness_note("%s: status %x, message: %s", bad[i].spec, (unsigned)status, err);
    }
}

int main(void)
{
    static const struct test tests[] = {
        {"orders of execution", test_order},
        {"a chance of the global queue", test_chance},
        {"the global queue: ring, list, five rings", test_pool},
        {"full=refuse at exactly the bound", test_full},
        {"full=refuse among those who are back", test_full_of_woken},
        {"spill and overflow", test_spill},
        {"steal=half, one; none in the global layout", test_steal},
        {"private work behind a hog", test_revoked},
        {"place=home wakes at home", test_place},
        {"values out of range", test_bad_values},
    };
    return HARNESS_RUN("knobs", tests);
}
