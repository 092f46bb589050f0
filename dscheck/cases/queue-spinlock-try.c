/* SPDX-License-Identifier: MIT */
/* spinlock: a thread counts under the lock, two others if they get it at once. */
#include "queue-case.h"

#include "core/queues/spinlock.h"

static struct tn_spinlock lock = TN_SPINLOCK_INIT;
int count, inside; /* plain, under lock; not static, or the compiler might keep them in registers over the section */
static bool tried[2];

static void prepare(void)
{
    tn_spinlock_init(&lock);
    count = inside = 0;
    tried[0] = tried[1] = false;
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
    assert(count == 1 + tried[0] + tried[1]);
    assert(tn_spinlock_valid(&lock) && tn_spinlock_try_lock(&lock)); /* free again */
}

CASE_MAIN(prepare, check, locker, trier0, trier1)
