/* SPDX-License-Identifier: MIT */
/*
 * mutexword: who gets the mutex last frees it: the unlocker before has done its last to it.
 */
#include "mutex-case.h"

static struct shared {
    struct tn_mutexword mutex;
    int users; /* plain, under the mutex */
} * shared;

static void prepare(void)
{
    shared = calloc(1, sizeof(*shared));
    assert(shared != NULL);
    shared->users = 2;
}

static void *user(void *random)
{
    struct shared *s = shared;
    case_start(random);
    lock(&s->mutex);
    bool last = --s->users == 0;
    unlock(&s->mutex, barging);
    if (last)
        free(s);
    return case_end();
}

static void check(void)
{
    shared = NULL;
}

CASE_MAIN(prepare, check, user, user)
