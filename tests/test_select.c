/* SPDX-License-Identifier: MIT
 *
 * tn_select: exactly one arm happens, and nothing is left of the others; its choice; closing; promises: all, and any.
 */
#include "sync.h"

#include "tenter_channel.h"

#include <malloc.h>
#include <stdlib.h>
#include <time.h>

enum { CHANNELS = 3 };
static tn_channel channel[CHANNELS];
static uint64_t room[CHANNELS][2];
static int rounds;

static void open_channels(unsigned capacity)
{
    for (unsigned i = 0; i < CHANNELS; i++)
        CHECK_EQUAL(tn_channel_init(&channel[i], room[i], sizeof(room[i][0]), capacity), 0);
}

static void no_one_is_left(void)
{
    for (unsigned i = 0; i < CHANNELS; i++)
        CHECK_EQUAL(tn_channel_destroy(&channel[i]), 0);
}

/* ---- all do all at once ---- */

static _Atomic(uint64_t) sent, received;

/* Each sends on some channels and receives on some, of which several may be one, beside some that do it plainly. */
static void *mingles(void *number)
{
    uint64_t random = harness_seed() + (uintptr_t)number;
    for (int i = 0; i < rounds; i++) {
        struct tn_arm arms[4];
        uint64_t out = harness_random(&random) % 1000, in = 0;
        unsigned n = 1 + (unsigned)(harness_random(&random) % 4), which = 0;
        tn_time deadline = tn_now() + harness_random(&random) % 40000;
        bool sends[4];
        for (unsigned a = 0; a < n; a++) {
            tn_channel *c = &channel[harness_random(&random) % CHANNELS];
            sends[a] = harness_random(&random) % 2 == 0;
            arms[a] = sends[a] ? (struct tn_arm)TN_SEND(c, &out) : (struct tn_arm)TN_RECEIVE(c, &in);
        }
        int rc;
        if (harness_random(&random) % 4 != 0)
            rc = tn_select(arms, n, &which, deadline, NULL);
        else if (sends[0])
            rc = tn_channel_send_until(arms[0].object, &out, deadline, NULL);
        else
            rc = tn_channel_receive_until(arms[0].object, &in, deadline, NULL);
        CHECK(rc == 0 || rc == ETIMEDOUT);
        if (rc == 0) {
            CHECK_EQUAL(arms[which].rc, 0);
            if (sends[which])
                atomic_fetch_add(&sent, 1000000 + out);
            else
                atomic_fetch_add(&received, 1000000 + in);
        }
        if (i % 8 == 0)
            tn_yield();
    }
    return NULL;
}

static void mingle(void)
{
    rounds = stress ? 20000 : 500;
    for (unsigned capacity = 0; capacity <= 2; capacity++) {
        uint64_t item;
        open_channels(capacity);
        atomic_store(&sent, 0);
        atomic_store(&received, 0);
        party(8, 2, mingles);
        for (unsigned i = 0; i < CHANNELS; i++)
            while (tn_channel_tryreceive(&channel[i], &item) == 0)
                atomic_fetch_add(&received, 1000000 + item);
        CHECK_EQUAL(atomic_load(&sent), atomic_load(&received));
        no_one_is_left();
    }
}

static void test_mingle(void)
{
    beside(mingle);
}

/* ---- the same channel twice ---- */

static _Atomic(int) met;

static void *meets(void *number)
{
    uint64_t out = 1 + (uintptr_t)number, in = 0;
    struct tn_arm arms[2] = {TN_SEND(&channel[0], &out), TN_RECEIVE(&channel[0], &in)};
    unsigned which;
    CHECK_EQUAL(tn_select(arms, 2, &which, TN_FOREVER, NULL), 0);
    CHECK_EQUAL(arms[which].rc, 0);
    CHECK_EQUAL(in, which == 0 ? 0 : 2 - (uintptr_t)number); /* the other's */
    atomic_fetch_add(&met, which == 0 ? 1 : 100);
    return NULL;
}

