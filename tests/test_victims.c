/* SPDX-License-Identifier: MIT
 *
 * The orders in which a thief tries its victims (schedulers/parts/victims.h, request.h), and without threads the choice of
 * the newest (more.h) and the owner-biased lock's bookkeeping.
 */
#include "harness.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* A fifo of its own, by another name: no cluster runs it, its choices of victims are called as they are. */
#define TN_KNOB_OWNER probe
#define LOCAL_LIFO    0
#include "parts/either.h"

EITHER_TABLE(probe, "a copy");

enum { MOST = 12 };
static struct tn_worker workers[MOST], *slots[MOST];
static struct tn_cluster cluster;

static void set_up(uint32_t used)
{
    cluster.workers = slots;
    cluster.slots = MOST;
    atomic_store(&cluster.used, used);
    for (uint32_t i = 0; i < MOST; i++) {
        workers[i].index = i;
        workers[i].cluster = &cluster;
        workers[i].random = harness_seed() + i;
        slots[i] = &workers[i];
    }
}

/* All others, each once, never oneself. */
static void test_random(void)
{
    for (uint32_t used = 1; used <= MOST; used++) {
        set_up(used);
        for (uint32_t me = 0; me < used; me++)
            for (int round = 0; round < 20; round++) {
                unsigned seen[MOST] = {0}, tries = 0;
                uint32_t begin = 0;
                for (struct tn_worker *v; (v = tn_victim_random(&workers[me], used, tries, &begin)) != NULL; tries++)
                    if (!CHECK(tries < MOST && v->index < used) || ++seen[v->index] > 1)
                        return;
                CHECK_EQUAL(tries, used - 1);
                CHECK_EQUAL(seen[me], 0);
            }
    }
}

static void test_random_start(void)
{
    unsigned first[MOST] = {0};
    set_up(8);
    for (int round = 0; round < 2000; round++) {
        uint32_t begin = 0;
        first[tn_victim_random(&workers[3], 8, 0, &begin)->index]++;
    }
    for (int i = 0; i < 8; i++)
        CHECK(i == 3 ? first[i] == 0 : first[i] > 100); /* 286 are expected */
}

/* Right and left in turn, then one of those beyond. */
static void test_nearest(void)
{
    static const uint32_t wanted[] = {4, 2, 5, 1};
    set_up(10);
    for (unsigned i = 0; i < 4; i++)
        CHECK_EQUAL(tn_victim_nearest(&workers[3], 10, i, 4)->index, wanted[i]);
    unsigned far[MOST] = {0};
    for (int round = 0; round < 2000; round++)
        far[tn_victim_nearest(&workers[3], 10, 4, 4)->index]++;
    for (uint32_t i = 0; i < 10; i++)
        CHECK((i >= 1 && i <= 5 ? 0 : 200) <= far[i] && (i > 5 || i < 1 || far[i] == 0)); /* 400 are expected */
    CHECK(tn_victim_nearest(&workers[3], 10, 5, 4) == NULL);
    CHECK_EQUAL(tn_victim_nearest(&workers[9], 10, 0, 4)->index, 0); /* round the end */
    CHECK_EQUAL(tn_victim_nearest(&workers[0], 10, 1, 4)->index, 9);
}

/* Whatever `nearest` is: all attempts are others, every other one is reached sooner or later. */
static void test_nearest_reaches_all(void)
{
    for (uint32_t used = 1; used <= MOST; used++) {
        set_up(used);
        for (unsigned nearest = 1; nearest <= 15; nearest++) {
            unsigned seen[MOST] = {0};
            for (int round = 0; round < 400; round++) {
                unsigned once[MOST] = {0};
                struct tn_worker *v;
                for (unsigned i = 0; i < 20 && (v = tn_victim_nearest(&workers[0], used, i, nearest)) != NULL; i++) {
                    CHECK(v->index != 0 && v->index < used);
                    CHECK(++once[v->index % MOST] == 1);
                    seen[v->index % MOST] = 1;
                }
            }
            for (uint32_t i = 1; i < used; i++)
                CHECK(seen[i] == 1);
        }
    }
}

