/* SPDX-License-Identifier: MIT */
/*
 * What the cases on core/sync/rwlock.c share.
 */
#ifndef RWLOCK_CASE_H
#define RWLOCK_CASE_H

#include "list-case.h"

#include "sync/rwlock.c"

static tn_rwlock rw;
static int value; /* plain: a reader beside a writer is a race */

static inline void *writes(void *random)
{
    case_start(random);
    assert(tn_rwlock_wrlock(&rw) == 0);
    value++;
    assert(tn_rwlock_unlock(&rw) == 0);
    return case_end();
}

static inline void *reads(void *random)
{
    case_start(random);
    assert(tn_rwlock_rdlock(&rw) == 0);
    int seen = value;
    case_pause();
    assert(value == seen);
    assert(tn_rwlock_unlock(&rw) == 0);
    return case_end();
}

static inline void *writes_late(void *random)
{
    case_start(random);
    if (tn_rwlock_wrlock_until(&rw, 0, NULL) == 0) {
        value++;
        assert(tn_rwlock_unlock(&rw) == 0);
    }
    return case_end();
}

static inline void check(void)
{
    assert(rw.waits.state == 0 && rw.waits.ring == NULL && rw.writers == 0);
}

#endif
