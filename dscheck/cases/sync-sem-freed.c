/* SPDX-License-Identifier: MIT */
/*
 * Semaphore: two wait, a unit is brought for each in one call; who returns last frees it.
 */
#include "list-case.h"

#include "sync/semaphore.c"

static struct shared {
    tn_sem sem;
    _Atomic(int) users;
} * shared;

static void prepare(void)
{
    shared = calloc(1, sizeof(*shared));
    assert(shared != NULL);
    shared->users = 2;
    tn_sem_init(&shared->sem, 0, 0);
}

static void *waits(void *random)
{
    struct shared *s = shared;
    case_start(random);
    assert(tn_sem_wait(&s->sem) == 0);
    if (atomic_fetch_sub(&s->users, 1) == 1)
        free(s);
    return case_end();
}

static void *brings(void *random)
{
    struct shared *s = shared;
    case_start(random);
    assert(tn_sem_post_n(&s->sem, 2) == 0);
    return case_end();
}

static void check(void)
{
    shared = NULL;
}

CASE_MAIN(prepare, check, waits, waits, brings)
