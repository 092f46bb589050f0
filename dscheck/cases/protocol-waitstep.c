/* SPDX-License-Identifier: MIT */
/*
 * waitstep: a fibre switches to its worker's own stack, where a step publishes it; two wakers look for it there, as soon
 * as it is published, and one of them looks for a wait that is long over.
 *
 * The step does what commit_publish() in core/suspend.c does: what it needs it has copied before it publishes, since the
 * fibre may run, and its frame be gone, from then on.
 */
#include "protocol-case.h"

#include "waitstep.h"

enum { WAKERS = 2 };
static tn_waitword word;
static uint64_t stale;
static _Atomic(uint64_t) published; /* seq; 0: nothing yet */

/* Plain, so that a tool that watches single accesses sees whether P0 orders them. */
static bool on_stack;
static int context; /* what the switch saved */
static int frame;   /* on the fibre's stack: 1 while the wait lasts */
static int resumed, wins[WAKERS];

static void prepare(void)
{
    atomic_init(&word, 0);
    stale = tn_waitword_prepare(&word); /* a wait that nobody waited for */
    atomic_init(&published, 0);
    on_stack = true;
    context = resumed = 0;
    frame = 1;
    memset(wins, 0, sizeof(wins));
}

/* The fibre goes on, on whatever thread woke it. */
static void make_ready(void)
{
    assert(!on_stack && context == 1);
    assert(resumed == 0); /* else made ready twice */
    resumed++;
    assert(tn_waitword_outcome(&word) == WAIT_WOKEN);
    frame = 0;
}

static void *worker(void *random)
{
    case_start(random);
    context = 1;
    on_stack = false; /* the switch to the worker's own stack; the step: */
    assert(frame == 1);
    uint64_t seq = tn_waitstep_open(&word);
    atomic_store_explicit(&published, seq, memory_order_release);
    return case_end();
}

static void wake(int who, uint64_t seq)
{
    enum tn_decision d = tn_waitword_decide(&word, seq, WAIT_WOKEN);
    assert(d != TN_DECIDED); /* no ARMED state is ever seen of the new wait */
    if (d == TN_DECIDED_PARKED) {
        wins[who]++;
        make_ready();
    }
}

static uint64_t find(void)
{
    unsigned spins = 0;
    uint64_t seq;
    while ((seq = atomic_load_explicit(&published, memory_order_acquire)) == 0)
        tn_spin_wait(&spins);
    return seq;
}

static void *waker0(void *random)
{
    case_start(random);
    wake(0, find());
    return case_end();
}
static void *waker1(void *random)
{
    case_start(random);
    uint64_t seq = find();
    assert(tn_waitword_decide(&word, stale, WAIT_WOKEN) == TN_TOO_LATE);
    wake(1, seq);
    return case_end();
}

static void check(void)
{
    assert(wins[0] + wins[1] == 1);
    assert(resumed == 1); /* else lost */
}

CASE_MAIN(prepare, check, worker, waker0, waker1)
