/* SPDX-License-Identifier: MIT
 *
 * Back-pressure: what a spawn does where the module has no room, under each module that can refuse.
 */
#include "sync.h"

#include "tenter_channel.h"
#include "tenter_group.h"

#include <sys/resource.h>

static int many = 2000;
static const char *const specs[] = {
    "fifo:full=refuse:capacity=16:private=0",   "fifo:layout=global:full=refuse:capacity=16",
    "lifo:full=refuse:capacity=16:private=0",   "lifo:layout=global:full=refuse:capacity=16",
    "hybrid:full=refuse:capacity=16:private=0", "hybrid:policy=reverse:full=refuse:capacity=16:private=0",
    "sharded:full=refuse:capacity=16",          "staged:full=refuse:capacity=16"};
static _Atomic(int) ran, hold;
static int accepted, most;

enum { HOLD_YIELDS = 1, HOLD_KEEPS }; /* keeps: its worker, so that no other one begins there */

/* Once let go, and beginning in stage 0 under a module that has some. */
static void *item(void *arg)
{
    for (int how; (how = atomic_load(&hold)) != 0;)
        if (how == HOLD_KEEPS)
            nap_us(200);
        else
            tn_yield();
    CHECK_EQUAL(tn_stage(0), 0);
    atomic_fetch_add(&ran, 1);
    return arg;
}

static void *produce(void *full)
{
    struct tn_attr attr = {.full = (int)(intptr_t)full};
    for (accepted = most = 0; accepted < many;) {
        int rc = tn_spawn(NULL, &attr, item, NULL);
        accepted += rc == 0;
        int there = accepted - atomic_load(&ran);
        most = there > most ? there : most;
        if (rc == EAGAIN && attr.full == TN_FULL_REFUSE)
            break;
        CHECK_EQUAL(rc, 0);
    }
    return NULL;
}

static void *late_spawn(void *arg)
{
    struct tn_attr attr = {.full = TN_FULL_WAIT, .deadline = *(tn_time *)arg};
    int rc;
    while ((rc = tn_spawn(NULL, &attr, item, NULL)) == 0)
        accepted++;
    return TN_ERROR(rc);
}

static void one(const char *spec)
{
    struct tn_config c = with(2, spec);
    tn_fibre *f;
    void *value;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    for (intptr_t full = TN_FULL_REFUSE; full <= TN_FULL_OVERFLOW; full++) {
        atomic_store(&ran, 0);
        /* Whoever waits for room needs somebody to make it; the others are not to be helped by that, nor who is refused by
         * one that begins, which leaves room. */
        atomic_store(&hold, full == TN_FULL_WAIT ? 0 : full == TN_FULL_REFUSE ? HOLD_KEEPS : HOLD_YIELDS);
        CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, produce, (void *)full), 0);
        CHECK_EQUAL(tn_join(f, NULL), 0);
        harness_note("%s, %d: %d accepted, at most %d at once", spec, (int)full, accepted, most);
        if (full == TN_FULL_REFUSE)
            CHECK(accepted < many || migration_forced()); /* there they begin as fast as they come */
        else
            CHECK_EQUAL(accepted, many);
        if (full == TN_FULL_WAIT)
            CHECK(most < many / 4); /* eight shards of 16 at most, and those that have begun */
        atomic_store(&hold, 0);
        CHECK(EVENTUALLY(atomic_load(&ran) == accepted));
    }
    /* Too late, cancelled, and too late from the beginning. */
    for (int how = 0; how < 3; how++) {
        bool cancels = how == 1;
        tn_time until = how == 0 ? tn_now() + 3000000 : cancels ? TN_FOREVER : 1;
        atomic_store(&ran, 0), atomic_store(&hold, HOLD_YIELDS);
        accepted = 0;
        tn_group g;
        tn_group_open(&g, TN_FOREVER);
        CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt, .group = &g}, late_spawn, &until), 0);
        if (cancels)
            tn_group_cancel(&g);
        CHECK_EQUAL(tn_join(f, &value), 0);
        int rc = tn_group_close(&g);
        CHECK(rc == (int)(intptr_t)value && rc == (cancels ? ECANCELED : ETIMEDOUT));
        atomic_store(&hold, 0);
        CHECK(EVENTUALLY(atomic_load(&ran) == accepted));
    }
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt, .full = 3}, item, NULL), EINVAL);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* Does one of `specs` begin with this name? */
static bool named(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        if (strncmp(specs[i], name, length) == 0 && specs[i][length] == ':')
            return true;
    return false;
}

