/* SPDX-License-Identifier: MIT */
/*
 * mutexword: one holds it and two lock it, with barging: who is woken has to get the mutex as anybody else.
 */
#include "mutex-case.h"

static struct tn_mutexword mutex;
static int inside, sum; /* plain: whoever is inside is alone */

static void prepare(void)
{
    memset(&mutex, 0, sizeof(mutex));
    lock(&mutex); /* as the holder's */
    inside = sum = 0;
}

static void use(void)
{
    assert(inside++ == 0);
    case_pause();
    sum++;
    inside--;
}

static void *holder(void *random)
{
    case_start(random);
    use();
    unlock(&mutex, barging);
    return case_end();
}

static void *locker(void *random)
{
    case_start(random);
    lock(&mutex);
    use();
    unlock(&mutex, barging);
    return case_end();
}

static void check(void)
{
    assert(sum == 3);
    assert(atomic_load(&mutex.word) == 0 && mutex.ring == NULL);
}

CASE_MAIN(prepare, check, holder, locker, locker)
