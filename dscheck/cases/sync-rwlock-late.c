/* SPDX-License-Identifier: MIT */
/*
 * Reader-writer lock, writers preferred: one reads all the time, a writer comes and gives up at whatever moment, and a reader
 * that waits behind it goes on then.
 */
#include "rwlock-case.h"

static void prepare(void)
{
    tn_rwlock_init(&rw, TN_RWLOCK_WRITERS);
    value = 0;
    assert(tn_rwlock_rdlock(&rw) == 0); /* until the check */
}

static void left(void)
{
    assert(tn_rwlock_unlock(&rw) == 0);
    check();
}

CASE_MAIN(prepare, left, writes_late, reads)
