/* SPDX-License-Identifier: MIT */
/*
 * Two read, each one byte, from what is known to be empty, so that they wait for their turn and for the event in one step; an
 * event comes that tells nothing, then two bytes, and one event of both. One reads at a time, and nobody waits where a byte is
 * left.
 */
#include "descriptor-case.h"

static bool inside; /* by whose turn it is */

static bool reads_one(void)
{
    assert(!inside);
    inside = true;
    bool got = atomic_load_explicit(&bytes, memory_order_relaxed) > 0;
    if (got)
        atomic_fetch_sub_explicit(&bytes, 1, memory_order_relaxed);
    tn_way_dries(&way, 0, false); /* as much as it asked for, or nothing at all */
    inside = false;
    return got;
}

static void *reader(void *random)
{
    bool mine = false, called = false;
    case_start(random);
    for (;;) {
        if (called || tn_way_dry(&way, 0)) {
            int rc = tn_way_wait(&way, 0, mine, TN_FOREVER, NULL);
            assert(rc == 0 || (rc == EBUSY && !mine));
            mine |= rc == 0;
        }
        if (!mine) {
            assert(tn_way_take(&way, 0, TN_FOREVER, NULL) == 0);
            mine = true;
            continue;
        }
        assert(tn_way_begin(&way, 0));
        if (reads_one())
            break;
        tn_way_called(&way);
        called = true;
    }
    is_done(0);
    return case_end();
}

static void *poller(void *random)
{
    case_start(random);
    tells(0);
    atomic_store_explicit(&bytes, 2, memory_order_relaxed);
    tells(0);
    return case_end();
}

static void prepare(void)
{
    open_way();
    inside = false;
    tn_way_dries(&way, 0, true);
}

static void check(void)
{
    nobody_waits();
    assert(atomic_load_explicit(&bytes, memory_order_relaxed) == 0);
}

CASE_MAIN(prepare, check, reader, reader, poller)
