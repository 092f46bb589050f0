/* SPDX-License-Identifier: MIT
 *
 * Channels: each item is had once, in order; closing; deadlines against sends. The choices of tn_select are test_select.c's.
 */
#include "sync.h"

#include "tenter_channel.h"

#include <stdlib.h>

static tn_channel channel;
static uint64_t room[8];
static unsigned capacity;
static int rounds;

static void open_channel(unsigned places)
{
    capacity = places;
    CHECK_EQUAL(tn_channel_init(&channel, places > 0 ? room : NULL, sizeof(room[0]), places), 0);
}

/* ---- items ---- */

enum { SENDERS = 4, RECEIVERS = 4 };
static _Atomic(uint64_t) sum, items;
static _Atomic(int) senders;

/* The item says who has sent it, and which of his it is. */
static void *sends(void *number)
{
    uint64_t random = harness_seed() + (uintptr_t)number;
    for (uint64_t i = 1; i <= (uint64_t)rounds; i++) {
        uint64_t item = (uintptr_t)number << 32 | i;
        int rc = harness_random(&random) % 4 == 0 ? tn_channel_trysend(&channel, &item) : EAGAIN;
        CHECK_EQUAL(rc == EAGAIN ? tn_channel_send(&channel, &item) : rc, 0);
    }
    if (atomic_fetch_sub(&senders, 1) == 1)
        CHECK_EQUAL(tn_channel_close(&channel), 0);
    return NULL;
}

static void *receives(void *number)
{
    uint64_t last[SENDERS + RECEIVERS] = {0}, item, random = harness_seed() - (uintptr_t)number;
    for (int rc;;) {
        rc = harness_random(&random) % 4 == 0 ? tn_channel_tryreceive(&channel, &item) : EAGAIN;
        if (rc == EAGAIN)
            rc = tn_channel_receive(&channel, &item);
        if (rc != 0) {
            CHECK_EQUAL(rc, EPIPE);
            return NULL;
        }
        CHECK(item % (UINT64_C(1) << 32) > last[item >> 32]); /* of one sender in order */
        last[item >> 32] = item % (UINT64_C(1) << 32);
        atomic_fetch_add(&sum, item % (UINT64_C(1) << 32));
        atomic_fetch_add(&items, 1);
    }
}

static void *either(void *number)
{
    return (uintptr_t)number % 2 == 0 ? sends(number) : receives(number);
}

static void all_items(void)
{
    static const unsigned places[] = {0, 1, 7};
    rounds = stress ? 20000 : 300;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t n = (uint64_t)rounds;
        open_channel(places[i]);
        atomic_store(&sum, 0);
        atomic_store(&items, 0);
        atomic_store(&senders, SENDERS);
        party(SENDERS + RECEIVERS - 2, 2, either); /* a thread each */
        CHECK_EQUAL(atomic_load(&items), SENDERS * n);
        CHECK_EQUAL(atomic_load(&sum), SENDERS * n * (n + 1) / 2);
        CHECK_EQUAL(tn_channel_destroy(&channel), 0);
    }
}

static void test_items(void)
{
    beside(all_items);
}

/* ---- limits ---- */

static void test_limits(void)
{
    struct large {
        char text[100];
    } in = {"a"}, out = {""}, places[3];
    static tn_channel plain = TN_CHANNEL_INIT(room, sizeof(room[0]), 2);
    uint64_t item = 1;
    CHECK_EQUAL(sizeof(tn_channel), 48);
    CHECK_EQUAL(tn_channel_tryreceive(&plain, &item), EAGAIN);
    for (item = 1; item <= 2; item++)
        CHECK_EQUAL(tn_channel_trysend(&plain, &item), 0);
    CHECK_EQUAL(tn_channel_trysend(&plain, &item), EAGAIN);
    CHECK_EQUAL(tn_channel_receive(&plain, &item), 0);
    CHECK_EQUAL(item, 1);
    CHECK_EQUAL(tn_channel_init(&channel, NULL, 8, 1), EINVAL);
    CHECK_EQUAL(tn_channel_init(&channel, room, (size_t)INT32_MAX + 1, 1), EINVAL);
    CHECK_EQUAL(tn_channel_init(&channel, room, 8, (size_t)INT32_MAX + 1), EINVAL);
    CHECK_EQUAL(tn_channel_init(&channel, NULL, 0, 2), 0); /* nothing but how many */
    CHECK_EQUAL(tn_channel_trysend(&channel, NULL), 0);
    CHECK_EQUAL(tn_channel_trysend(&channel, NULL), 0);
    CHECK_EQUAL(tn_channel_trysend(&channel, NULL), EAGAIN);
    CHECK_EQUAL(tn_channel_tryreceive(&channel, NULL), 0);
    CHECK_EQUAL(tn_channel_init(&channel, places, sizeof(places[0]), 3), 0);
    for (int i = 0; i < 10; i++) { /* around its end */
        in.text[99] = (char)i;
        CHECK_EQUAL(tn_channel_send(&channel, &in), 0);
        CHECK_EQUAL(tn_channel_send(&channel, &out), 0);
        CHECK_EQUAL(tn_channel_receive(&channel, &out), 0);
        CHECK(out.text[0] == 'a' && out.text[99] == i);
        CHECK_EQUAL(tn_channel_receive(&channel, &out), 0);
    }
    open_channel(0);
    CHECK_EQUAL(tn_channel_trysend(&channel, &item), EAGAIN);
    CHECK_EQUAL(tn_channel_tryreceive(&channel, &item), EAGAIN);
}

