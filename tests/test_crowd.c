/* SPDX-License-Identifier: MIT
 *
 * Everything at once with four workers and more to a processor: rounds of two clusters under modules drawn from the
 * command line, with fibres, plain threads and calls that block in each other's way. A round ends when all fibres have,
 * or is stopped in the middle.
 *
 *     test_crowd [--stress] MODULE[:KNOB=VALUE…]...
 *
 * Each round draws all it does from its own seed: what a failure or a hang prints begins with that very round.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLERS = 3, BOXES = 8, SEATS = 64, MEMBERS = 64, OVER = 4 /* workers a processor */, REST_US = 10000 };

static char **specs;
static unsigned n_specs, rounds = 6;

/* ---- of the round that runs ---- */

static tn_runtime *rt;
static tn_cluster *cl[2];
static unsigned workers;           /* of each cluster, to begin with */
static unsigned steps;             /* of a member */
static tn_token over;              /* fired in the midst of the round */
static atomic_bool quit, bell_off; /* the callers are to end, and then the bell */
static atomic_uint alive;          /* fibres whose destructor has not run */
static atomic_uint awoken, woken;  /* waits that were over for a wake-up, and wake-ups that were told so */
static _Atomic(tn_fibre *) box[BOXES];

static uint64_t draw(uint64_t *random, uint64_t below)
{
    return harness_random(random) % below;
}

static bool likely(uint64_t *random, unsigned one_in)
{
    return draw(random, one_in) == 0;
}

/* ---- seats: who waits to be woken by anybody ---- */

static struct {
    atomic_flag lock;
    unsigned n;
    tn_waiter waiter[SEATS];
} seats = {.lock = ATOMIC_FLAG_INIT};

static void seats_lock(void)
{
    while (atomic_flag_test_and_set_explicit(&seats.lock, memory_order_acquire))
        sched_yield();
}

static void seats_unlock(void)
{
    atomic_flag_clear_explicit(&seats.lock, memory_order_release);
}

static void wake(tn_waiter w)
{
    if (tn_wake(w)) /* not if it is nobody */
        atomic_fetch_add(&woken, 1);
}

/* Where there is no seat, another has to get up. */
static void take_seat(tn_waiter w, void *random)
{
    tn_waiter up = {0};
    seats_lock();
    if (seats.n < SEATS) {
        seats.waiter[seats.n++] = w;
    } else {
        unsigned i = (unsigned)draw(random, SEATS);
        up = seats.waiter[i];
        seats.waiter[i] = w;
    }
    seats_unlock();
    wake(up);
}

/* False: nobody sits. */
static bool wake_one(uint64_t *random)
{
    tn_waiter up = {0};
    seats_lock();
    if (seats.n != 0) {
        unsigned i = (unsigned)draw(random, seats.n);
        up = seats.waiter[i];
        seats.waiter[i] = seats.waiter[--seats.n];
    }
    seats_unlock();
    wake(up);
    return up.fibre != NULL;
}

/* ---- what fibres do ---- */

static void farewell(void *value)
{
    CHECK(value == &alive);
    tn_yield();
    atomic_fetch_sub(&alive, 1);
}
static const tn_key mine = {farewell};

static void *leaf(void *seed);

/* NULL if it is to be detached, or when a bounded queue is full and the caller is not patient. */
static tn_fibre *spawn(void *(*fn)(void *), void *arg, uint64_t *random, bool detached, bool patient)
{
    static const size_t sizes[] = {0, 0, 0, 32768, 131072};
    struct tn_attr attr = {.name = "crowd", .cluster = cl[draw(random, 2)], .stack = sizes[draw(random, 5)]};
    tn_fibre *f = NULL;
    int rc;
    if (fn == leaf)
        atomic_fetch_add(&alive, 1);
    while ((rc = tn_spawn(detached ? NULL : &f, &attr, fn, arg)) == EAGAIN && patient)
        tn_yield();
    if (rc != 0 && fn == leaf)
        atomic_fetch_sub(&alive, 1);
    CHECK(rc == 0 || (rc == EAGAIN && !patient));
    return f;
}

static tn_fibre *spawn_leaf(uint64_t *random, bool detached)
{
    return spawn(leaf, (void *)(uintptr_t)harness_random(random), random, detached, true);
}

