/* SPDX-License-Identifier: MIT */
/* multiqueue: a queue is emptied into the other one while another thread, who thinks it in use, pushes there and pops. */
#include "multiqueue-case.h"

static void prepare(void)
{
    multi_fresh(2, 1);
    hand[0].into = hand[1].into = 1; /* the one that will be emptied */
    hand[0].into_left = hand[1].into_left = 2;
    multi_push(0, 0, 1);
    multi_push(0, 1, 2);
}

static void *emptier(void *random)
{
    case_start(random);
    tn_multi_empty(&multi, &hand[0], 1, 1);
    return NULL;
}

static void *other(void *random)
{
    case_start(random);
    multi_push(1, 2, 0);
    multi_pop(1);
    return NULL;
}

static void check(void)
{
    multi_check(got[1].n, 3); /* none: all were on their way */
}

CASE_MAIN(prepare, check, emptier, other)
