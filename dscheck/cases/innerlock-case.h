/* SPDX-License-Identifier: MIT */
/* What the cases on the other locks inside the primitives share: threads that count under the lock, each of them twice or once. */
#ifndef INNERLOCK_CASE_H
#define INNERLOCK_CASE_H

#include "protocol-case.h"

#include "core/sync/innerlock.h"

static struct tn_innerlock lock;
int count, inside; /* plain, under lock; not static, or the compiler might keep them in registers over the section */

static void *locker(void *random)
{
    case_start(random);
    tn_innerlock_lock(&lock);
    assert(inside == 0);
    inside = 1;
    case_pause();
    count++;
    inside = 0;
    tn_innerlock_unlock(&lock);
    return case_end();
}

static void prepare(void)
{
    memset(&lock, 0, sizeof lock);
    count = inside = 0;
}

static void check(void)
{
    assert(count == 3);
    tn_innerlock_lock(&lock); /* free again */
    tn_innerlock_unlock(&lock);
}

#endif
