/* SPDX-License-Identifier: MIT
 *
 * The orders in which a thief tries its victims (schedulers/parts/victims.h), and the owner-biased lock's
 * bookkeeping without threads.
 */
#include "harness.h"

#include "parts/biased.h"
#include "parts/victims.h"

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
        {"the biased lock", test_biased},
    };
    return HARNESS_RUN("victims", tests);
}
