/* SPDX-License-Identifier: MIT */
/* spinlock: a thread counts under the lock, two others if they get it at once. */
#include "spinlock-case.h"

static bool tried[2];

static void prepare(void)
{
    tn_spinlock_init(&lock);
    count = inside = 0;
    tried[0] = tried[1] = false;
}

static void *try(unsigned *random, bool *got)
{
    case_start(random);
    *got = tn_spinlock_try_lock(&lock);
    if (*got) {
        section();
        tn_spinlock_unlock(&lock);
    }
    return NULL;
}

static void *trier0(void *random)
{
    return try(random, &tried[0]);
}

static void *trier1(void *random)
{
    return try(random, &tried[1]);
}

static void check(void)
{
    check_lock(1 + tried[0] + tried[1]);
}

CASE_MAIN(prepare, check, locker, trier0, trier1)
