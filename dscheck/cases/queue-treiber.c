/* SPDX-License-Identifier: MIT */
/* treiber: one thread pushes twice, one pops twice, one does both. */
#include "treiber-case.h"

static void prepare(void)
{
    tn_treiber_init(q);
    for (int i = 0; i < 4; i++)
        got[i].n = 0;
}

static void *pusher(void *random)
{
    case_start(random);
    push(0);
    push(1);
    pushed[0] = pushed[1] = true;
    return NULL;
}
static void *popper(void *random)
{
    case_start(random);
    note(&got[1], pop());
    note(&got[1], pop());
    return NULL;
}
static void *both(void *random)
{
    case_start(random);
    push(2);
    pushed[2] = true;
    note(&got[2], pop());
    return NULL;
}

static void check(void)
{
    assert(got[2].n == 1 || got[1].n != 0); /* nobody is told *empty* past an item */
    rest();
}

CASE_MAIN(prepare, check, pusher, popper, both)
