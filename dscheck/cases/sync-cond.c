/* SPDX-License-Identifier: MIT */
/*
 * Condition variable: one waits until it has been told; it is told once, with the mutex not held any more at the signal.
 */
#include "cond-case.h"

static void *waits(void *random)
{
    case_start(random);
    tn_mutex_lock(NULL);
    while (told == 0)
        assert(tn_cond_wait(&cond, NULL) == 0);
    tn_mutex_unlock(NULL);
    return case_end();
}

static void *tells(void *random)
{
    case_start(random);
    tn_mutex_lock(NULL);
    told = 1;
    tn_mutex_unlock(NULL);
    tn_cond_broadcast(&cond);
    return case_end();
}

static void check(void)
{
    assert(cond.waits.ring == NULL);
}

CASE_MAIN(prepare, check, waits, waits, tells)
