/* SPDX-License-Identifier: MIT
 *
 * The knobs of fifo, lifo and hybrid that extend stealing (003 §4.4.1, §4.4.2, §7.1.1; 000 §3.2.2): for each value the
 * counter, or the order of execution, that differs.
 */
#include "harness.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MODULES = 3 };
static const char *const names[MODULES] = {"fifo", "lifo", "hybrid:p=0"};

static void run(int64_t workers, const char *name, const char *knobs, void *(*fn)(void *), void *arg)
{
    char spec[160];
    snprintf(spec, sizeof spec, "%s:%s", name, knobs);
    struct tn_config c = with(workers, spec);
    if (!CHECK_EQUAL(tn_run(&c, fn, arg, NULL), 0))
        harness_note("%s", spec);
}

static uint64_t mine(const char *name)
{
    return counter(tn_cluster_self(), name);
}

static void *nothing(void *arg)
{
    return arg;
}

/* ---- a full queue: what becomes of the rest ---- */

enum { MANY = 200 };
static char order[MANY + 1];
static unsigned at;

static void *write_down(void *letter)
{
    order[at++] = (char)(uintptr_t)letter;
    return NULL;
}

struct rest {
    const char *counter; /* that counts the rest */
    uint64_t n;          /* what it comes to */
    const char *begins;  /* who ran first */
};

static void *spawn_many(void *arg)
{
    static const char *const all[] = {"overflow", "pooled", "grown", "chained"};
    const struct rest *r = arg;
    tn_fibre *f[MANY];
    at = 0;
    for (uintptr_t i = 0; i < MANY; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, write_down, (void *)(i < 26 ? 'a' + i : '.')), 0);
    for (int i = 0; i < 4; i++) {
        uint64_t wanted = strcmp(all[i], r->counter) == 0 ? r->n : 0;
        if (!CHECK_EQUAL(mine(all[i]), wanted))
            harness_note("%s, where %s is meant", all[i], r->counter);
    }
    for (int i = 0; i < MANY; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    order[at] = '\0';
    CHECK_EQUAL(at, MANY);
    if (!CHECK(strncmp(order, r->begins, strlen(r->begins)) == 0))
        harness_note("%.26s", order);
    return NULL;
}

static void test_full(void)
{
    static const struct {
        const char *module, *knobs;
        struct rest rest;
    } cases[] = {
        {"fifo", "private=0:capacity=16:full=overflow", {"overflow", MANY - 16, "abcdefghijklmnop"}},
        {"fifo", "private=0:capacity=16:full=global", {"pooled", MANY - 16, "abcdefghijklmnop"}},
        {"fifo", "private=0:capacity=16:full=global:pool=locked", {"pooled", MANY - 16, "abcdefghijklmnop"}},
        {"fifo", "private=0:capacity=16:full=global:pool=five", {"pooled", MANY - 16, "abcdefghijklmnop"}},
        {"fifo", "private=0:capacity=16:full=grow", {"grown", 4, "abcdefghijklmnopqrstuvwxyz......"}},
        {"fifo", "private=4:capacity=16:full=grow", {"grown", 4, "abcdefghijklmnopqrstuvwxyz......"}},
        {"fifo", "private=0:capacity=16:full=chain", {"chained", 12, "abcdefghijklmnopqrstuvwxyz"}},
        {"lifo", "private=0:capacity=16:full=overflow", {"overflow", MANY - 16, "ponmlkjihgfedcba"}},
        {"lifo", "private=0:capacity=16:full=global", {"pooled", MANY - 16, "ponmlkjihgfedcba"}},
        {"lifo", "private=0:capacity=16:full=grow", {"grown", 4, "......"}},
        {"lifo", "private=4:capacity=16:full=grow", {"grown", 4, "......"}},
        {"lifo", "private=0:capacity=16:full=chain", {"chained", 12, "ponmlkjihgfedcba"}},
        {"hybrid:p=0", "private=0:capacity=16:full=overflow", {"overflow", MANY - 16, "ponmlkjihgfedcba"}},
        {"hybrid:p=0", "private=0:capacity=16:full=global", {"pooled", MANY - 16, "ponmlkjihgfedcba"}},
        {"hybrid:p=0", "private=0:capacity=16:full=grow", {"grown", 4, "......"}},
        {"hybrid:p=0", "private=4:capacity=16:full=grow", {"grown", 4, "......"}},
        {"hybrid:p=0", "private=0:capacity=16:full=chain", {"chained", 12, "ponmlkjihgfedcba"}},
        /* a chance: none, or all spawns */
        {"fifo", "chance=0:capacity=128", {"overflow", 0, "abcdefghijklmnopqrstuvwxyz......"}},
        {"fifo", "chance=1000:capacity=256:pool=ring", {"pooled", MANY, "abcdefghijklmnopqrstuvwxyz......"}},
        {"fifo", "chance=1000:pool=locked", {"pooled", MANY, "abcdefghijklmnopqrstuvwxyz......"}},
        {"lifo", "chance=1000:capacity=256", {"pooled", MANY, "abcdefghijklmnopqrstuvwxyz......"}},
        {"lifo", "chance=1000:pool=five", {"pooled", MANY, ""}},
        {"hybrid:p=0", "chance=1000:capacity=256", {"pooled", MANY, "abcdefghijklmnopqrstuvwxyz......"}},
    };
    if (migration_forced() || !counting())
        SKIP("it is told by counters of a plain build");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rest r = cases[i].rest;
        run(1, cases[i].module, cases[i].knobs, spawn_many, &r);
    }
}