/* The longest queue, then all others from anywhere. */
static size_t length_of(struct tn_worker *w)
{
    return w->index == 5 ? 9 : w->index == 7 ? 8 : 0;
}

static size_t no_length(struct tn_worker *w)
{
    (void)w;
    return 0;
}

static void test_busiest(void)
{
    set_up(10);
    for (int round = 0; round < 20; round++) {
        unsigned seen[MOST] = {0}, tries = 1;
        uint32_t begin = 0;
        CHECK_EQUAL(tn_victim_busiest(&workers[3], 10, 0, &begin, length_of)->index, 5);
        for (struct tn_worker *v; (v = tn_victim_busiest(&workers[3], 10, tries, &begin, length_of)) != NULL; tries++)
            if (!CHECK(tries < 20) || !CHECK(++seen[v->index] == 1))
                return;
        CHECK_EQUAL(tries, 10);
        CHECK_EQUAL(seen[3], 0);
    }
    uint32_t begin = 0;
    CHECK_EQUAL(tn_victim_busiest(&workers[5], 10, 0, &begin, length_of)->index, 7); /* not oneself */
    CHECK(tn_victim_busiest(&workers[3], 10, 0, &begin, no_length) != NULL);
    CHECK(tn_victim_busiest(&workers[0], 1, 0, &begin, no_length) == NULL);
}

/* ---- the knob: whom a thief robs first, of one busy for longer and one with more ---- */

/* The main fibre keeps its worker, the first that was busy, and has one fibre in its queue; a second worker is busy with a
 * fibre that has spawned FEW; the third is released, and whose fibre does it run first? */
enum { FEW = 8, ROUNDS = 20 };
static atomic_int on[2]; /* the worker that each of the two hogs keeps */
static atomic_bool spawns, spawned, released, over;
static atomic_uintptr_t first;
static char of_many, of_few;

static void *tell_whose(void *whose)
{
    uintptr_t nobody = 0;
    if (tn_worker_self() == atomic_load(&on[1]))
        atomic_compare_exchange_strong(&first, &nobody, (uintptr_t)whose);
    return NULL;
}

static void *with_many(void *arg)
{
    tn_fibre *f[FEW];
    atomic_store(&on[0], tn_worker_self());
    while (!atomic_load(&spawns))
        sched_yield();
    for (int i = 0; i < FEW; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, tell_whose, &of_many), 0);
    atomic_store(&spawned, true);
    while (!atomic_load(&over))
        sched_yield();
    for (int i = 0; i < FEW; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    return arg;
}

static void *thief(void *arg)
{
    atomic_store(&on[1], tn_worker_self());
    while (!atomic_load(&released))
        sched_yield();
    return arg;
}

struct robbed {
    unsigned many, few,
        right; /* rounds in which it was the one or the other, or the thief's neighbour to the right */
};

static void *rob(void *arg)
{
    struct robbed *r = arg;
    tn_fibre *hogs[2], *own;
    for (int i = 0; i < 2; i++)
        atomic_store(&on[i], -1);
    spawns = spawned = released = over = false;
    atomic_store(&first, 0);
    while (tn_idle_count(tn_cluster_self()) != 2)
        sched_yield(); /* whoever does not sleep yet would be busy for as long */
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(tn_spawn(&hogs[i], NULL, i == 0 ? with_many : thief, NULL), 0);
        while (atomic_load(&on[i]) < 0)
            sched_yield();
    }
    CHECK_EQUAL(tn_spawn(&own, NULL, tell_whose, &of_few), 0);
    atomic_store(&spawns, true);
    while (!atomic_load(&spawned))
        sched_yield();
    atomic_store(&released, true);
    while (atomic_load(&first) == 0)
        sched_yield();
    atomic_store(&over, true);
    CHECK_EQUAL(tn_join(own, NULL), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_join(hogs[i], NULL), 0);
    bool was_few = atomic_load(&first) == (uintptr_t)&of_few;
    int right = (atomic_load(&on[1]) + 1) % 3;
    r->few += was_few;
    r->many += !was_few;
    r->right += (right == atomic_load(&on[0])) != was_few;
    return NULL;
}

