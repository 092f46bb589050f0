/* SPDX-License-Identifier: MIT */
/*
 * Closed under one that takes its turn and calls in one step, if it can: the call does not reach the number's next owner, who
 * does so too, and keeps its turn whatever the other one has yet to do.
 */
#include "descriptor-case.h"

static _Atomic(bool) given_back; /* the number; relaxed: what is told goes by the way */

static void *calls(void *random)
{
    case_start(random);
    if (tn_way_try(&way, 0)) {
        assert(!atomic_load_explicit(&given_back, memory_order_relaxed));
        is_done(0);
    } else {
        assert(tn_way_take(&way, 0, TN_FOREVER, NULL) == ECANCELED);
    }
    return case_end();
}

static void *closes(void *random)
{
    case_start(random);
    ends();
    tn_way_await(&way);
    atomic_store_explicit(&given_back, true, memory_order_relaxed);
    assert(tn_way_try(&way, 1));
    struct tn_waitlist *l = tn_waitlist_lock(&way.waits);
    assert(way.taken);
    tn_waitlist_unlock(l);
    is_done(1);
    return case_end();
}

static void prepare(void)
{
    open_way();
    atomic_init(&given_back, false);
}

CASE_MAIN(prepare, nobody_waits, calls, closes)
