/* SPDX-License-Identifier: MIT
 *
 * The heap of timers (core/timer.h) against a plain array, in random operations.
 */
#include "harness.h"

#include "timer.h"

enum { TIMERS = 300, STEPS = 60000, LATEST = 5000 };

static struct tn_timer timers[TIMERS];
static bool fired[TIMERS];
static tn_time last_fired;
static bool in_order;

static void fire(struct tn_timer *t, void *arg)
{
    (void)arg;
    in_order = in_order && t->deadline >= last_fired;
    last_fired = t->deadline;
    fired[t - timers] = true;
}

static tn_time least(const tn_time *model)
{
    tn_time earliest = UINT64_MAX;
    for (int i = 0; i < TIMERS; i++)
        earliest = model[i] < earliest ? model[i] : earliest;
    return earliest;
}

static void test_random(void)
{
    static struct tn_timers heap;
    static tn_time model[TIMERS]; /* UINT64_MAX: not armed */
    uint64_t random = harness_seed();
    tn_timers_init(&heap);
    memset(timers, 0, sizeof timers);
    for (int i = 0; i < TIMERS; i++)
        model[i] = UINT64_MAX;
    in_order = true;
    bool valid = true, firsts = true, right = true, earliest = true, seqs = true;
    for (int step = 0; step < STEPS; step++) {
        uint64_t r = harness_random(&random);
        unsigned i = (unsigned)(r >> 32) % TIMERS;
        switch (r % 8) {
        default: /* arm */
            if (model[i] != UINT64_MAX)
                break;
            tn_time before = least(model);
            bool first = false;
            model[i] = harness_random(&random) % LATEST;
            right = right && tn_timers_arm(&heap, &timers[i], model[i], (uint64_t)step, &first) == 0;
            firsts = firsts && first == (model[i] < before);
            seqs = seqs && timers[i].seq == (uint64_t)step;
            break;
        case 5:
        case 6: /* disarm, whether armed or not */
            tn_timers_disarm(&heap, &timers[i]);
            model[i] = UINT64_MAX;
            right = right && timers[i].at == 0;
            break;
        case 7: /* expire */
            memset(fired, 0, sizeof fired);
            last_fired = 0;
            tn_time now = harness_random(&random) % LATEST / (1 + (unsigned)step % 40);
            unsigned n = tn_timers_expire(&heap, now, fire, NULL);
            for (int k = 0; k < TIMERS; k++) {
                bool due = model[k] <= now;
                right = right && due == fired[k];
                n -= fired[k];
                if (due)
                    model[k] = UINT64_MAX;
            }
            right = right && n == 0;
        }
        earliest = earliest && tn_timers_earliest(&heap) == least(model);
        if (step % 16 == 0)
            valid = valid && tn_timers_valid(&heap);
    }
    CHECK(valid);
    CHECK(firsts);
    CHECK(right);
    CHECK(earliest);
    CHECK(seqs);
    CHECK(in_order);
    tn_timers_fini(&heap);
}

static void test_valid_says_no(void)
{
    static struct tn_timers heap;
    bool first;
    tn_timers_init(&heap);
    CHECK_EQUAL(tn_timers_earliest(&heap), UINT64_MAX);
    for (unsigned i = 0; i < 100; i++)
        tn_timers_arm(&heap, &timers[i], 100 - i, 0, &first);
    CHECK(tn_timers_valid(&heap));
    tn_time kept = heap.heap[60]->deadline;
    heap.heap[60]->deadline = 0;
    CHECK(!tn_timers_valid(&heap));
    heap.heap[60]->deadline = kept;
    heap.heap[7]->at++;
    CHECK(!tn_timers_valid(&heap));
    heap.heap[7]->at--;
    CHECK(tn_timers_valid(&heap));
    tn_timers_fini(&heap);
}

int main(void)
{
    static const struct test tests[] = {
        {"random operations against an array", test_random},
        {"the check finds a broken heap", test_valid_says_no},
    };
    return HARNESS_RUN("timer", tests);
}
