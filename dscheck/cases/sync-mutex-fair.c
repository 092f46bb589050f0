/* SPDX-License-Identifier: MIT */
/*
 * Mutex that is handed over to who has starved: meanwhile the clock goes on beyond that, at whatever moment. It is handed over
 * or free, never half of each.
 */
#include "owner-case.h"

static void prepare(void)
{
    begin(TN_MUTEX_FAIR, TN_MUTEX_NORMAL);
    atomic_store(&case_clock, 0);
    assert(tn_mutex_lock(&mutex) == 0); /* as the holder's */
}

static void *holder(void *random)
{
    case_start(random);
    use();
    assert(tn_mutex_unlock(&mutex) == 0);
    return case_end();
}

static void *locker(void *random)
{
    case_start(random);
    assert(tn_mutex_lock(&mutex) == 0);
    use();
    assert(tn_mutex_unlock(&mutex) == 0);
    return case_end();
}

static void *time_goes_by(void *random)
{
    case_start(random);
    atomic_store(&case_clock, STARVED_NS);
    return case_end();
}

static void check(void)
{
    expect(2, 2);
}

CASE_MAIN(prepare, check, holder, locker, time_goes_by)