static void twice(void)
{
    uint64_t out = 1, in = 0;
    unsigned which = 9;
    open_channels(0);
    struct tn_arm own[2] = {TN_SEND(&channel[0], &out), TN_RECEIVE(&channel[0], &in)};
    CHECK_EQUAL(tn_select(own, 2, &which, tn_now() + 1000000, NULL), ETIMEDOUT); /* not with itself */
    CHECK_EQUAL(which, 2);
    for (int i = 0; i < 100; i++) {
        atomic_store(&met, 0);
        party(1, 1, meets);
        CHECK_EQUAL(atomic_load(&met), 101);
    }
    no_one_is_left();
    open_channels(1);
    struct tn_arm both[2] = {TN_RECEIVE(&channel[1], &in), TN_RECEIVE(&channel[1], &in)};
    CHECK_EQUAL(tn_channel_send(&channel[1], &out), 0);
    CHECK_EQUAL(tn_select(both, 2, &which, TN_FOREVER, NULL), 0);
    CHECK_EQUAL(tn_select(both, 2, &which, 0, NULL), ETIMEDOUT);
    no_one_is_left();
}

static void test_twice(void)
{
    beside(twice);
}

/* ---- closing ---- */

static void *waits_on_all(void *arg)
{
    uint64_t item = 0;
    struct tn_arm arms[] = {TN_RECEIVE(&channel[0], &item), TN_SEND(&channel[1], &item),
                            TN_RECEIVE(&channel[2], &item)};
    unsigned which = 9;
    CHECK_EQUAL(tn_select(arms, 3, &which, TN_FOREVER, NULL), 0);
    CHECK_EQUAL(which, 1);
    CHECK_EQUAL(arms[1].rc, EPIPE);
    CHECK_EQUAL(tn_select(arms + 1, 1, &which, TN_FOREVER, NULL), 0); /* and who comes later */
    CHECK_EQUAL(arms[1].rc, EPIPE);
    return arg;
}

static void closes(void)
{
    struct party p;
    open_channels(0);
    invite(&p, 3, 1, waits_on_all);
    CHECK(EVENTUALLY(waiting(&channel[2].waits) == 4));
    CHECK_EQUAL(tn_channel_close(&channel[1]), 0);
    all_gone(&p);
    no_one_is_left();
}

static void test_close(void)
{
    beside(closes);
}

/* ---- which ---- */

static void *chooses(void *arg)
{
    static unsigned times[CHANNELS];
    unsigned which = 0;
    uint64_t item = 0;
    struct tn_arm arms[] = {TN_RECEIVE(&channel[0], &item), TN_RECEIVE(&channel[1], &item),
                            TN_RECEIVE(&channel[2], &item)};
    memset(times, 0, sizeof(times));
    for (unsigned i = 0; i < 256; i++) {
        CHECK_EQUAL(tn_select(arms, CHANNELS, &which, TN_FOREVER, NULL), 0);
        CHECK_EQUAL(tn_channel_send(&channel[which], &item), 0); /* all are ready again */
        times[which]++;
    }
    for (unsigned i = 0; i < CHANNELS; i++)
        CHECK(times[i] > 40); /* 85 are expected; less by chance once in 10^10 */
    return arg;
}

static void choice(void)
{
    uint64_t item = 0;
    open_channels(1);
    for (unsigned i = 0; i < CHANNELS; i++)
        CHECK_EQUAL(tn_channel_send(&channel[i], &item), 0);
    party(1, 0, chooses);
    party(0, 1, chooses);
}

static void test_choice(void)
{
    beside(choice);
}

/* A fibre's choices follow from the runtime's seed, on one worker: the same again with the same one, others with another. */
enum { CHOICES = 64 };

static void *chooses_again(void *to)
{
    unsigned char *chosen = to;
    uint64_t item = 0;
    struct tn_arm arms[] = {TN_RECEIVE(&channel[0], &item), TN_RECEIVE(&channel[1], &item),
                            TN_RECEIVE(&channel[2], &item)};
    open_channels(1);
    for (unsigned i = 0; i < CHANNELS; i++)
        CHECK_EQUAL(tn_channel_send(&channel[i], &item), 0);
    for (unsigned i = 0, which = 0; i < CHOICES; i++) {
        CHECK_EQUAL(tn_select(arms, CHANNELS, &which, TN_FOREVER, NULL), 0);
        CHECK_EQUAL(tn_channel_send(&channel[which], &item), 0);
        chosen[i] = (unsigned char)which;
    }
    return NULL;
}

