/* SPDX-License-Identifier: MIT */
/*
 * Barrier for two: two come, both of which give up at whatever moment. Both have met, or none.
 */
#include "list-case.h"

#include "sync/gates.c"

static tn_barrier barrier;
static _Atomic(int) met, last;

static void prepare(void)
{
    assert(tn_barrier_init(&barrier, 2) == 0);
    atomic_init(&met, 0);
    atomic_init(&last, 0);
}

static void *meets(void *random)
{
    case_start(random);
    int rc = tn_barrier_wait_until(&barrier, 0, NULL);
    if (rc == TN_BARRIER_SERIAL)
        atomic_fetch_add(&last, 1);
    else if (rc == 0)
        atomic_fetch_add(&met, 1);
    return case_end();
}

static void check(void)
{
    assert(met == last && last <= 1);
    assert(barrier.waits.state == 0 && barrier.waits.ring == NULL);
}

CASE_MAIN(prepare, check, meets, meets)
