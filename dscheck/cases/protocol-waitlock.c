/* SPDX-License-Identifier: MIT */
/*
 * waitlock: a fibre that suspends under its spin lock, which whoever runs next on its worker releases, while a waker and
 * a timer decide its wait. Each decider tries once more, when the fibre may be in its next wait.
 *
 * The worker does what suspend_for() in core/suspend.c and after_any() in core/switch.c do.
 */
#include "protocol-case.h"

#include "waitlock.h"

enum { DECIDERS = 2 };
static struct tn_spinlock lock;
static tn_waitword word;
static uint64_t first, second; /* the two waits */

/* Plain, so that a tool that watches single accesses sees whether the lock orders them. */
static bool on_stack;
static int context, told[DECIDERS], resumed, wins[DECIDERS];
static unsigned outcome;

static void prepare(void)
{
    tn_spinlock_init(&lock);
    atomic_init(&word, 0);
    on_stack = true;
    context = resumed = 0;
    outcome = WAIT_ARMED;
    second = 0;
    memset(told, 0, sizeof(told));
    memset(wins, 0, sizeof(wins));
    first = tn_waitlock_prepare(&lock, &word); /* and has told the two */
}

static void run_fibre(void)
{
    assert(resumed == 0); /* else made ready twice */
    resumed++;
    outcome = tn_waitword_outcome(&word);
    assert(outcome == WAIT_WOKEN || outcome == WAIT_TIMED_OUT);
    assert(told[outcome - WAIT_WOKEN] == 1);
    second = tn_waitlock_prepare(&lock, &word);
    assert(second == first + 1);
}

static void make_ready(void)
{
    assert(!on_stack && context == 1);
    run_fibre();
}

static void *worker(void *random)
{
    case_start(random);
    tn_spinlock_lock(&lock);
    bool waits = tn_waitlock_park(&word);
    if (!waits)
        tn_spinlock_unlock(&lock);
    case_pause();
    context = 1;
    on_stack = false; /* the switch; the next fibre, first of all: */
    if (waits)
        tn_spinlock_unlock(&lock);
    else
        make_ready();
    return case_end();
}

static void decide(int who)
{
    told[who] = 1;
    enum tn_decision d = tn_waitlock_decide(&lock, &word, first, WAIT_WOKEN + (unsigned)who);
    wins[who] = d != TN_TOO_LATE;
    if (d == TN_DECIDED_PARKED)
        make_ready();
    assert(tn_waitlock_decide(&lock, &word, first, WAIT_WOKEN + (unsigned)who) == TN_TOO_LATE);
}

static void *waker(void *random)
{
    case_start(random);
    decide(0);
    return case_end();
}
static void *timer(void *random)
{
    case_start(random);
    decide(1);
    return case_end();
}

static void check(void)
{
    assert(wins[0] + wins[1] == 1);
    assert(resumed == 1); /* else lost */
    assert(wins[outcome - WAIT_WOKEN] == 1);
    assert(tn_waitword_outcome(&word) == WAIT_ARMED); /* the second wait is as it was left */
    assert(tn_waitlock_decide(&lock, &word, second, WAIT_WOKEN) == TN_DECIDED);
    assert(tn_spinlock_try_lock(&lock)); /* released as often as taken */
}

CASE_MAIN(prepare, check, worker, waker, timer)
