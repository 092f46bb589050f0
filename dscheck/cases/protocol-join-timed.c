/* SPDX-License-Identifier: MIT */
/*
 * join: a child ends while a fibre joins it with a deadline that passes.  The joiner sees the value and releases the
 * child, or gives up, detaches it, and waits for something else: a wait in which the child's end must not meddle.
 */
#include "join-case.h"

static uint64_t seq, later;
static bool gave_up;

static void prepare(void)
{
    prepare_join();
    gave_up = false;
    later = 0;
    seq = tn_waitword_prepare(&joiner.wait);
}

static void *end(void *random)
{
    case_start(random);
    end_child();
    return case_end();
}

static void *timer(void *random)
{
    case_start(random);
    if (tn_waitword_decide(&joiner.wait, seq, WAIT_TIMED_OUT) == TN_DECIDED_PARKED)
        make_ready(&joiner);
    return case_end();
}

/* tn_wait */
static unsigned wait(void)
{
    if (tn_waitword_outcome(&joiner.wait) == WAIT_ARMED) {
        joiner.context = 1;
        if (!tn_waitword_park(&joiner.wait))
            make_ready(&joiner);
        switch_away(&joiner);
    }
    return tn_waitword_outcome(&joiner.wait);
}

static bool join_timed(void)
{
    uintptr_t found = TN_JOIN_OPEN, mine = (uintptr_t)&joiner | TN_JOIN_TIMED;
    if (!tn_joinword_register(&child.join, mine, &found)) {
        assert(found == TN_JOIN_DONE);
        return true;
    }
    unsigned outcome = wait();
    assert(outcome == WAIT_WOKEN || outcome == WAIT_TIMED_OUT);
    if (outcome == WAIT_TIMED_OUT && tn_joinword_give_up(&child.join, mine))
        return false;
    tn_joinword_await(&child.join);
    return true;
}

static void *join(void *random)
{
    case_start(random);
    if (join_timed()) {
        take_value();
    } else {
        uintptr_t state = tn_joinword_detach(&child.join);
        assert(state == TN_JOIN_OPEN || state == TN_JOIN_DONE);
        gave_up = true;
        if (state == TN_JOIN_DONE)
            release();
    }
    later = tn_waitword_prepare(&joiner.wait);
    return case_end();
}

static void check(void)
{
    check_released();
    assert(tn_waitword_outcome(&joiner.wait) == WAIT_ARMED && later != seq); /* its next wait is as it was left */
}

CASE_MAIN(prepare, check, end, join, timer)