static struct robbed robbed(const char *module, const char *victims)
{
    struct robbed r = {0};
    char spec[80];
    snprintf(spec, sizeof spec, "%s:private=0:victims=%s", module, victims);
    for (int i = 0; i < ROUNDS; i++) {
        struct tn_config c = with(3, spec);
        c.idle = TN_IDLE_BLOCK;
        c.seed = (int64_t)(harness_seed() % 1000000) + 1 + i; /* else each round draws the same */
        CHECK_EQUAL(tn_run(&c, rob, &r, NULL), 0);
    }
    harness_note("%s: %u from the longer queue, %u from the longer busy, %u from the right ", spec, r.many, r.few,
                 r.right);
    return r;
}

static void test_knob(void)
{
    static const char *const modules[] = {"fifo", "lifo", "hybrid:p=0", "hybrid:policy=reverse:n=2"};
    if (migration_forced())
        SKIP("all fibres go through the shared queue");
    for (size_t m = 0; m < sizeof modules / sizeof *modules; m++) {
        struct robbed random = robbed(modules[m], "random");
        CHECK(random.many != 0 && random.few != 0); /* but for one run in 500000 */
        CHECK(robbed(modules[m], "nearest:nearest=1").right >= ROUNDS - 1);
        CHECK(robbed(modules[m], "busy").few >= ROUNDS - 2); /* or the lock of the list was taken */
        CHECK(robbed(modules[m], "listed").few >= ROUNDS - 2);
        CHECK_EQUAL(robbed(modules[m], "busiest").many, ROUNDS);
    }
}

/* By distance, those at the same one from anywhere, and none that is not there yet. */
static void test_near(void)
{
    struct tn_near places[MOST - 1] = {{1, 0, 1}, {2, 1, 3}, {3, 1, 3}};
    struct tn_near_walk walk = {.order = places};
    unsigned second[MOST] = {0};
    for (uint16_t i = 3; i < MOST - 1; i++)
        places[i] = (struct tn_near){(uint16_t)(i + 1), 3, MOST - 1};
    for (uint32_t used = 1; used <= MOST; used++)
        for (int round = 0; round < 50; round++) {
            unsigned seen[MOST] = {0}, tries = 0, at = 0;
            if (round == 0) /* it sets the random numbers too, which must go on */
                set_up(used);
            for (struct tn_worker *v; (v = tn_victim_near(&workers[0], used, tries, &walk)) != NULL; tries++) {
                if (!CHECK(tries < MOST && v->index < used) || !CHECK(++seen[v->index] == 1))
                    return;
                unsigned group = v->index == 1 ? 0 : v->index <= 3 ? 1 : 2;
                CHECK(group >= at);
                CHECK_EQUAL(walk.nearest, group == 0);
                at = group;
                second[v->index] += tries == 1;
            }
            CHECK_EQUAL(tries, used - 1);
        }
    CHECK(second[2] > 0 && second[3] > 0 && second[4] == 0);
}

/* ---- request: who comes before the usual victims ---- */

static struct local_worker local[MOST];
static struct local_cluster shared;
static int64_t values[TN_KNOBS_MAX];

static void set_request(int64_t request)
{
    set_up(10);
    for (size_t i = 0; i < sizeof local_knobs / sizeof *local_knobs; i++)
        values[i] = local_knobs[i].initial;
    values[TN_KNOB_NAME_(TN_KNOB_OWNER, request)] = request;
    cluster.knobs = values;
    cluster.sched = &shared;
    for (uint32_t i = 0; i < MOST; i++) {
        workers[i].sched = &local[i];
        local[i] = (struct local_worker){.start = 0};
    }
}

static unsigned victims_of(struct tn_worker *me)
{
    unsigned n = 1;
    while (n < 20 && local_victim(me, n) != NULL)
        n++;
    return n;
}

