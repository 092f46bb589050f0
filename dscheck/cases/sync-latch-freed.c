/* SPDX-License-Identifier: MIT */
/*
 * Latch of two: two count it down, and who waits for it frees it.
 */
#include "list-case.h"

#include "sync/gates.c"

static struct shared {
    tn_latch latch;
    int value[2]; /* plain */
} * shared;

static void prepare(void)
{
    shared = calloc(1, sizeof(*shared));
    assert(shared != NULL);
    tn_latch_init(&shared->latch, 2);
}

static void *waits(void *random)
{
    struct shared *mine = shared;
    case_start(random);
    assert(tn_latch_wait(&mine->latch) == 0);
    assert(mine->value[0] == 1 && mine->value[1] == 1);
    free(mine);
    return case_end();
}

static inline void *counts(void *random, int which)
{
    struct shared *mine = shared;
    case_start(random);
    mine->value[which] = 1;
    assert(tn_latch_down(&mine->latch, 1) == 0);
    return case_end();
}

static void *counts_0(void *random)
{
    return counts(random, 0);
}

static void *counts_1(void *random)
{
    return counts(random, 1);
}

static void check(void)
{
    shared = NULL;
}

CASE_MAIN(prepare, check, waits, counts_0, counts_1)
