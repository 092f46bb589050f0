/* SPDX-License-Identifier: MIT */
/*
 * Timers against wake-ups, on the structure of timers (core/timer.h or timer_wheel.h) that the case includes: a fibre
 * waits with a deadline, a worker looks at the clock, which has come to it, and somebody wakes the fibre. Exactly one of the
 * two decides, the fibre goes on once, and its timer, which lies on its stack, is no more touched once it goes on.
 *
 * The fibre does what wait_registered() in core/wait.c does, the worker what look_up() and fire_timer() in core/worker.c do.
 */
#ifndef TIMER_CASE_H
#define TIMER_CASE_H

#include "protocol-case.h"

#include "waitword.h"

enum { DEADLINE = 1 << 20 };
static struct tn_timers timers;
static tn_waitword word;
static struct tn_timer timer;
static _Atomic(uint32_t) ready; /* what the fibre's thread sleeps on while the fibre is parked */
static int resumed, fired;      /* by who owns the fibre; by the worker */
static bool woke;               /* the waker's */
static unsigned outcome;
static uint64_t seq;

static void prepare(void)
{
    tn_timers_init(&timers);
    memset(&timer, 0, sizeof(timer));
    atomic_init(&word, 0);
    atomic_init(&ready, 0);
    atomic_init(&case_clock, DEADLINE + (1 << 20));
    resumed = fired = 0;
    woke = false;
    seq = tn_waitword_prepare(&word);
    bool first = false;
    int rc = tn_timers_arm(&timers, &timer, DEADLINE, seq, &first);
    assert(rc == 0 && first);
}

static void make_ready(void)
{
    assert(++resumed == 1); /* else it is resumed twice */
    atomic_store_explicit(&ready, 1, memory_order_release);
    tn_unpark(&ready, 1);
}

static void *fibre(void *random)
{
    case_start(random);
    if (!tn_waitword_park(&word))
        make_ready(); /* decided before */
    while (atomic_load_explicit(&ready, memory_order_acquire) == 0)
        tn_park(&ready, 0, CASE_FOREVER);
    tn_timers_disarm(&timers, &timer);
    outcome = tn_waitword_outcome(&word);
    memset(&timer, 0xa5, sizeof(timer)); /* the fibre goes on: its stack is used for something else */
    return case_end();
}

static void fire(struct tn_timer *t, void *arg)
{
    bool *mine = arg;
    fired++;
    *mine = tn_waitword_decide(&word, t->seq, WAIT_TIMED_OUT) == TN_DECIDED_PARKED;
}

static void *worker(void *random)
{
    case_start(random);
    bool mine = false;
    if (tn_timers_earliest(&timers) <= tn_now())
        tn_timers_expire(&timers, tn_now(), fire, &mine);
    if (mine)
        make_ready(); /* outside the lock */
    return case_end();
}

static void *waker(void *random)
{
    case_start(random);
    enum tn_decision d = tn_waitword_decide(&word, seq, WAIT_WOKEN);
    woke = d != TN_TOO_LATE;
    if (d == TN_DECIDED_PARKED)
        make_ready();
    return case_end();
}

static void check(void)
{
    assert(outcome == (woke ? WAIT_WOKEN : WAIT_TIMED_OUT));
    assert(fired <= 1 && (woke || fired == 1));
    assert(tn_timers_earliest(&timers) == UINT64_MAX && tn_timers_valid(&timers));
    tn_timers_fini(&timers);
}

#endif
