/* SPDX-License-Identifier: MIT
 *
 * The wheel of timers (core/timer_wheel.h) against a plain array, in random operations over all its levels.
 */
#include "harness.h"

#include "timer_wheel.h"

#include <stdlib.h>

enum { TIMERS = 300, STEPS = 40000 };
static const tn_time TICK = (tn_time)1 << TN_WHEEL_TICK;

static struct tn_timer timers[TIMERS];
static bool fired[TIMERS];
static struct tn_timers wheel;

static void fire(struct tn_timer *t, void *arg)
{
    (void)arg;
    fired[t - timers] = true;
}

/* Any magnitude is as likely as any other. */
static tn_time span(uint64_t *random, unsigned bits)
{
    return harness_random(random) >> (64 - 1 - harness_random(random) % bits);
}

static void test_random(void)
{
    static tn_time model[TIMERS]; /* UINT64_MAX: not armed */
    uint64_t random = harness_seed();
    tn_time now = 0;
    bool valid = true, firsts = true, right = true, bound = true, seqs = true;
    tn_timers_init(&wheel);
    memset(timers, 0, sizeof timers);
    memset(model, 0xff, sizeof model);
    for (int step = 0; step < STEPS; step++) {
        uint64_t r = harness_random(&random);
        unsigned i = (unsigned)(r >> 32) % TIMERS;
        tn_time before = tn_timers_earliest(&wheel);
        switch (r % 8) {
        default: /* arm, now and then in the past */
            if (model[i] != UINT64_MAX)
                break;
            bool first = false;
            tn_time ahead = span(&random, 50);
            model[i] = r % 64 == 0 ? now / 2 : ahead > UINT64_MAX - 2 - now ? UINT64_MAX - 1 : now + ahead;
            right = right && tn_timers_arm(&wheel, &timers[i], model[i], (uint64_t)step, &first) == 0;
            firsts = firsts && first == (tn_timers_earliest(&wheel) < before);
            seqs = seqs && timers[i].seq == (uint64_t)step;
            break;
        case 5: /* disarm, whether armed or not */
            tn_timers_disarm(&wheel, &timers[i]);
            model[i] = UINT64_MAX;
            right = right && timers[i].at == 0;
            break;
        case 6:
        case 7: /* time goes on; it need not move */
            memset(fired, 0, sizeof fired);
            now += r % 16 == 7 ? 0 : span(&random, step % 100 == 0 ? 48 : 40);
            unsigned n = tn_timers_expire(&wheel, now, fire, NULL);
            for (int k = 0; k < TIMERS; k++) {
                /* never early; at most a tick late */
                right = right && !(fired[k] && model[k] > now);
                right = right && (fired[k] || model[k] >= now || now - model[k] < TICK);
                n -= fired[k];
                if (fired[k])
                    model[k] = UINT64_MAX;
            }
            right = right && n == 0;
        }
        tn_time least = UINT64_MAX, earliest = tn_timers_earliest(&wheel);
        for (int k = 0; k < TIMERS; k++)
            least = model[k] < least ? model[k] : least;
        bound = bound && (least == UINT64_MAX) == (earliest == UINT64_MAX);
        bound = bound && (least == UINT64_MAX || earliest <= least || earliest - least < TICK);
        if (step % 16 == 0)
            valid = valid && tn_timers_valid(&wheel);
    }
    CHECK(valid);
    CHECK(firsts);
    CHECK(right);
    CHECK(bound);
    CHECK(seqs);
    tn_timers_fini(&wheel);
}

/* A sleeper that follows `earliest` comes to every timer, with few wake-ups in vain. */
static void test_followed(void)
{
    uint64_t random = harness_seed();
    tn_timers_init(&wheel);
    memset(timers, 0, sizeof timers);
    for (int round = 0; round < 500; round++) {
        bool first = false;
        tn_time start = wheel.now << TN_WHEEL_TICK, deadline = start + 1 + span(&random, 60) / 4, at = start;
        unsigned wakes = 0;
        memset(fired, 0, sizeof fired);
        tn_timers_arm(&wheel, &timers[0], deadline, 0, &first);
        CHECK(first);
        while (!fired[0] && wakes < 100) {
            CHECK(tn_timers_earliest(&wheel) >= at);
            at = tn_timers_earliest(&wheel);
            tn_timers_expire(&wheel, at, fire, NULL);
            wakes++;
        }
        CHECK(fired[0] && at >= deadline && at - deadline < TICK);
        CHECK(wakes <= TN_WHEEL_LEVELS);
    }
}