static void test_seed(void)
{
    static unsigned char chosen[3][CHOICES];
    for (int run = 0; run < 3; run++) {
        struct tn_config c = with(1, NULL);
        c.seed = run < 2 ? 7 : 8;
        CHECK_EQUAL(tn_run(&c, chooses_again, chosen[run], NULL), 0);
    }
    CHECK(memcmp(chosen[0], chosen[1], CHOICES) == 0);
    CHECK(memcmp(chosen[0], chosen[2], CHOICES) != 0);
}

/* ---- limits, deadlines ---- */

static int select_late(tn_time deadline, tn_token *token)
{
    uint64_t item = 0;
    struct tn_arm arms[] = {TN_RECEIVE(&channel[0], &item), TN_SEND(&channel[1], &item), TN_SEND(&channel[0], &item)};
    unsigned which;
    return tn_select(arms, 3, &which, deadline, token);
}

static void lates(void)
{
    unsigned which = 0;
    open_channels(0);
    too_late(select_late);
    no_one_is_left();
    CHECK_EQUAL(tn_select(NULL, 0, &which, TN_FOREVER, NULL), EINVAL);
    struct tn_arm *many = calloc(TN_SELECT_MAX + 1, sizeof(*many));
    uint64_t item = 3;
    for (unsigned i = 0; i <= TN_SELECT_MAX; i++) /* in the worst order */
        many[i] = (struct tn_arm)TN_RECEIVE(&channel[CHANNELS - 1 - i * CHANNELS / (TN_SELECT_MAX + 1)], &item);
    CHECK_EQUAL(tn_select(many, TN_SELECT_MAX + 1, &which, TN_FOREVER, NULL), EINVAL);
    CHECK_EQUAL(tn_select(many, TN_SELECT_MAX, &which, 0, NULL), ETIMEDOUT);
    free(many);
    no_one_is_left();
}

static void test_late(void)
{
    beside(lates);
}

/* ---- promises ---- */

enum { PROMISES = 5 };
static tn_promise promise[PROMISES];
static _Atomic(unsigned) ready;

static void *waits_for_any(void *arg)
{
    struct tn_arm arms[PROMISES];
    uint64_t item;
    unsigned which = 99;
    for (unsigned i = 0; i < PROMISES - 1; i++)
        arms[i] = (struct tn_arm)TN_KEPT(&promise[i]);
    arms[PROMISES - 1] = (struct tn_arm)TN_RECEIVE(&channel[0], &item); /* beside something else */
    atomic_fetch_add(&ready, 1);
    CHECK_EQUAL(tn_select(arms, PROMISES, &which, TN_FOREVER, NULL), 0);
    CHECK_EQUAL(which, 2);
    CHECK_EQUAL(arms[which].rc, 0);
    CHECK(tn_promise_get(&promise[2]) == &promise[2]);
    return arg;
}

static void *waits_for_all(void *arg)
{
    tn_promise *all[PROMISES];
    for (unsigned i = 0; i < PROMISES; i++)
        all[i] = &promise[i];
    CHECK_EQUAL(tn_promise_all(all, PROMISES, tn_now() + 1000000, NULL), ETIMEDOUT);
    atomic_fetch_add(&ready, 1);
    CHECK_EQUAL(tn_promise_all(all, PROMISES, TN_FOREVER, NULL), 0);
    for (unsigned i = 0; i < PROMISES; i++)
        CHECK(tn_promise_get(all[i]) == all[i]);
    return arg;
}

static void promised(void)
{
    struct party any, all;
    open_channels(0);
    for (unsigned i = 0; i < PROMISES; i++)
        tn_promise_init(&promise[i]);
    atomic_store(&ready, 0);
    invite(&any, 2, 1, waits_for_any);
    invite(&all, 2, 1, waits_for_all);
    CHECK(EVENTUALLY(atomic_load(&ready) == 6));
    CHECK_EQUAL(tn_promise_set(&promise[2], &promise[2]), 0);
    all_gone(&any);
    for (unsigned i = 0; i < PROMISES; i++)
        CHECK_EQUAL(tn_promise_set(&promise[i], &promise[i]), i == 2 ? EALREADY : 0);
    all_gone(&all);
    for (unsigned i = 0; i < PROMISES; i++)
        CHECK_EQUAL(tn_promise_destroy(&promise[i]), 0);
    no_one_is_left();
}