static void join_leaf(tn_fibre *f)
{
    void *value = NULL;
    CHECK_EQUAL(tn_join(f, &value), 0);
    CHECK(value == &alive);
}

/* Leave a leaf to whoever comes next, and join the one that was there. */
static void join_by_next(uint64_t *random)
{
    tn_fibre *f = atomic_exchange(&box[draw(random, BOXES)], spawn_leaf(random, false));
    if (f != NULL)
        join_leaf(f);
}

static void wait_somehow(uint64_t *random)
{
    bool for_ever = likely(random, 2), cancelled = likely(random, 3);
    tn_time deadline = for_ever ? TN_FOREVER : likely(random, 4) ? 0 : tn_now() + draw(random, 300000);
    tn_token *token = cancelled ? &over : NULL;
    int rc;
    if (likely(random, 2)) {
        rc = tn_suspend(take_seat, random, deadline, token);
    } else {
        tn_waiter w = tn_wait_prepare();
        take_seat(w, random);
        tn_wait_note("a seat", &seats);
        rc = tn_wait(deadline, token);
    }
    if (rc == 0)
        atomic_fetch_add(&awoken, 1);
    else
        CHECK((rc == ETIMEDOUT && !for_ever) || (rc == ECANCELED && cancelled && tn_token_fired(&over)));
}

static void *pool_call(void *seed)
{
    uint64_t random = (uintptr_t)seed;
    nap_us((unsigned)draw(&random, 100));
    wake_one(&random);
    if (likely(&random, 3)) /* while the runtime is stopped nobody makes room in a queue */
        spawn(leaf, seed, &random, true, false);
    errno_set((int)draw(&random, 100));
    return (void *)(uintptr_t)errno_get();
}

static void call_pool(uint64_t *random)
{
    void *value = NULL;
    CHECK_EQUAL(tn_blocking(pool_call, (void *)(uintptr_t)harness_random(random), &value), 0);
    CHECK_EQUAL(errno_get(), (uintptr_t)value);
}

static void add_or_remove(uint64_t *random)
{
    tn_cluster *c = cl[draw(random, 2)];
    int rc;
    if (tn_workers(c) > workers)
        CHECK((rc = tn_workers_remove(c, 1)) == 0 || rc == EINVAL || rc == EAGAIN);
    else
        CHECK((rc = tn_workers_add(c, 1)) == 0 || rc == EAGAIN);
}

enum { OF_LEAVES = 9, OF_ALL = 16 };

static void *fires(void *token)
{
    tn_yield();
    tn_token_fire(token);
    return NULL;
}

static void step(uint64_t *random, unsigned kinds)
{
    tn_fibre *f;
    void *value = NULL;
    tn_token token;
    tn_cluster *there;
    int rc;
    switch (draw(random, kinds)) {
    case 0:
        tn_yield();
        break;
    case 1:
        tn_yield_hard();
        break;
    case 2:
        rc = tn_sleep_until(tn_now() + draw(random, 200000), likely(random, 4) ? &over : NULL);
        CHECK(rc == 0 || (rc == ECANCELED && tn_token_fired(&over)));
        break;
    case 3:
        tn_work(draw(random, 20000));
        break;
    case 4:
        call_pool(random);
        break;
    case 5:
        wake_one(random);
        break;
    case 6:
        if (likely(random, 4))
            nap_us((unsigned)draw(random, 300)); /* with its worker: the monitor's business */
        break;
    case 7:
    case 8:
        wait_somehow(random);
        break;
    /* not in leaves, which are to end without anybody but the bell */
    case 9:
        join_leaf(spawn_leaf(random, false));
        break;
    case 10:
        spawn_leaf(random, true);
        break;
    case 11: /* a join that may be given up */
        f = spawn_leaf(random, false);
        rc = tn_join_until(f, &value, tn_now() + draw(random, 200000), likely(random, 2) ? &over : NULL);
        CHECK(rc == 0 ? value == &alive : rc == ETIMEDOUT || (rc == ECANCELED && tn_token_fired(&over)));
        if (rc != 0 && likely(random, 2))
            CHECK_EQUAL(tn_detach(f), 0);
        else if (rc != 0)
            join_leaf(f);
        break;
    case 12:
        join_by_next(random);
        break;
    case 13:
        tn_token_init(&token);
        f = spawn(fires, &token, random, false, true);
        tn_wait_prepare();
        CHECK_EQUAL(tn_wait(TN_FOREVER, &token), ECANCELED);
        CHECK_EQUAL(tn_join(f, NULL), 0);
        break;
    case 14:
        there = cl[draw(random, 2)];
        CHECK_EQUAL(tn_migrate(there), 0);
        CHECK(tn_cluster_self() == there);
        break;
    default:
        add_or_remove(random);
    }
}

