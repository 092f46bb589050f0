/* SPDX-License-Identifier: MIT */
/* spinlock: three threads count under the lock. */
#include "queue-case.h"

#include "core/queues/spinlock.h"

static struct tn_spinlock lock = TN_SPINLOCK_INIT;
int count, inside; /* plain, under lock; not static, or the compiler might keep them in registers over the section */

static void prepare(void)
{
    tn_spinlock_init(&lock);
    count = inside = 0;
}

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

static void check(void)
{
    assert(count == 3);
    assert(tn_spinlock_valid(&lock) && tn_spinlock_try_lock(&lock)); /* free again */
}

CASE_MAIN(prepare, check, locker, locker, locker)
