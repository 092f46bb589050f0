/* SPDX-License-Identifier: MIT */
/*
 * mutexword: one holds it, one locks it twice, with barging: who has given the mutex back comes again beside the one that it has woken.
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

CASE_MAIN(prepare, check, holder, locker)
