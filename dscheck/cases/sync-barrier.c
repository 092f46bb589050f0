/* SPDX-License-Identifier: MIT */
/*
 * Barrier: two meet, and whoever has waited frees it: the one that came last has done its last to it.
 */
#include "list-case.h"

#include "sync/gates.c"

static tn_barrier *barrier;

static void prepare(void)
{
    barrier = calloc(1, sizeof(*barrier));
    assert(barrier != NULL && tn_barrier_init(barrier, 2) == 0);
}

static void *meets(void *random)
{
    tn_barrier *mine = barrier;
    case_start(random);
    if (tn_barrier_wait(mine) == 0)
        free(mine);
    return case_end();
}

static void check(void)
{
    barrier = NULL;
}

CASE_MAIN(prepare, check, meets, meets)
