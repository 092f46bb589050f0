/* SPDX-License-Identifier: MIT */
/*
 * Semaphore: two want a unit, one of which gives up at whatever moment; one unit is brought, and if nobody is in need of it,
 * it stays: none goes to the one that gave up.
 */
#include "list-case.h"

#include "sync/semaphore.c"

static tn_sem sem;
static int had; /* by the one that is late */

static void prepare(void)
{
    tn_sem_init(&sem, 0, 0);
    had = 0;
}

static void *late(void *random)
{
    case_start(random);
    int rc = tn_sem_wait_until(&sem, 1, 0, NULL);
    assert(rc == 0 || rc == ETIMEDOUT);
    had = rc == 0;
    return case_end();
}

static void *brings(void *random)
{
    case_start(random);
    assert(tn_sem_post(&sem) == 0);
    return case_end();
}

static void *brings_and_takes(void *random)
{
    case_start(random);
    assert(tn_sem_post(&sem) == 0);
    assert(tn_sem_wait(&sem) == 0);
    return case_end();
}

static void check(void)
{
    assert(sem.waits.state == 1 - (uint32_t)had && sem.waits.ring == NULL);
}

CASE_MAIN(prepare, check, late, brings, brings_and_takes)
