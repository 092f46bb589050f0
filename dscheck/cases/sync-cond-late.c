/* SPDX-License-Identifier: MIT */
/*
 * Condition variable: two wait, one of which gives up at whatever moment. One signal comes when both are there: it is for
 * the one that does not give up, or else a second one is.
 */
#include "cond-case.h"

static _Atomic(int) here; /* changed under the mutex */

static void begin(void)
{
    prepare();
    atomic_init(&here, 0);
}

static void *late(void *random)
{
    case_start(random);
    tn_mutex_lock(NULL);
    atomic_fetch_add(&here, 1);
    int rc = tn_cond_wait_until(&cond, NULL, 0, NULL);
    tn_mutex_unlock(NULL);
    assert(rc == 0 || rc == ETIMEDOUT);
    if (rc == 0)
        tn_cond_signal(&cond);
    return case_end();
}

static void *waits(void *random)
{
    case_start(random);
    tn_mutex_lock(NULL);
    atomic_fetch_add(&here, 1);
    assert(tn_cond_wait(&cond, NULL) == 0);
    tn_mutex_unlock(NULL);
    return case_end();
}

static void *signals(void *random)
{
    unsigned spins = 0;
    case_start(random);
    while (atomic_load(&here) < 2)
        tn_spin_wait(&spins);
    tn_mutex_lock(NULL); /* which the second has given back by now */
    tn_mutex_unlock(NULL);
    tn_cond_signal(&cond);
    return case_end();
}

static void check(void)
{
    assert(cond.waits.ring == NULL);
}

CASE_MAIN(begin, check, late, waits, signals)
