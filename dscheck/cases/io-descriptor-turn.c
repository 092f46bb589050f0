/* SPDX-License-Identifier: MIT */
/*
 * Three take turns, one of which gives up waiting for it at any moment: one at a time, and the turn passes to who still waits.
 */
#include "descriptor-case.h"

static int calls; /* by whose turn it is */

static int in_turn(tn_time deadline)
{
    int rc = tn_way_take(&way, 0, deadline, NULL);
    if (rc == 0) {
        calls++;
        passes(0);
    }
    return rc;
}

static void *waits(void *random)
{
    case_start(random);
    assert(in_turn(TN_FOREVER) == 0);
    return case_end();
}

static void *gives_up(void *random)
{
    case_start(random);
    int rc = in_turn(1);
    assert(rc == 0 || rc == ETIMEDOUT);
    return case_end();
}

static void prepare(void)
{
    open_way();
    calls = 0;
}

static void check(void)
{
    nobody_waits();
    assert(calls >= 2 && calls <= 3);
}

CASE_MAIN(prepare, check, waits, gives_up, waits)
