/* SPDX-License-Identifier: MIT */
/* spinlock: three threads count under the lock. */
#include "spinlock-case.h"

static void prepare(void)
{
    tn_spinlock_init(&lock);
    count = inside = 0;
}

static void check(void)
{
    check_lock(3);
}

CASE_MAIN(prepare, check, locker, locker, locker)