static void test_requests(void)
{
    set_request(REQUEST_STICKY); /* whoever asked is first, until another asks */
    for (int round = 0; round < 20; round++) {
        atomic_store(&local[1].target, (round < 10 ? REQUEST_NEW : 0) | 8);
        CHECK_EQUAL(local_victim(&workers[1], 0)->index, 7);
        CHECK_EQUAL(victims_of(&workers[1]), 10); /* and all others behind it */
    }
    set_request(REQUEST_ONCE); /* who asked has been served: the usual ones */
    unsigned seen[MOST] = {0};
    atomic_store(&local[1].target, 8);
    for (int round = 0; round < 500; round++)
        seen[local_victim(&workers[1], 0)->index]++;
    CHECK(seen[7] < 200 && seen[0] > 0 && seen[9] > 0);
    set_request(REQUEST_TICKET); /* whom a ticket names, once, and then one at random */
    cluster.slots = 10;
    CHECK_EQUAL(request_init(&cluster), 0);
    ticket_publish(shared.tickets, &workers[4], &local[4].ticket);
    CHECK_EQUAL(atomic_load(&local[4].ticket), 1);
    CHECK_EQUAL(local_victim(&workers[1], 0)->index, 4);
    CHECK_EQUAL(atomic_load(&local[4].ticket), 0);
    CHECK(local_victim(&workers[1], 1) != NULL);
    CHECK(local_victim(&workers[1], 2) == NULL);
    CHECK(local_victim(&workers[1], 0) != NULL);
    CHECK(local_victim(&workers[1], 1) == NULL);
    ticket_publish(shared.tickets, &workers[1], &local[1].ticket); /* one's own is no use */
    CHECK(local_victim(&workers[1], 0) != &workers[1]);
    CHECK_EQUAL(atomic_load(&local[1].ticket), 0);
    request_fini(&shared);
}

/* What a worker with more than it needs writes for others: nothing while nobody is hungry, and one ticket after that. */
struct written {
    struct local_worker local[MOST];
    struct local_cluster shared;
    struct tn_cluster cluster;
    unsigned char ring[2048];
    uint64_t counts[TN_MODULE_COUNTERS_MAX];
};

static void note(struct written *w, const uint64_t *counts)
{
    size_t ring = tn_mpmc_bytes(tn_mpmc_capacity(shared.tickets));
    if (!CHECK(ring <= sizeof w->ring))
        return;
    memset(w, 0, sizeof *w);
    memcpy(w->local, local, sizeof local);
    memcpy(&w->shared, &shared, sizeof shared);
    memcpy(&w->cluster, &cluster, sizeof cluster);
    memcpy(w->ring, shared.tickets, ring);
    memcpy(w->counts, counts, sizeof w->counts);
}

static void test_request_costs(void)
{
    static struct written before, after;
    static uint64_t counts[TN_MODULE_COUNTERS_MAX];
    static struct tn_fibre fibre[4];
    set_request(REQUEST_TICKET);
    cluster.slots = 10;
    CHECK_EQUAL(request_init(&cluster), 0);
    workers[4].counts = counts;
    local[4].open = open_make(16);
    atomic_store(&local[4].shown, local[4].open);
    for (int i = 0; i < 4; i++)
        CHECK(OPEN(push)(local[4].open, &fibre[i]));
    CHECK_EQUAL(local_length(&workers[4]), 4);
    for (uint32_t hungry = 0; hungry < 2; hungry++) {
        atomic_store(&cluster.hungry, hungry);
        if (hungry) {
            CHECK_EQUAL(request_make(&workers[4], TN_HELD), TN_HELD);
            CHECK_EQUAL(atomic_load(&local[4].ticket), 1);
        }
        note(&before, counts);
        for (int i = 0; i < 20; i++)
            CHECK_EQUAL(request_make(&workers[4], TN_HELD), TN_HELD);
        note(&after, counts);
        CHECK(memcmp(&before, &after, sizeof before) == 0);
    }
    CHECK(tn_mpmc_pop(shared.tickets) == &workers[4]); /* it names who has the work */
    CHECK(tn_mpmc_pop(shared.tickets) == NULL);
    atomic_store(&cluster.hungry, 0);
    open_free(local[4].open);
    request_fini(&shared);
}

