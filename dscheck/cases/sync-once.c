/* SPDX-License-Identifier: MIT */
/*
 * Once: three need what is done once, one of which gives up waiting at whatever moment; whoever returns 0 sees it.
 */
#include "list-case.h"

#include "sync/gates.c"

static tn_once once;
static int value; /* plain */

static void initialise(void)
{
    case_pause();
    value++;
}

static void prepare(void)
{
    once = (tn_once)TN_ONCE_INIT;
    value = 0;
}

static void *needs(void *random)
{
    case_start(random);
    assert(tn_once_do(&once, initialise) == 0);
    assert(value == 1);
    return case_end();
}

static void *late(void *random)
{
    case_start(random);
    if (tn_once_until(&once, initialise, 0, NULL) == 0)
        assert(value == 1);
    return case_end();
}

static void check(void)
{
    assert(value == 1 && once.waits.ring == NULL);
}

CASE_MAIN(prepare, check, needs, needs, late)
