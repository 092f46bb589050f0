/* SPDX-License-Identifier: MIT */
/* spinlock: two threads count under the lock, a third one if it gets it at once. */
#include "queue-case.h"

#include "core/queues/spinlock.h"

static struct tn_spinlock lock = TN_SPINLOCK_INIT;
int count, inside; /* plain, under lock; not static, or the compiler might keep them in registers over the section */
static bool tried;

static void prepare(void)
{
    tn_spinlock_init(&lock);
    count = inside = 0;
    tried = false;
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

static void *trier(void *random)
{
    case_start(random);
    tried = tn_spinlock_try_lock(&lock);
    if (tried) {
        section();
        tn_spinlock_unlock(&lock);
    }
    return NULL;
}

static void check(void)
{
    assert(count == 2 + tried);
    assert(tn_spinlock_valid(&lock) && tn_spinlock_try_lock(&lock)); /* free again */
}

CASE_MAIN(prepare, check, locker, locker, trier)