/* The list is the queue that all share, rings are apart from it: what does not fit into them goes there. */
static void *count_shared(void *out)
{
    tn_fibre *f[MANY];
    uint64_t before = mine("shared");
    at = 0;
    for (int i = 0; i < MANY; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, write_down, (void *)(uintptr_t)'.'), 0);
    for (int i = 0; i < MANY; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    *(uint64_t *)out = mine("shared") - before;
    return NULL;
}

static void test_list_or_rings(void)
{
    static const struct {
        const char *knobs;
        uint64_t least, most;
    } cases[] = {
        {"chance=1000:pool=locked:capacity=256", MANY, MANY},
        {"chance=1000:pool=ring:capacity=256", 0, 0},
        {"chance=1000:pool=ring:capacity=16", MANY - 16, MANY - 16},
        {"chance=1000:pool=five:capacity=16", 1, MANY - 17},
    };
    if (migration_forced() || !counting())
        SKIP("it is told by counters of a plain build");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int m = 0; m < MODULES; m++) {
            uint64_t shared = 0;
            run(1, names[m], cases[i].knobs, count_shared, &shared);
            if (!CHECK(shared >= cases[i].least && shared <= cases[i].most))
                harness_note("%s: %u", cases[i].knobs, (unsigned)shared);
        }
}

/* ---- slot ---- */

static void *spawn_eight(void *wanted)
{
    tn_fibre *f[8];
    at = 0;
    for (uintptr_t i = 0; i < 8; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, write_down, (void *)('a' + i)), 0);
    for (int i = 0; i < 8; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    order[at] = '\0';
    if (!CHECK(strcmp(order, wanted) == 0))
        harness_note("order %s, not %s", order, (const char *)wanted);
    return NULL;
}

/* Each spawns the next: with a slot that one runs before the others that wait, but not for ever. */
static void *relay(void *left)
{
    order[at++] = 'r';
    if (left != NULL)
        CHECK_EQUAL(tn_spawn(NULL, NULL, relay, (void *)((uintptr_t)left - 1)), 0);
    return NULL;
}