/* Each module of this build that can refuse is among them: what tn_describe says of its knobs. */
static void test_all_that_can(void)
{
    static char said[1 << 18];
    static const char begin[] = "{\"name\":\"", knob[] = "\"name\":\"full\"", range[] = "\"range\":\"";
    unsigned found = 0;
    CHECK(tn_describe(said, sizeof said) < sizeof said);
    char *at = strstr(said, "\"schedulers\":["), *end = strstr(said, "\"presets\":[");
    CHECK(at != NULL && end != NULL);
    for (char *summary; at != NULL && (summary = strstr(at, "\",\"summary\":")) != NULL && summary < end;) {
        char *name = summary, *next = strstr(summary + 1, "\",\"summary\":");
        while (name > said && name[-1] != '"')
            name--;
        CHECK(strncmp(name - strlen(begin), begin, strlen(begin)) == 0);
        char *full = strstr(summary, knob), *choices = full != NULL ? strstr(full, range) : NULL;
        bool can = choices != NULL && full < (next != NULL && next < end ? next : end) &&
                   strcspn(choices + strlen(range), "\"") > 0 &&
                   memmem(choices, strlen(range) + strcspn(choices + strlen(range), "\""), "refuse", 6) != NULL;
        size_t length = (size_t)(summary - name);
        found += can;
        if (!CHECK(can == named(name, length)))
            harness_note("%.*s", (int)length, name);
        at = summary + 1;
    }
    CHECK(found >= 5);
}

static void test_full(void)
{
    if (migration_forced())
        many = 600; /* ThreadSanitizer has room for few fibres */
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        if (!migration_forced() ||
            strstr(specs[i], "private=0") == NULL) /* else nothing enters a worker's own queue */
            one(specs[i]);
}

/* ---- who waits for room sleeps ---- */

static _Atomic(int) asked;

/* Without a scheduling point: nothing begins meanwhile, and no worker looks up. */
static void *hog(void *arg)
{
    atomic_store(&ran, 1);
    while (atomic_load(&hold))
        nap_us(200);
    return arg;
}

static void *spawns_outside(void *arg)
{
    struct tn_attr attr = {.runtime = rt, .full = TN_FULL_WAIT};
    struct rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    for (accepted = 0; accepted < 17; accepted++) {
        atomic_store(&asked, accepted + 1);
        CHECK_EQUAL(tn_spawn(NULL, &attr, item, NULL), 0);
    }
    getrusage(RUSAGE_THREAD, &after);
    harness_note("slept %ld times", after.ru_nvcsw - before.ru_nvcsw);
    CHECK(after.ru_nvcsw - before.ru_nvcsw < 20); /* it would be a hundred and more, did it look again and again */
    return arg;
}

static void test_sleeps(void)
{
    struct tn_config c = with(1, "fifo:layout=global:full=refuse:capacity=16");
    tn_fibre *f;
    pthread_t thread;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    atomic_store(&ran, 0), atomic_store(&asked, 0), atomic_store(&hold, HOLD_YIELDS);
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, hog, NULL), 0);
    CHECK(EVENTUALLY(atomic_load(&ran) == 1));
    CHECK_EQUAL(pthread_create(&thread, NULL, spawns_outside, NULL), 0);
    CHECK(EVENTUALLY(atomic_load(&asked) == 17));
    nap_us(50000);
    CHECK_EQUAL(atomic_load(&ran), 1);
    atomic_store(&hold, 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK(EVENTUALLY(atomic_load(&ran) == 18));
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- from a stage, through channels, to the source ---- */

enum { PLACES = 4, ITEMS = 100 };
static tn_channel into, out;
static _Atomic(int) sent, received;

static void *source(void *arg)
{
    for (int i = 0; i < ITEMS; i++) {
        CHECK_EQUAL(tn_channel_send(&into, &i), 0);
        atomic_store(&sent, i + 1);
    }
    CHECK_EQUAL(tn_channel_close(&into), 0);
    return arg;
}

static void *stage(void *arg)
{
    int i;
    while (tn_channel_receive(&into, &i) == 0)
        CHECK_EQUAL(tn_channel_send(&out, &i), 0);
    CHECK_EQUAL(tn_channel_close(&out), 0);
    return arg;
}

static void *sink(void *arg)
{
    int i;
    while (tn_channel_receive(&out, &i) == 0)
        CHECK_EQUAL(i, atomic_fetch_add(&received, 1));
    return arg;
}

/* Nobody takes anything out: what was sent is the places of both channels, and what the stage has in its hand. */
static void pipeline(void)
{
    static int rooms[2][PLACES];
    tn_fibre *f[3];
    atomic_store(&sent, 0), atomic_store(&received, 0);
    CHECK_EQUAL(tn_channel_init(&into, rooms[0], sizeof(int), PLACES), 0);
    CHECK_EQUAL(tn_channel_init(&out, rooms[1], sizeof(int), PLACES), 0);
    CHECK_EQUAL(tn_spawn(&f[0], &(struct tn_attr){.runtime = rt}, source, NULL), 0);
    CHECK_EQUAL(tn_spawn(&f[1], &(struct tn_attr){.runtime = rt}, stage, NULL), 0);
    CHECK(EVENTUALLY(atomic_load(&sent) == 2 * PLACES + 1));
    nap_us(3000);
    CHECK_EQUAL(atomic_load(&sent), 2 * PLACES + 1);
    CHECK_EQUAL(tn_spawn(&f[2], &(struct tn_attr){.runtime = rt}, sink, NULL), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    CHECK_EQUAL(atomic_load(&received), ITEMS);
}

static void test_pipeline(void)
{
    beside(pipeline);
}

static const struct test tests[] = {{"each module that can refuse is here", test_all_that_can},
                                    {"refuse, wait, overflow", test_full},
                                    {"who waits for room sleeps", test_sleeps},
                                    {"a stage that stops stops the source", test_pipeline}};

SYNC_MAIN("pressure", tests)