/* Few are left alone, every 16th such victim is not. */
static void test_least(void)
{
    set_request(REQUEST_NONE);
    values[TN_KNOB_NAME_(TN_KNOB_OWNER, least)] = 10;
    uint64_t counts[TN_MODULE_COUNTERS_MAX] = {0};
    workers[0].counts = counts;
    unsigned left = 0;
    for (int i = 0; i < 160; i++)
        left += local_leaves_alone(&workers[0], 9);
    CHECK_EQUAL(left, 150);
    CHECK(!local_leaves_alone(&workers[0], 10));
    CHECK(!local_leaves_alone(&workers[0], 0)); /* nothing to leave: looked at as ever */
}

/* The newest first, so often in a row; then, and where none has come since the last choice, whom the module chooses. */
static void test_slot(void)
{
    static void *ring[8];
    static const struct {
        bool fresh;
        char wanted; /* '-': nobody in particular */
        uint32_t in_row;
    } choices[] = {{true, 'h', 1},  {true, 'g', 2}, {true, '-', 0}, {true, 'f', 1}, {false, '-', 0},
                   {true, 'e', 1},  {true, 'd', 2}, {true, '-', 0}, {true, 'c', 1}, {true, 'b', 2},
                   {false, '-', 0}, {true, 'a', 1}, {true, '-', 2}, {true, '-', 0}};
    static char names[] = "abcdefgh";
    uint64_t counts[TN_MODULE_COUNTERS_MAX] = {0};
    struct local_worker *l = &local[0];
    set_request(REQUEST_NONE);
    values[TN_KNOB_NAME_(TN_KNOB_OWNER, slot)] = 2;
    workers[0].counts = counts;
    l->slot = ring;
    l->limit = l->tail = 8;
    for (int i = 0; i < 8; i++)
        ring[i] = &names[i];
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        uint32_t before = l->tail - l->head;
        l->fresh = choices[i].fresh;
        void *f = more_slot(&workers[0]);
        if (!CHECK(f == NULL ? choices[i].wanted == '-' : *(char *)f == choices[i].wanted))
            harness_note("choice %u: %c, not %c ", (unsigned)i, f == NULL ? '-' : *(char *)f, choices[i].wanted);
        CHECK_EQUAL(l->in_row, choices[i].in_row);
        CHECK_EQUAL(l->tail - l->head, before - (f != NULL));
        CHECK(!l->fresh);
        if (f != NULL)
            CHECK_EQUAL(atomic_load(&l->held), l->tail - l->head);
    }
    if (counting()) {
        CHECK_EQUAL(counts[LOCAL_SLOT], 8);
        CHECK_EQUAL(counts[LOCAL_BOUND], 3); /* and the last time nobody was left */
    }
}

static void test_biased(void)
{
    static struct tn_biased b;
    uint32_t turn = tn_biased_enter(&b);
    CHECK_EQUAL(atomic_load(&b.seq) % 2, 1);
    CHECK(!tn_biased_revoke(&b, 4)); /* the owner is inside: the thief gives up, and leaves no trace */
    CHECK_EQUAL(atomic_load(&b.revoked), 0);
    tn_biased_leave(&b, turn);
    CHECK_EQUAL(atomic_load(&b.seq), turn + 2);
    CHECK(tn_biased_revoke(&b, 4));
    CHECK(!tn_biased_revoke(&b, 4)); /* one thief at a time */
    tn_biased_restore(&b);
    CHECK(tn_biased_revoke(&b, 0));
    tn_biased_restore(&b);
    CHECK_EQUAL(tn_biased_enter(&b), turn + 2);
    tn_biased_leave(&b, turn + 2);
}

int main(void)
{
    static const struct test tests[] = {
        {"random: every other one, once", test_random},
        {"random: from anywhere", test_random_start},
        {"nearest: right, left, then far", test_nearest},
        {"nearest: reaches all", test_nearest_reaches_all},
        {"busiest: the longest queue, then all", test_busiest},
        {"victims: who is robbed first", test_knob},
        {"topology: by distance", test_near},
        {"requests and tickets come first", test_requests},
        {"who has enough writes nothing while nobody is hungry", test_request_costs},
        {"few are left alone", test_least},
        {"slot: the newest, and its bound", test_slot},
        {"the biased lock", test_biased},
    };
    return HARNESS_RUN("victims", tests);
}