/* ---- closing ---- */

static _Atomic(int) refused;

static void *waits_to_receive(void *arg)
{
    uint64_t item = 7;
    CHECK_EQUAL(tn_channel_receive(&channel, &item), EPIPE);
    CHECK_EQUAL(item, 7); /* untouched */
    atomic_fetch_add(&refused, 1);
    return arg;
}

static void *waits_to_send(void *arg)
{
    uint64_t item = 7;
    CHECK_EQUAL(tn_channel_send(&channel, &item), EPIPE);
    atomic_fetch_add(&refused, 1);
    return arg;
}

static void closes(void)
{
    struct party p;
    uint64_t item = 0;
    for (unsigned places = 0; places <= 2; places += 2) {
        open_channel(places);
        atomic_store(&refused, 0);
        invite(&p, 3, 1, waits_to_receive);
        CHECK(EVENTUALLY(waiting(&channel.waits) == 4));
        CHECK_EQUAL(tn_channel_destroy(&channel), EBUSY);
        CHECK_EQUAL(tn_channel_close(&channel), 0);
        all_gone(&p);
        CHECK_EQUAL(atomic_load(&refused), 4);
        CHECK_EQUAL(tn_channel_close(&channel), EALREADY);
        CHECK_EQUAL(tn_channel_send(&channel, &item), EPIPE);
        CHECK_EQUAL(tn_channel_trysend(&channel, &item), EPIPE);
        CHECK_EQUAL(tn_channel_tryreceive(&channel, &item), EPIPE);

        open_channel(places);
        for (item = 1; item <= places; item++)
            CHECK_EQUAL(tn_channel_send(&channel, &item), 0);
        invite(&p, 1, 1, waits_to_send);
        CHECK(EVENTUALLY(tn_channel_destroy(&channel) == EBUSY));
        CHECK_EQUAL(tn_channel_close(&channel), 0);
        all_gone(&p);
        for (uint64_t i = 1; i <= places; i++) { /* what was on the way still comes, and no more */
            CHECK_EQUAL(tn_channel_receive(&channel, &item), 0);
            CHECK_EQUAL(item, i);
        }
        CHECK_EQUAL(tn_channel_receive(&channel, &item), EPIPE);
        CHECK_EQUAL(tn_channel_destroy(&channel), 0);
    }
}

static void test_close(void)
{
    beside(closes);
}

/* ---- deadlines ---- */

static int receive_late(tn_time deadline, tn_token *token)
{
    uint64_t item;
    return tn_channel_receive_until(&channel, &item, deadline, token);
}

static int send_late(tn_time deadline, tn_token *token)
{
    uint64_t item = 1;
    return tn_channel_send_until(&channel, &item, deadline, token);
}

static void lates(void)
{
    open_channel(0);
    too_late(receive_late);
    too_late(send_late);
    CHECK_EQUAL(tn_channel_destroy(&channel), 0); /* nobody is left in its rings */
    open_channel(1);
    too_late(receive_late);
    CHECK_EQUAL(send_late(0, NULL), 0);
    too_late(send_late);
    CHECK_EQUAL(receive_late(0, NULL), 0);
    CHECK_EQUAL(tn_channel_destroy(&channel), 0);
}

static void test_late(void)
{
    beside(lates);
}