static void *leaf(void *seed)
{
    uint64_t random = (uintptr_t)seed;
    CHECK_EQUAL(tn_local_set(&mine, &alive), 0);
    for (uint64_t n = draw(&random, 6); n > 0; n--)
        step(&random, OF_LEAVES);
    CHECK(tn_local_get(&mine) == &alive);
    if (likely(&random, 4))
        tn_exit(&alive);
    return &alive;
}

static void *member(void *seed)
{
    uint64_t random = (uintptr_t)seed;
    for (unsigned i = 0; i < steps; i++)
        step(&random, OF_ALL);
    return &alive;
}

/* ---- what plain threads do ---- */

/* The bell never waits for anybody, so that nobody waits for ever. It rests where nobody sits: the watchdog asks for how
 * busy the process is. */
static void *bell(void *seed)
{
    uint64_t random = *(uint64_t *)seed;
    for (unsigned rest = 1; !atomic_load(&bell_off); nap_us((unsigned)draw(&random, rest))) {
        rest = rest < REST_US ? 2 * rest : REST_US;
        for (unsigned n = 0; n < SEATS / 4 && wake_one(&random); n++)
            rest = 200;
    }
    return NULL;
}

static struct caller {
    uint64_t random;
    pthread_t thread;
    bool stopped;           /* it waits in tn_join when the runtime is stopped */
    _Atomic(pid_t) goes_in; /* its thread, right before that */
} callers[CALLERS];

static void look_around(uint64_t *random)
{
    struct tn_counter all[TN_COUNTERS_MAX];
    tn_cluster *c = cl[draw(random, 2)];
    CHECK((tn_counters(c, all) != 0) == counting());
    CHECK(tn_describe_cluster(c, NULL, 0) > 10);
    tn_stack_peak(rt);
    if (likely(random, 16)) {
        int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        int rc = tn_dump(fd);
        CHECK(rc == 0 || rc == EBUSY);
        close(fd);
    }
}

static void *wait_for_ever(void *arg)
{
    tn_wait_prepare();
    tn_wait(TN_FOREVER, NULL);
    return arg;
}

static void *caller(void *arg)
{
    struct caller *me = arg;
    uint64_t *random = &me->random;
    while (!atomic_load(&quit)) {
        switch (draw(random, 8)) {
        case 0:
            join_leaf(spawn_leaf(random, false));
            break;
        case 1:
            spawn_leaf(random, true);
            break;
        case 2:
            join_by_next(random);
            break;
        case 3:
            call_pool(random);
            break;
        case 4:
            look_around(random);
            break;
        case 5:
            add_or_remove(random);
            break;
        case 6:
            CHECK_EQUAL(tn_detach(spawn_leaf(random, false)), 0);
            break;
        default:
            wake_one(random);
        }
        nap_us((unsigned)draw(random, 100));
    }
    if (me->stopped) {
        tn_fibre *f = spawn(wait_for_ever, NULL, random, false, true);
        atomic_store(&me->goes_in, gettid());
        CHECK_EQUAL(tn_join(f, NULL), ECANCELED);
    }
    return NULL;
}

/* ---- rounds ---- */

static struct tn_config drawn(uint64_t *random, const char *spec)
{
    static const char *const pollers[] = {NULL, TEST_IN_POLLER};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct tn_config c = with(OVER * processors + (long)draw(random, 4), spec);
    workers = (unsigned)c.workers;
    c.slots = c.workers + 4;
    c.idle = likely(random, 8) ? TN_IDLE_SPIN : likely(random, 2) ? TN_IDLE_BLOCK : TN_IDLE_SPIN_BLOCK;
    c.pin = likely(random, 8);
    c.on_demand = likely(random, 3);
    c.seed = (int64_t)draw(random, 1 << 30) + 1;
    c.pool = 1 + (int64_t)draw(random, 4);
    c.pool_ms = likely(random, 2) ? 1 : 1000;
    c.monitor_us = likely(random, 3) ? 300 : 0;
    c.deadlock = likely(random, 2) ? TN_DEADLOCK_ABORT : TN_DEADLOCK_OFF; /* there is none */
    c.poller = pollers[draw(random, 2)];
    return c;
}

