/* SPDX-License-Identifier: MIT */
/*
 * Reader-writer lock, fair: two write, and who does so last frees it.
 */
#include "list-case.h"

#include "sync/rwlock.c"

static struct shared {
    tn_rwlock rw;
    int users; /* plain, under the lock */
} * shared;

static void prepare(void)
{
    shared = calloc(1, sizeof(*shared));
    assert(shared != NULL);
    shared->users = 2;
    tn_rwlock_init(&shared->rw, TN_RWLOCK_FAIR);
}

static void *user(void *random)
{
    struct shared *s = shared;
    case_start(random);
    assert(tn_rwlock_wrlock(&s->rw) == 0);
    bool last = --s->users == 0;
    assert(tn_rwlock_unlock(&s->rw) == 0);
    if (last)
        free(s);
    return case_end();
}

static void check(void)
{
    shared = NULL;
}

CASE_MAIN(prepare, check, user, user)