/* Deadlines about as long as a turn, on both sides: what was sent was received or is on the way. */
static _Atomic(uint64_t) sent, received;

static void *hurries(void *number)
{
    uint64_t random = harness_seed() + (uintptr_t)number, item;
    for (int i = 0; i < rounds; i++) {
        tn_time deadline = tn_now() + harness_random(&random) % 40000;
        int rc;
        if ((uintptr_t)number % 2 == 0) {
            item = harness_random(&random) % 1000;
            rc = tn_channel_send_until(&channel, &item, deadline, NULL);
            if (rc == 0)
                atomic_fetch_add(&sent, 1000000 + item);
        } else {
            rc = tn_channel_receive_until(&channel, &item, deadline, NULL);
            if (rc == 0)
                atomic_fetch_add(&received, 1000000 + item);
        }
        CHECK(rc == 0 || rc == ETIMEDOUT);
        if (rc == 0 && i % 8 == 0)
            tn_yield();
    }
    return NULL;
}

static void hurry(void)
{
    rounds = stress ? 20000 : 500;
    for (unsigned places = 0; places <= 2; places++) {
        uint64_t item;
        open_channel(places);
        atomic_store(&sent, 0);
        atomic_store(&received, 0);
        party(6, 2, hurries);
        while (tn_channel_tryreceive(&channel, &item) == 0)
            atomic_fetch_add(&received, 1000000 + item);
        CHECK_EQUAL(atomic_load(&sent), atomic_load(&received));
        CHECK_EQUAL(tn_channel_destroy(&channel), 0);
    }
}

static void test_hurry(void)
{
    beside(hurry);
}

/* ---- who has it frees it: a chain of rendezvous, each on the heap ---- */

static void *passes_on(void *arg)
{
    tn_channel **ends = arg, *from = ends[0], *to = ends[1];
    uint64_t n = 0;
    free(ends); /* behind the last send the runtime may stop */
    CHECK_EQUAL(tn_channel_receive(from, &n), 0);
    CHECK_EQUAL(tn_channel_destroy(from), 0);
    free(from);
    n++;
    CHECK_EQUAL(tn_channel_send(to, &n), 0);
    return NULL;
}

static void chained(void)
{
    enum { LINKS = 32 };
    for (int round = 0; round < (stress ? 2000 : 20); round++) {
        tn_channel *first = calloc(1, sizeof(*first)), *last = first;
        uint64_t n = 0;
        CHECK_EQUAL(tn_channel_init(first, NULL, sizeof(n), 0), 0);
        for (int i = 0; i < LINKS; i++) {
            tn_channel *next = calloc(1, sizeof(*next)), **ends = calloc(2, sizeof(*ends));
            CHECK(next != NULL && ends != NULL);
            CHECK_EQUAL(tn_channel_init(next, NULL, sizeof(n), 0), 0);
            ends[0] = last;
            ends[1] = last = next;
            CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.runtime = rt, .detached = true}, passes_on, ends), 0);
        }
        CHECK_EQUAL(tn_channel_send(first, &n), 0);
        CHECK_EQUAL(tn_channel_receive(last, &n), 0);
        CHECK_EQUAL(n, LINKS);
        free(last);
    }
}

static void test_chain(void)
{
    beside(chained);
}

/* ---- what it costs ---- */

static void *quiet(void *arg)
{
    tn_cluster *cl = tn_cluster_self();
    uint64_t waits = counter(cl, "wait"), wakes = counter(cl, "wake"), yields = counter(cl, "yield"), item = 1;
    for (int i = 0; i < 1000; i++) {
        CHECK_EQUAL(tn_channel_send(&channel, &item), 0);
        CHECK_EQUAL(tn_channel_receive(&channel, &item), 0);
    }
    CHECK_EQUAL(counter(cl, "wait"), waits);
    CHECK_EQUAL(counter(cl, "wake"), wakes);
    CHECK_EQUAL(counter(cl, "yield"), yields);
    return arg;
}

static void alone(void)
{
    open_channel(1);
    party(1, 0, quiet);
}

static void test_alone(void)
{
    if (counting())
        beside(alone);
}

static const struct test tests[] = {{"each item is had once, in order", test_items},
                                    {"limits", test_limits},
                                    {"closing", test_close},
                                    {"deadlines and tokens", test_late},
                                    {"deadlines on both sides", test_hurry},
                                    {"who has it frees it", test_chain},
                                    {"alone it waits for nothing", test_alone}};
SYNC_MAIN("channel", tests)