static void *spawn_relay(void *wanted)
{
    tn_fibre *f[2];
    at = 0;
    for (uintptr_t i = 0; i < 2; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, write_down, (void *)('a' + i)), 0);
    CHECK_EQUAL(tn_spawn(NULL, NULL, relay, (void *)7), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    while (at < 10)
        tn_yield();
    order[at] = '\0';
    if (!CHECK(strcmp(order, wanted) == 0))
        harness_note("order %s, not %s", order, (const char *)wanted);
    if (counting()) {
        CHECK_EQUAL(mine("slot") != 0, order[0] == 'r');
        CHECK_EQUAL(mine("bound") != 0, strncmp(wanted, "rra", 3) == 0);
    }
    return NULL;
}

static int slot_without_private(void *arg)
{
    struct tn_config c = with(1, "fifo:slot=1:private=0");
    tn_runtime *rt;
    (void)arg;
    return tn_start(&rt, &c);
}

static void test_slot(void)
{
    char err[256];
    if (migration_forced())
        SKIP("all fibres go through the shared queue");
    run(1, "fifo", "slot=0", spawn_eight, "abcdefgh");
    run(1, "fifo", "slot=1", spawn_eight, "habcdefg"); /* there is one newest; joined by then, the others follow */
    run(1, "fifo", "slot=0", spawn_relay, "abrrrrrrrr");
    /* the spawner, woken by whom it joins, is the newest at times, too */
    run(1, "fifo", "slot=2", spawn_relay, "rrabrrrrrr");
    run(1, "fifo", "slot=100", spawn_relay, "rrrrrrrrab");
    run(1, "lifo", "slot=0", spawn_eight, "hgfedcba");
    run(1, "lifo", "slot=2", spawn_eight, "hgafbecd");
    run(1, "lifo", "slot=2:private=0", spawn_eight, "hgafbecd");
    run(1, "hybrid:p=100", "slot=0", spawn_eight, "abcdefgh");
    run(1, "hybrid:p=100", "slot=1", spawn_eight, "habcdefg");
    run(1, "hybrid:p=100", "slot=2", spawn_relay, "rrabrrrrrr");
    run(1, "hybrid:p=0", "slot=2", spawn_relay, "rrarrrbrrr"); /* at its bound the oldest, else as the policy says */
    int status = harness_child(slot_without_private, NULL, err, sizeof err);
    CHECK(exited(status, EINVAL) && strstr(err, "slot has no effect here, it needs private=1") != NULL);
}

/* ---- thieves: whom they leave alone, and who asks them ---- */

static atomic_uint done;

static void *slow(void *arg)
{
    tn_work(5000);
    atomic_fetch_add(&done, 1);
    return arg;
}

/* A spawner that spawns so many at a time, waits until they have run, and does nothing itself. */
struct burst {
    unsigned n, rounds;
    const char *counter;
    uint64_t low, high; /* what it comes to */
};

static void *bursts(void *arg)
{
    const struct burst *b = arg;
    for (unsigned r = 0; r < b->rounds; r++) {
        atomic_store(&done, 0);
        for (unsigned i = 0; i < b->n; i++)
            CHECK_EQUAL(tn_spawn(NULL, NULL, slow, NULL), 0);
        while (atomic_load(&done) < b->n)
            sched_yield(); /* a hog: all of it is for the thieves */
    }
    uint64_t n = mine(b->counter);
    if (!CHECK(n >= b->low && n <= b->high))
        harness_note("%s: %u", b->counter, (unsigned)n);
    return NULL;
}

static void test_requests(void)
{
    static const struct {
        const char *knobs;
        struct burst burst;
    } cases[] = {
        {"private=0:least=1", {1, 50, "left", 0, 0}},
        {"private=0:least=10", {1, 50, "left", 50, UINT64_MAX}}, /* and yet each one is found: rarely, not never */
        {"private=0:request=none", {64, 20, "request", 0, 0}},
        {"private=0:request=once", {64, 20, "request", 20, UINT64_MAX}},
        {"private=0:request=sticky", {64, 20, "request", 20, UINT64_MAX}},
        {"private=0:request=ticket", {64, 20, "request", 0, 0}},
        {"private=0:request=none", {64, 20, "ticket", 0, 0}},
        {"private=0:request=ticket", {64, 20, "ticket", 10, UINT64_MAX}},
    };
    if (migration_forced() || !counting())
        SKIP("it is told by counters of a plain build");
    for (int m = 0; m < MODULES; m++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct burst b = cases[i].burst;
            run(3, names[m], cases[i].knobs, bursts, &b);
        }
}

