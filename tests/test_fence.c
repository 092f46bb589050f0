/* SPDX-License-Identifier: MIT
 *
 * The platform's uneven fences, as a litmus test on the hardware:
 *
 *     x = 1 | light fence | look at y        against        y = 1 | heavy fence | look at x
 *
 * Both sides looking too early is forbidden. Idle workers and the owner-biased lock rest on this, and without the
 * heavy fence nothing else in the suites would notice.
 */
#include "harness.h"
#include "keeper.h"
#include "platform.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct line {
    _Alignas(128) _Atomic(uint32_t) word;
};

/* What the light side stores first: lines that the other side has just written, so that the store of x has to wait
 * for them in the store buffer. That makes the forbidden outcome some hundred times as frequent where nothing
 * forbids it. */
enum { BALLAST = 16, LIGHT_DELAY = 100, HEAVY_DELAY = 400 };

static struct line x, y, at[2], ballast[BALLAST];
static bool light_saw, light_in_time, over; /* each handed over by the words `at` */
static bool alone;                          /* one processor for both: waiting must give it away */

/* Returns whether it came soon. No processor is given away while the other side has one of its own: both must run at
 * the same time, which on a busy machine happens seldom enough. */
static bool await(int whom, uint32_t round)
{
    unsigned spins = 0;
    for (; atomic_load_explicit(&at[whom].word, memory_order_acquire) < round; spins++)
        if (alone)
            sched_yield();
        else
            tn_relax();
    return spins < 2000;
}

static void arrive(int me, uint32_t round)
{
    atomic_store_explicit(&at[me].word, round, memory_order_release);
}

static void stagger(uint64_t *random, unsigned most)
{
    for (uint64_t n = harness_random(random) % most; n > 0; n--)
        __asm__ volatile("");
}

static void *light_side(void *arg)
{
    uint64_t random = harness_seed();
    tn_pin(0);
    for (uint32_t i = 1; !over; i++) {
        arrive(0, 2 * i - 1);
        light_in_time = await(1, 2 * i - 1);
        stagger(&random, LIGHT_DELAY);
        for (int k = 0; k < BALLAST; k++)
            atomic_store_explicit(&ballast[k].word, i, memory_order_relaxed);
        atomic_store_explicit(&x.word, i, memory_order_relaxed);
        tn_fence_light();
        light_saw = atomic_load_explicit(&y.word, memory_order_relaxed) == i;
        arrive(0, 2 * i);
        await(1, 2 * i); /* until this round has been judged */
    }
    return arg;
}

struct litmus {
    uint32_t least, wanted; /* rounds; rounds in which both sides ran at the same time */
    tn_time limit;          /* where the latter does not come about */
    uint32_t rounds, together, found;
};

static void *heavy_side(void *arg)
{
    struct litmus *l = arg;
    uint64_t random = harness_seed() + 1;
    tn_pin(1);
    for (uint32_t i = 1; !over; i++) {
        for (int k = 0; k < BALLAST; k++)
            atomic_store_explicit(&ballast[k].word, 0, memory_order_relaxed);
        arrive(1, 2 * i - 1);
        bool in_time = await(0, 2 * i - 1);
        stagger(&random, HEAVY_DELAY);
        atomic_store_explicit(&y.word, i, memory_order_relaxed);
        tn_fence_heavy();
        bool saw = atomic_load_explicit(&x.word, memory_order_relaxed) == i;
        await(0, 2 * i);
        l->rounds++;
        l->together += in_time && light_in_time;
        l->found += !saw && !light_saw;
        over = l->rounds >= l->least && (l->found != 0 || l->together >= l->wanted || tn_now() >= l->limit);
        arrive(1, 2 * i);
    }
    return NULL;
}

/* False: a forbidden outcome, or no threads. */
static bool litmus(uint32_t least, uint32_t wanted, uint64_t limit_ms)
{
    struct litmus l = {.least = least, .wanted = wanted, .limit = tn_now() + limit_ms * 1000000};
    pthread_t light, heavy;
    alone = tn_processors() < 2;
    if (pthread_create(&light, NULL, light_side, NULL) != 0 || pthread_create(&heavy, NULL, heavy_side, &l) != 0)
        return false;
    pthread_join(light, NULL);
    pthread_join(heavy, NULL);
    if (l.found != 0)
        tn_message("both sides looked too early: %u of %u rounds", (unsigned)l.found, (unsigned)l.rounds);
    return l.found == 0;
}

static void test_membarrier(void)
{
    CHECK(litmus(1000, 10000, 3000));
}

/* The way without membarrier visits every processor, which takes a time slice each where they are busy: few rounds.
 * The library decides between the two when it is loaded, hence another program. */
static const char *program;

static int again_by_visits(void *arg)
{
    (void)arg;
    setenv("TENTER_MEMBARRIER", "0", 1);
    execl(program, "test_fence", "--visits", (char *)NULL); /* not /proc/self/exe, which under valgrind is valgrind */
    return 99;
}

static int by_visits(void)
{
    return litmus(5, 10000, 1000) ? 0 : 3;
}

static void test_visits(void)
{
    char err[256];
    int status = harness_child(again_by_visits, NULL, err, sizeof err);
    if (!CHECK(exited(status, 0)))
        harness_note("status %x: %s", (unsigned)status, err);
}

/* ---- the timekeeper is hurried (keeper.h) ---- */

static struct tn_keeper keeper;

static void *pauses(void *arg)
{
    *(bool *)arg = tn_keeper_pause(&keeper, tn_now() + UINT64_C(3600000000000), true);
    return NULL;
}

static void test_hurry(void)
{
    pthread_t thread;
    bool hurried = false;
    atomic_init(&keeper.word, TN_KEEPER_AWAKE);
    atomic_init(&keeper.until, 0);
    CHECK(!tn_keeper_hurry(&keeper, 1)); /* it does not sleep, or does not want to be */
    CHECK(!tn_keeper_pause(&keeper, tn_now() + 1000, false));
    CHECK(!tn_keeper_hurry(&keeper, 1));
    CHECK(!tn_keeper_pause(&keeper, tn_now() + 1000, true)); /* nobody hurries it */
    if (!CHECK_EQUAL(pthread_create(&thread, NULL, pauses, &hurried), 0))
        return;
    CHECK(EVENTUALLY(atomic_load(&keeper.until) != 0));
    nap_us(1000);                                 /* until it sleeps */
    CHECK(!tn_keeper_hurry(&keeper, TN_FOREVER)); /* a later timer */
    CHECK(tn_keeper_hurry(&keeper, tn_now() + 1000));
    CHECK(!tn_keeper_hurry(&keeper, 1)); /* another one did */
    for (int i = 0; i < 1000; i++) {     /* should it have slept later than that */
        nap_us(100);
        tn_unpark(&keeper.word, 1);
    }
    CHECK_EQUAL(pthread_join(thread, NULL), 0); /* in less than an hour */
    CHECK(hurried);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"light against heavy fence", test_membarrier},
        {"the same without membarrier", test_visits},
        {"the timekeeper is hurried", test_hurry},
    };
    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "--visits") == 0)
        return by_visits();
    return HARNESS_RUN("fence", tests);
}
