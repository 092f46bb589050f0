/* SPDX-License-Identifier: MIT
 *
 * Whom a worker of pushing robs, and of what: the longest busy first (000 §3.2.2), itself, for the background, last. No
 * cluster runs here: the module's own functions are called as they are, with a list of busy workers of this file's.
 */
#include "harness.h"

#include <stdatomic.h>

#define tn_busy_after busy_after /* in place of the core's */
#include "scheduler.h"
#undef TN_SCHEDULER
#define TN_SCHEDULER(id) static const struct tn_scheduler copy
#include "pushing/pushing.c"

enum { MOST = 6 };
static struct tn_worker workers[MOST], *slots[MOST];
static struct pushing_worker own[MOST];
static struct pushing_cluster all;
static struct tn_cluster cluster;
static int64_t values[TN_KNOBS_MAX];
static uint64_t counts[TN_MODULE_COUNTERS_MAX];
static uint32_t busy[MOST], n_busy; /* the longest busy first */

struct tn_worker *busy_after(struct tn_cluster *cl, struct tn_worker *w)
{
    uint32_t at = 0;
    CHECK(cl == &cluster);
    for (uint32_t i = 0; i < n_busy && w != NULL; i++)
        at = busy[i] == w->index ? i + 1 : at;
    return at < n_busy ? &workers[busy[at]] : NULL;
}

static void set_up(int64_t steal)
{
    for (size_t i = 0; i < copy.n_knobs; i++)
        values[i] = copy.knobs[i].initial;
    values[TN_KNOB_NAME_(TN_KNOB_OWNER, steal)] = steal;
    cluster.workers = slots;
    cluster.slots = MOST;
    cluster.knobs = values;
    cluster.sched = &all;
    atomic_store(&cluster.used, MOST);
    CHECK_EQUAL(copy.cluster_init(&cluster), 0);
    for (uint32_t i = 0; i < MOST; i++) {
        workers[i] = (struct tn_worker){
            .index = i, .cluster = &cluster, .sched = &own[i], .counts = counts, .random = harness_seed() + i};
        slots[i] = &workers[i];
        CHECK_EQUAL(copy.worker_init(&workers[i]), 0);
        copy.worker_join(&workers[i]);
    }
}

static void tear_down(void)
{
    for (uint32_t i = 0; i < MOST; i++)
        copy.worker_fini(&workers[i]);
    copy.cluster_fini(&cluster);
}

/* However many are busy, and whoever asks. */
static void test_order(void)
{
    static const uint32_t order[MOST] = {4, 1, 5, 0, 2, 3};
    set_up(STEAL_ONE);
    for (n_busy = 0; n_busy <= MOST; n_busy++) {
        for (uint32_t i = 0; i < n_busy; i++)
            busy[i] = order[i];
        for (uint32_t me = 0; me < MOST; me++) {
            unsigned seen[MOST] = {0}, attempt = 0;
            uint32_t last = MOST;
            for (uint32_t i = 0; i < n_busy; i++)
                if (busy[i] != me)
                    CHECK_EQUAL(copy.victim(&workers[me], attempt++)->index, busy[i]);
            struct tn_worker *w;
            while ((w = copy.victim(&workers[me], attempt)) != NULL && CHECK(attempt < 3 * MOST)) {
                last = w->index;
                seen[last]++;
                attempt++;
            }
            for (uint32_t i = 0; i < MOST; i++) /* all others once more, or for the first time, and then oneself */
                CHECK_EQUAL(seen[i], 1);
            CHECK_EQUAL(last, me);
            CHECK(copy.victim(&workers[me], attempt) == NULL);
        }
    }
    tear_down();
}

/* From any, or only from one that has reached no scheduling point, or has left. */
static void test_steal(void)
{
    static struct tn_fibre f;
    f.cluster = &cluster;
    for (int64_t steal = STEAL_ONE; steal <= STEAL_STUCK; steal++) {
        set_up(steal);
        for (int round = 0; round < 20; round++) {
            tn_stuck_turn(&own[0].stuck);
            push(&workers[0], &workers[0], &f);
            unsigned n = copy.steal(&workers[1], &workers[0]);
            CHECK_EQUAL(n, steal == STEAL_ONE);
            CHECK(pop(&workers[1], &workers[n], false) == &f); /* it lies with who has it now */
            CHECK_EQUAL(copy.steal(&workers[1], &workers[0]), 0);
        }
        tn_stuck_turn(&own[0].stuck);
        push(&workers[0], &workers[0], &f);
        CHECK_EQUAL(copy.steal(&workers[2], &workers[0]),
                    steal == STEAL_ONE); /* a first look only begins to measure */
        nap_us(STUCK_NS / 1000 + 1);
        CHECK_EQUAL(copy.steal(&workers[1], &workers[0]), steal == STEAL_STUCK);
        tear_down();
        set_up(steal);
        copy.worker_leave(&workers[0]);
        tn_stuck_turn(&own[0].stuck);
        push(&workers[0], &workers[0], &f);
        CHECK_EQUAL(copy.steal(&workers[1], &workers[0]), 1);
        tear_down();
    }
}

int main(void)
{
    static const struct test tests[] = {
        {"the longest busy first, then all others, then oneself", test_order},
        {"steal: from any, or from who is stuck", test_steal},
    };
    return HARNESS_RUN("pushing_victims", tests);
}
