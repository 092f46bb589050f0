/* SPDX-License-Identifier: MIT */
/*
 * Three call, each in one step with taking its turn if it can, else when its turn has come: one at a time, and none waits for
 * ever.
 */
#include "descriptor-case.h"

static int inside, calls; /* by whose turn it is */

static void in_turn(void)
{
    assert(inside == 0);
    inside = 1;
    calls++;
    inside = 0;
}

static void *one(void *random)
{
    case_start(random);
    if (tn_way_try(&way, 0)) {
        in_turn();
        is_done(0);
    } else {
        assert(tn_way_take(&way, 0, TN_FOREVER, NULL) == 0 && tn_way_begin(&way, 0));
        in_turn();
        tn_way_called(&way);
        passes(0);
    }
    return case_end();
}

static void prepare(void)
{
    open_way();
    inside = calls = 0;
}

static void check(void)
{
    nobody_waits();
    assert(calls == 3);
}

CASE_MAIN(prepare, check, one, one, one)