static void test_ends(void)
{
    bool first = false;
    tn_timers_init(&wheel);
    memset(timers, 0, sizeof timers);
    memset(fired, 0, sizeof fired);
    CHECK_EQUAL(tn_timers_earliest(&wheel), UINT64_MAX);
    tn_timers_arm(&wheel, &timers[0], UINT64_MAX - 1, 0, &first);
    CHECK(first && tn_timers_earliest(&wheel) > UINT64_MAX / 2);
    tn_timers_arm(&wheel, &timers[1], 0, 0, &first);
    CHECK(first);
    CHECK_EQUAL(tn_timers_earliest(&wheel), 0);
    CHECK_EQUAL(tn_timers_expire(&wheel, 0, fire, NULL), 1);
    CHECK(fired[1] && !fired[0]);
    CHECK_EQUAL(tn_timers_expire(&wheel, UINT64_MAX / 2, fire, NULL), 0);
    CHECK_EQUAL(tn_timers_expire(&wheel, UINT64_MAX, fire, NULL), 1);
    CHECK(tn_timers_valid(&wheel));
    CHECK_EQUAL(tn_timers_earliest(&wheel), UINT64_MAX);
}

/* A million: all armed, every second one cancelled, the rest fires. */
static unsigned long count;

static void count_one(struct tn_timer *t, void *arg)
{
    (void)t, (void)arg;
    count++;
}

static void test_million(void)
{
    enum { MILLION = 1000000 };
    struct tn_timer *all = calloc(MILLION, sizeof *all);
    uint64_t random = harness_seed();
    bool first;
    if (!CHECK(all != NULL))
        return;
    tn_timers_init(&wheel);
    count = 0;
    for (int i = 0; i < MILLION; i++)
        tn_timers_arm(&wheel, &all[i], harness_random(&random) % UINT64_C(60000000000), 0, &first);
    CHECK(tn_timers_valid(&wheel));
    for (int i = 0; i < MILLION; i += 2)
        tn_timers_disarm(&wheel, &all[i]);
    CHECK(tn_timers_valid(&wheel));
    for (tn_time now = 0; now <= UINT64_C(61000000000); now += UINT64_C(10000000))
        tn_timers_expire(&wheel, now, count_one, NULL);
    CHECK_EQUAL(count, MILLION / 2);
    CHECK_EQUAL(tn_timers_earliest(&wheel), UINT64_MAX);
    free(all);
}

static void test_valid_says_no(void)
{
    bool first;
    tn_timers_init(&wheel);
    memset(timers, 0, sizeof timers);
    for (unsigned i = 0; i < 100; i++)
        tn_timers_arm(&wheel, &timers[i], (i + 1) * TICK * 7, 0, &first);
    CHECK(tn_timers_valid(&wheel));
    timers[5].deadline += 64 * TICK;
    CHECK(!tn_timers_valid(&wheel));
    timers[5].deadline -= 64 * TICK;
    timers[7].at++;
    CHECK(!tn_timers_valid(&wheel));
    timers[7].at--;
    wheel.used[3] |= 1;
    CHECK(!tn_timers_valid(&wheel));
    wheel.used[3] = 0;
    CHECK(tn_timers_valid(&wheel));
}

int main(void)
{
    static const struct test tests[] = {
        {"random operations against an array", test_random},
        {"the earliest is followed", test_followed},
        {"the ends of time", test_ends},
        {"a million timers", test_million},
        {"the check finds a broken wheel", test_valid_says_no},
    };
    return HARNESS_RUN("wheel", tests);
}