/* One worker busy with its own work is told to steal nevertheless. Sticky and once differ in whom it tries afterwards:
 * see test_victims. */
static atomic_bool stop;

static void *keeps_busy(void *arg)
{
    while (!atomic_load(&stop)) {
        tn_work(1000);
        tn_yield();
    }
    return arg;
}

static void *forced(void *arg)
{
    tn_fibre *f[2];
    atomic_store(&stop, false);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, keeps_busy, NULL), 0);
    nap_us(2000); /* the other worker has one of them, or both; or its thread gets no processor, and is given time */
    for (int i = 0; i < 20000 && mine("forced") < 5; i++) {
        if (i > 500)
            nap_us(500);
        for (int k = 0; k < 64; k++)
            CHECK_EQUAL(tn_spawn(NULL, NULL, nothing, NULL), 0);
        sched_yield();
        tn_yield_hard();
    }
    CHECK(mine("forced") >= 5);
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    return arg;
}

/* A ticket costs nothing while nobody is hungry: one worker, which is never. */
static void *no_ticket(void *arg)
{
    uint64_t before = mine("ticket");
    for (int k = 0; k < 100; k++)
        CHECK_EQUAL(tn_spawn(NULL, NULL, nothing, NULL), 0);
    CHECK_EQUAL(mine("ticket"), before);
    CHECK_EQUAL(mine("request"), 0); /* nor is there another one to ask */
    return arg;
}

/* Nor while two are busy, each with its own work: then a request costs at most one store, and a ticket none. */
static atomic_bool begun;

static void *busy_beside(void *arg)
{
    atomic_store(&begun, true);
    while (!atomic_load(&stop))
        sched_yield();
    return arg;
}

static void *no_ticket_of_two(void *arg)
{
    tn_fibre *other;
    atomic_store(&stop, false);
    atomic_store(&begun, false);
    CHECK_EQUAL(tn_spawn(&other, NULL, busy_beside, NULL), 0);
    while (!atomic_load(&begun))
        sched_yield(); /* as a hog, so that the other worker takes it */
    no_ticket(NULL);
    atomic_store(&stop, true);
    CHECK_EQUAL(tn_join(other, NULL), 0);
    return arg;
}

static void test_forced(void)
{
    if (migration_forced() || !counting())
        SKIP("it is told by counters of a plain build");
    for (int m = 0; m < MODULES; m++) {
        run(2, names[m], "private=0:capacity=1024:request=once", forced, NULL);
        run(2, names[m], "private=0:capacity=1024:request=sticky", forced, NULL);
        run(1, names[m], "private=0:request=ticket", no_ticket, NULL);
        run(1, names[m], "private=0:request=once", no_ticket, NULL);
        run(2, names[m], "private=0:request=ticket", no_ticket_of_two, NULL);
    }
}

/* ---- victims=listed: nobody tries those that sleep ---- */

