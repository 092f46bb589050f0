/* SPDX-License-Identifier: MIT */
/*
 * Latch as a wait group: one that is counted counts another one up before it is done itself; who waits sees what both did.
 */
#include "list-case.h"

#include "sync/gates.c"

static tn_latch latch;
static _Atomic(bool) begun; /* the second one */
static int value[2];        /* plain */

static void prepare(void)
{
    tn_latch_init(&latch, 1);
    atomic_init(&begun, false);
    value[0] = value[1] = 0;
}

static void *waits(void *random)
{
    case_start(random);
    assert(tn_latch_wait(&latch) == 0);
    assert(value[0] == 1 && value[1] == 1);
    return case_end();
}

static void *first(void *random)
{
    case_start(random);
    assert(tn_latch_up(&latch, 1) == 0);
    atomic_store(&begun, true);
    value[0] = 1;
    assert(tn_latch_down(&latch, 1) == 0);
    return case_end();
}

static void *second(void *random)
{
    unsigned spins = 0;
    case_start(random);
    while (!atomic_load(&begun))
        tn_spin_wait(&spins);
    value[1] = 1;
    assert(tn_latch_down(&latch, 1) == 0);
    return case_end();
}

static void check(void)
{
    assert(latch.waits.state == 0 && latch.waits.ring == NULL);
}

CASE_MAIN(prepare, check, waits, first, second)
