/* SPDX-License-Identifier: MIT */
/*
 * Closed under one that is about to call, or just calls: the call does not reach the number's next owner, who takes its turn
 * while the other one may have yet to be told, and keeps it.
 */
#include "descriptor-case.h"

static _Atomic(bool) given_back; /* the number; relaxed: what is told goes by the way */

static void *calls(void *random)
{
    case_start(random);
    int rc = tn_way_take(&way, 0, TN_FOREVER, NULL);
    assert(rc == 0 || rc == ECANCELED);
    if (rc == 0 && tn_way_begin(&way, 0)) {
        assert(!atomic_load_explicit(&given_back, memory_order_relaxed));
        tn_way_called(&way);
    }
    if (rc == 0)
        passes(0);
    return case_end();
}

static void *closes(void *random)
{
    case_start(random);
    ends();
    tn_way_await(&way);
    atomic_store_explicit(&given_back, true, memory_order_relaxed);
    assert(tn_way_take(&way, 1, TN_FOREVER, NULL) == 0 && tn_way_begin(&way, 1));
    tn_way_called(&way);
    struct tn_waitlist *l = tn_waitlist_lock(&way.waits);
    assert(way.taken);
    tn_waitlist_unlock(l);
    passes(1);
    return case_end();
}

static void prepare(void)
{
    open_way();
    atomic_init(&given_back, false);
}

CASE_MAIN(prepare, nobody_waits, calls, closes)