static void start(uint64_t *random)
{
    struct tn_config c = drawn(random, specs[draw(random, n_specs)]), d = c;
    d.scheduler = specs[draw(random, n_specs)];
    if (!CHECK_EQUAL(tn_start(&rt, &c), 0) || !CHECK_EQUAL(tn_cluster_create(rt, &d, &cl[1]), 0))
        exit(1);
    cl[0] = tn_cluster_first(rt);
    harness_note("%s and %s: 2 x %u workers, idle %d, on demand %d", c.scheduler, d.scheduler, workers, (int)c.idle,
                 (int)c.on_demand);
    tn_token_init(&over);
    seats.n = 0;
    for (int i = 0; i < BOXES; i++)
        atomic_store(&box[i], NULL);
    atomic_store(&quit, false);
    atomic_store(&bell_off, false);
    atomic_store(&alive, 0);
    atomic_store(&awoken, 0);
    atomic_store(&woken, 0);
}

static void one_round(uint64_t random)
{
    bool small = !build_has("sanitize=none"), stopped = likely(&random, 3);
    unsigned n = 8 + (unsigned)draw(&random, small ? 8 : MEMBERS - 8);
    tn_fibre *f[MEMBERS];
    pthread_t ringer;
    steps = small ? 10 : 20 + (unsigned)draw(&random, 60);
    start(&random);
    uint64_t seed = harness_random(&random);
    pthread_create(&ringer, NULL, bell, &seed);
    for (int i = 0; i < CALLERS; i++) {
        callers[i].random = harness_random(&random);
        callers[i].stopped = stopped;
        atomic_store(&callers[i].goes_in, 0);
        pthread_create(&callers[i].thread, NULL, caller, &callers[i]);
    }
    for (unsigned i = 0; i < n; i++)
        f[i] = spawn(member, (void *)(uintptr_t)harness_random(&random), &random, false, true);
    nap_us((unsigned)draw(&random, 30000));
    if (!stopped || likely(&random, 2))
        tn_token_fire(&over);
    if (stopped) {
        atomic_store(&quit, true);
        for (int i = 0; i < CALLERS; i++)
            while (!harness_sleeps(atomic_load(&callers[i].goes_in)))
                nap_us(REST_US);
    } else {
        for (unsigned i = 0; i < n; i++)
            join_leaf(f[i]);
        atomic_store(&quit, true);
        for (int i = 0; i < CALLERS; i++)
            pthread_join(callers[i].thread, NULL);
        for (int i = 0; i < BOXES; i++)
            if (atomic_load(&box[i]) != NULL)
                join_leaf(atomic_load(&box[i]));
        while (atomic_load(&alive) != 0)
            nap_us(REST_US);
    }
    atomic_store(&bell_off, true);
    pthread_join(ringer, NULL);
    CHECK_EQUAL(tn_stop(rt), 0);
    tn_token_fire(&over); /* who waited with it is gone */
    for (int i = 0; stopped && i < CALLERS; i++)
        pthread_join(callers[i].thread, NULL);
    CHECK(stopped || atomic_load(&awoken) == atomic_load(&woken));
}

static void test_crowd(void)
{
    uint64_t seed = harness_seed();
    tn_token_init(&over);
    CHECK_EQUAL(tn_run(NULL, fires, &over, NULL), 0); /* a sanitizer's thread comes with the first */
    unsigned threads = harness_count("task"), descriptors = harness_count("fd");
    for (unsigned i = 0; i < rounds && harness_round(seed); i++) {
        one_round(seed);
        CHECK(EVENTUALLY(harness_count("task") == threads));
        CHECK_EQUAL(harness_count("fd"), descriptors);
        seed = harness_random(&seed);
    }
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {{"four workers a processor, everything at once", test_crowd}};
    bool stress = argc > 1 && strcmp(argv[1], "--stress") == 0;
    specs = argv + 1 + stress;
    n_specs = (unsigned)(argc - 1 - stress);
    if (n_specs == 0)
        return 2;
    if (stress)
        rounds = 400;
    return HARNESS_RUN("crowd", tests);
}
