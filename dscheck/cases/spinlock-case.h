/* SPDX-License-Identifier: MIT */
/* What the cases on core/queues/spinlock.h share: a section that must be alone, and a thread that goes through it. */
#ifndef SPINLOCK_CASE_H
#define SPINLOCK_CASE_H

#include "queue-case.h"

#include "core/queues/spinlock.h"

static struct tn_spinlock lock = TN_SPINLOCK_INIT;
int count, inside; /* plain, under lock; not static, or the compiler might keep them in registers over the section */

static void section(void)
{
    assert(inside == 0);
    inside = 1;
    case_pause();
    count++;
    inside = 0;
}

static void *locker(void *random)
{
    case_start(random);
    tn_spinlock_lock(&lock);
    section();
    tn_spinlock_unlock(&lock);
    return NULL;
}

static void check_lock(int sections)
{
    assert(count == sections);
    assert(tn_spinlock_valid(&lock) && tn_spinlock_try_lock(&lock)); /* free again */
}

#endif