static void test_promises(void)
{
    beside(promised);
}

/* ---- many time-outs leave nothing behind ---- */

static int time_out_all(uint64_t *random)
{
    uint64_t item = 0;
    struct tn_arm arms[] = {TN_RECEIVE(&channel[0], &item), TN_KEPT(&promise[0])};
    tn_time deadline = tn_now() + harness_random(random) % 2000;
    unsigned which;
    switch (harness_random(random) % 3) {
    case 0:
        return tn_select(arms, 2, &which, deadline, NULL);
    case 1:
        return tn_channel_receive_until(&channel[1], &item, deadline, NULL);
    default:
        return tn_promise_get_until(&promise[0], NULL, deadline, NULL);
    }
}

static void *times_out(void *number)
{
    uint64_t random = harness_seed() + (uintptr_t)number;
    for (int i = 0; i < rounds; i++)
        CHECK_EQUAL(time_out_all(&random), ETIMEDOUT);
    return NULL;
}

static void flat(void)
{
    open_channels(0);
    tn_promise_init(&promise[0]);
    rounds = 1000;
    party(4, 1, times_out);
    size_t before = mallinfo2().uordblks;
    rounds = stress ? 250000 : 5000; /* of four fibres: a million */
    party(4, 1, times_out);
    size_t after = mallinfo2().uordblks;
    CHECK(after <= before + 65536);
    CHECK_EQUAL(tn_promise_destroy(&promise[0]), 0);
    no_one_is_left();
}

static void test_flat(void)
{
    beside(flat);
}

/* ---- who waits takes no time of the processor ---- */

static void *sleeps(void *arg)
{
    uint64_t item = 0;
    struct tn_arm arms[] = {TN_RECEIVE(&channel[0], &item), TN_SEND(&channel[1], &item), TN_KEPT(&promise[0])};
    unsigned which;
    CHECK_EQUAL(tn_select(arms, 3, &which, TN_FOREVER, NULL), 0);
    return arg;
}

static bool asleep(void)
{
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    nap_us(200000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    return (to.tv_sec - from.tv_sec) * 1000000000L + to.tv_nsec - from.tv_nsec < 2000000; /* 1 % */
}

static void sleep_all(void)
{
    struct party p;
    open_channels(0);
    tn_promise_init(&promise[0]);
    invite(&p, 6, 2, sleeps);
    CHECK(EVENTUALLY(waiting(&promise[0].waits) == 8));
    CHECK(asleep() || asleep() || asleep()); /* something else of the process may have had to run */
    CHECK_EQUAL(tn_promise_set(&promise[0], NULL), 0);
    all_gone(&p);
    no_one_is_left();
}

static void test_asleep(void)
{
    beside(sleep_all);
}

/* ---- what it costs ---- */

static void *quiet(void *arg)
{
    tn_cluster *cl = tn_cluster_self();
    uint64_t waits = counter(cl, "wait"), wakes = counter(cl, "wake"), yields = counter(cl, "yield"), item = 1;
    struct tn_arm arms[] = {TN_SEND(&channel[0], &item), TN_RECEIVE(&channel[0], &item),
                            TN_RECEIVE(&channel[1], &item)};
    unsigned which;
    for (unsigned i = 0; i < 1000; i++) {
        CHECK_EQUAL(tn_select(arms, 3, &which, TN_FOREVER, NULL), 0);
        CHECK_EQUAL(which, i % 2);
    }
    CHECK_EQUAL(counter(cl, "wait"), waits);
    CHECK_EQUAL(counter(cl, "wake"), wakes);
    CHECK_EQUAL(counter(cl, "yield"), yields);
    return arg;
}

static void alone(void)
{
    open_channels(1);
    party(1, 0, quiet);
}

static void test_alone(void)
{
    if (counting())
        beside(alone);
}

static const struct test tests[] = {{"all do all at once", test_mingle},
                                    {"the same channel twice", test_twice},
                                    {"closing", test_close},
                                    {"which", test_choice},
                                    {"which, by the seed", test_seed},
                                    {"limits, deadlines and tokens", test_late},
                                    {"promises", test_promises},
                                    {"a million time-outs leave nothing", test_flat},
                                    {"who waits takes no time", test_asleep},
                                    {"what can happen waits for nothing", test_alone}};
SYNC_MAIN("select", tests)
