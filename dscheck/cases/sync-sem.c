/* SPDX-License-Identifier: MIT */
/*
 * Semaphore: one wants two units together, one wants one; one and then two are brought. Nobody waits for ever, none is left.
 */
#include "list-case.h"

#include "sync/semaphore.c"

static tn_sem sem;
static _Atomic(int) there; /* units that have been brought, or are about to be, and not taken */

static void prepare(void)
{
    tn_sem_init(&sem, 0, 0);
    atomic_init(&there, 0);
}

static void *two(void *random)
{
    case_start(random);
    assert(tn_sem_wait_until(&sem, 2, TN_FOREVER, NULL) == 0);
    assert(atomic_fetch_sub(&there, 2) >= 2);
    return case_end();
}

static void *one(void *random)
{
    case_start(random);
    assert(tn_sem_wait(&sem) == 0);
    assert(atomic_fetch_sub(&there, 1) >= 1);
    return case_end();
}

static void *brings(void *random)
{
    case_start(random);
    atomic_fetch_add(&there, 1);
    assert(tn_sem_post(&sem) == 0);
    atomic_fetch_add(&there, 2);
    assert(tn_sem_post_n(&sem, 2) == 0);
    return case_end();
}

static void check(void)
{
    assert(sem.waits.state == 0 && sem.waits.ring == NULL);
}

CASE_MAIN(prepare, check, two, one, brings)
