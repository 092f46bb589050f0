/* SPDX-License-Identifier: MIT */
/*
 * Mutex that its owner may lock again: one does, while two others wait for it and are granted it or try anew. Its word knows at
 * any time whose it is and how often.
 */
#include "owner-case.h"

static void prepare(void)
{
    begin(TN_MUTEX_BLOCK, TN_MUTEX_RECURSIVE);
}

static void *again_and_again(void *random)
{
    case_start(random);
    assert(tn_mutex_lock(&mutex) == 0);
    assert(tn_mutex_lock(&mutex) == 0);
    assert(tn_mutex_unlock(&mutex) == 0);
    use();
    assert(tn_mutex_unlock(&mutex) == 0);
    return case_end();
}

static void *once(void *random)
{
    case_start(random);
    case_thread = 1;
    assert(tn_mutex_unlock(&mutex) == EPERM);
    assert(tn_mutex_lock(&mutex) == 0);
    use();
    assert(tn_mutex_unlock(&mutex) == 0);
    assert(tn_mutex_unlock(&mutex) == EPERM);
    return case_end();
}

static void check(void)
{
    expect(2, 2);
}

CASE_MAIN(prepare, check, again_and_again, once)
