/* SPDX-License-Identifier: MIT */
/*
 * Mutex that knows its owner and is handed over: whoever gets it from another's hand is its owner, and may be told that it has
 * it already.
 */
#include "owner-case.h"

static void prepare(void)
{
    begin(TN_MUTEX_BATON, TN_MUTEX_CHECKED);
}

static void *user(void *random, int which)
{
    case_start(random);
    case_thread = which;
    assert(tn_mutex_lock(&mutex) == 0);
    assert(tn_mutex_lock(&mutex) == EDEADLK);
    use();
    assert(tn_mutex_unlock(&mutex) == 0);
    return case_end();
}

static void *user_0(void *random)
{
    return user(random, 0);
}

static void *user_1(void *random)
{
    return user(random, 1);
}

static void check(void)
{
    expect(2, 2);
}

CASE_MAIN(prepare, check, user_0, user_1)
