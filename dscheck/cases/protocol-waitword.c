/* SPDX-License-Identifier: MIT */
/*
 * waitword: a fibre that leaves its stack and parks, while a waker, a timer and a canceller decide its wait.
 *
 * Exactly one of them succeeds; the fibre is made ready exactly once, with that outcome, and not before it has left its
 * stack.  Each decider then tries once more, as one that comes too late: the fibre may be in its next wait by then,
 * and that one must not be touched.
 */
#include "protocol-case.h"

#include "waitword.h"

enum { DECIDERS = 3 };
static tn_waitword word;
static uint64_t first, second; /* the two waits */

/* Plain, so that a tool that watches single accesses sees whether P0 and D0 order them. */
static bool on_stack;
static int context;        /* what the switch saved */
static int told[DECIDERS]; /* what each decider did before it decided */
static int resumed, wins[DECIDERS];
static unsigned outcome;

static void prepare(void)
{
    atomic_init(&word, 0);
    on_stack = true;
    context = resumed = 0;
    outcome = WAIT_ARMED;
    second = 0;
    memset(told, 0, sizeof(told));
    memset(wins, 0, sizeof(wins));
    first = tn_waitword_prepare(&word); /* and has told the three */
}

/* The fibre goes on, on whatever thread made it ready: it looks at the outcome, and begins its next wait. */
static void run_fibre(void)
{
    outcome = tn_waitword_outcome(&word);
    assert(outcome >= WAIT_WOKEN && outcome <= WAIT_CANCELLED);
    assert(told[outcome - WAIT_WOKEN] == 1);
    second = tn_waitword_prepare(&word);
    assert(second == first + 1);
    bool parked = tn_waitword_park(&word);
    assert(parked); /* nobody decides this wait before check() does */
}

static void make_ready(void)
{
    assert(!on_stack && context == 1);
    assert(resumed == 0); /* else made ready twice */
    resumed++;
    run_fibre();
}

static void *worker(void *random)
{
    case_start(random);
    if (tn_waitword_outcome(&word) == WAIT_ARMED) {
        context = 1;
        on_stack = false; /* the switch */
        if (!tn_waitword_park(&word))
            make_ready();
    } else { /* decided in time: it need not leave its stack */
        resumed++;
        run_fibre();
    }
    return case_end();
}

static void decide(int who)
{
    told[who] = 1;
    enum tn_decision d = tn_waitword_decide(&word, first, WAIT_WOKEN + (unsigned)who);
    wins[who] = d != TN_TOO_LATE;
    if (d == TN_DECIDED_PARKED)
        make_ready();
    assert(tn_waitword_decide(&word, first, WAIT_WOKEN + (unsigned)who) == TN_TOO_LATE);
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
static void *canceller(void *random)
{
    case_start(random);
    decide(2);
    return case_end();
}

static void check(void)
{
    assert(wins[0] + wins[1] + wins[2] == 1);
    assert(resumed == 1); /* else lost */
    assert(wins[outcome - WAIT_WOKEN] == 1);
    assert(tn_waitword_outcome(&word) == WAIT_PARKED); /* the second wait is as it was left */
    assert(tn_waitword_decide(&word, second, WAIT_WOKEN) == TN_DECIDED_PARKED);
}

CASE_MAIN(prepare, check, worker, waker, timer, canceller)
