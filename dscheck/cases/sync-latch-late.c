/* SPDX-License-Identifier: MIT */
/*
 * Latch: two wait, one of which gives up at whatever moment; the other one is told by who counts down.
 */
#include "list-case.h"

#include "sync/gates.c"

static tn_latch latch;
static int value; /* plain */

static void prepare(void)
{
    tn_latch_init(&latch, 1);
    value = 0;
}

static void *waits(void *random)
{
    case_start(random);
    assert(tn_latch_wait(&latch) == 0);
    assert(value == 1);
    return case_end();
}

static void *late(void *random)
{
    case_start(random);
    if (tn_latch_wait_until(&latch, 0, NULL) == 0)
        assert(value == 1);
    return case_end();
}

static void *counts(void *random)
{
    case_start(random);
    value = 1;
    assert(tn_latch_down(&latch, 1) == 0);
    return case_end();
}

static void check(void)
{
    assert(latch.waits.state == 0 && latch.waits.ring == NULL);
}

CASE_MAIN(prepare, check, late, waits, counts)