static uint64_t tries_of(const char *module, const char *knobs)
{
    char spec[160];
    struct burst b = {1, 100, "left", 0, 0};
    snprintf(spec, sizeof spec, "%s:private=0:%s", module, knobs);
    struct tn_config c = with(8, spec);
    c.idle = TN_IDLE_BLOCK; /* one search for each wake-up */
    tn_runtime *rt;
    tn_fibre *f;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    struct tn_attr attr = {.runtime = rt};
    CHECK_EQUAL(tn_spawn(&f, &attr, bursts, &b), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    uint64_t tries = counter(tn_cluster_first(rt), "steal_try");
    CHECK_EQUAL(tn_stop(rt), 0);
    return tries;
}

static void test_listed(void)
{
    if (migration_forced() || !counting())
        SKIP("it is told by counters of a plain build");
    for (int m = 0; m < MODULES; m++) {
        uint64_t random = tries_of(names[m], "victims=random"), listed = tries_of(names[m], "victims=listed");
        harness_note("tries: %u random, %u listed ", (unsigned)random, (unsigned)listed);
        CHECK(listed < random * 3 / 4);
    }
}

/* ---- place=owner, transient and sticky ---- */

static tn_waiter waiter;
static _Atomic(uint64_t) seq;
static atomic_int woken_on;

static void *wait_then_tell(void *arg)
{
    waiter = tn_wait_prepare();
    atomic_store_explicit(&seq, waiter.seq, memory_order_release);
    CHECK_EQUAL(tn_wait(TN_FOREVER, NULL), 0);
    atomic_store(&woken_on, tn_worker_self());
    return arg;
}

/* Fibres are spawned here and stolen by the other worker, where they wait. Then this worker parks, and a plain
 * thread wakes them: whose are they? */
struct owned {
    unsigned extra; /* fibres beside it in its victim's queue */
    unsigned back;  /* so many of ROUNDS came back to where they were spawned */
};
enum { ROUNDS = 20 };

static void *wake_from_outside(void *arg)
{
    (void)arg;
    nap_us(500);
    CHECK(tn_wake(waiter));
    return NULL;
}

static void *sleep_and_wake(void *arg)
{
    struct owned *o = arg;
    for (int i = 0; i < ROUNDS; i++) {
        tn_fibre *f, *rest[8];
        atomic_store(&seq, 0);
        atomic_store(&woken_on, -1);
        int here = tn_worker_self();
        CHECK_EQUAL(tn_spawn(&f, NULL, wait_then_tell, NULL), 0);
        for (unsigned k = 0; k < o->extra; k++)
            CHECK_EQUAL(tn_spawn(&rest[k], NULL, nothing, NULL), 0);
        while (atomic_load_explicit(&seq, memory_order_acquire) == 0)
            sched_yield(); /* as a hog, so that the other worker takes it */
        for (unsigned k = 0; k < o->extra; k++)
            CHECK_EQUAL(tn_join(rest[k], NULL), 0);
        void *value;
        CHECK_EQUAL(tn_blocking(wake_from_outside, NULL, &value), 0); /* this fibre waits, and its worker parks */
        CHECK_EQUAL(tn_join(f, NULL), 0);
        o->back += atomic_load(&woken_on) == here;
    }
    return NULL;
}

static void test_owner(void)
{
    static const struct {
        const char *knobs;
        unsigned extra;
        bool back;
    } cases[] = {
        {"private=0:place=owner", 0, true},           /* transient */
        {"private=0:place=owner:sticky=1", 0, false}, /* the thief keeps it */
        {"private=0:place=owner:sticky=8", 0, true},  /* its victim had one */
        {"private=0:place=home", 0, false},           /* where it ran last */
    };
    if (migration_forced() || !counting())
        SKIP("it is told by counters of a plain build");
    for (int m = 0; m < MODULES; m++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct owned o = {.extra = cases[i].extra};
            run(2, names[m], cases[i].knobs, sleep_and_wake, &o);
            bool good = cases[i].back ? CHECK(o.back >= ROUNDS * 3 / 4) : CHECK(o.back <= ROUNDS / 4);
            if (!good)
                harness_note("%s: %u of %u came back", cases[i].knobs, o.back, ROUNDS);
        }
}

int main(void)
{
    static const struct test tests[] = {
        {"full queues: list, global queue, growth, chain", test_full},
        {"pool: the shared list, or rings beside it", test_list_or_rings},
        {"slot: the newest first, and its bound", test_slot},
        {"few are left alone; requests and tickets", test_requests},
        {"a busy worker is made to steal", test_forced},
        {"only the busy are tried", test_listed},
        {"owners, transient and sticky", test_owner},
    };
    return HARNESS_RUN("extras", tests);
}
