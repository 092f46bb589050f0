/* SPDX-License-Identifier: MIT */
/*
 * The bodies of the cases on bounded rings for many producers and many consumers; a case defines RING as the ring's
 * structure and MPMC(x) as what its functions begin with, x behind it, includes the ring and this, and says which body it wants:
 *
 *     CASE_MAIN(mpmc_empty, mpmc_check, push0, push1, pop0, pop1)
 *     CASE_MAIN(mpmc_filled, mpmc_check_full, push2, push3, pop_both)
 *     CASE_MAIN(mpmc_filled, mpmc_check_room, push2, push3, pop1, pop2)
 *     CASE_MAIN(mpmc_single, mpmc_check_behind, push_pop, pop1, pop2)
 *
 * The first: two producers and two consumers at an empty ring of two.  The second: full and across the end of its two
 * slots, two producers try to push, and a consumer makes room for them; or two consumers do.  The third: an item is not left behind while
 * everybody is told *empty*.  One item is there; one thread pushes another and then pops, two more threads only pop.
 * If the first is told *empty*, past the item that it has just pushed, the two others must have got both.
 */
#ifndef MPMC_CASE_H
#define MPMC_CASE_H

#include "queue-case.h"

enum { CAPACITY = 2 };
static _Alignas(TN_CACHE_LINE) unsigned char memory[512];
static struct RING *const q = (void *)memory;
static struct got got[4]; /* the threads' that pop, what is left over */

static inline void mpmc_empty(void)
{
    assert(MPMC(_bytes)(CAPACITY) <= sizeof(memory));
    MPMC(_init)(q, CAPACITY);
    for (int i = 0; i < 4; i++)
        got[i].n = 0;
}

static inline void mpmc_single(void)
{
    mpmc_empty();
    pushed[0] = MPMC(_push)(q, &node[0]);
}

static inline void mpmc_filled(void)
{
    mpmc_empty();
    assert(MPMC(_push)(q, &node[ITEMS - 1]) && MPMC(_pop)(q) == &node[ITEMS - 1]);
    pushed[0] = MPMC(_push)(q, &node[0]);
    pushed[1] = MPMC(_push)(q, &node[1]);
    assert(pushed[0] && pushed[1] && !MPMC(_push)(q, &node[2]));
}

#define MPMC_PUSH(n)                          \
    static inline void *push##n(void *random) \
    {                                         \
        case_start(random);                   \
        pushed[n] = MPMC(_push)(q, &node[n]); \
        return NULL;                          \
    }
MPMC_PUSH(0)
MPMC_PUSH(1)
MPMC_PUSH(2)
MPMC_PUSH(3)

#define MPMC_POP(n)                          \
    static inline void *pop##n(void *random) \
    {                                        \
        case_start(random);                  \
        note(&got[n], MPMC(_pop)(q));        \
        return NULL;                         \
    }
MPMC_POP(0)
MPMC_POP(1)
MPMC_POP(2)

static inline void *pop_both(void *random)
{
    case_start(random);
    note(&got[0], MPMC(_pop)(q));
    note(&got[0], MPMC(_pop)(q));
    return NULL;
}

static inline void *push_pop(void *random)
{
    case_start(random);
    pushed[1] = MPMC(_push)(q, &node[1]);
    note(&got[0], MPMC(_pop)(q));
    return NULL;
}

static inline void mpmc_rest(void)
{
    void *item;

    assert(MPMC(_valid)(q));
    for (int i = 0; i < 3 && (item = MPMC(_pop)(q)) != NULL; i++)
        note(&got[3], item);
    check_once(got, 4);
    assert(MPMC(_valid)(q) && MPMC(_length)(q) == 0 && MPMC(_pop)(q) == NULL);
}

static inline void mpmc_check(void)
{
    assert(pushed[0] && pushed[1]); /* never full with two items */
    mpmc_rest();
}

static inline void mpmc_check_full(void)
{
    assert(got[0].n == 2 && got[0].item[0] == &node[0] && got[0].item[1] == &node[1]); /* one consumer: in order */
    mpmc_rest();
    assert(MPMC(_push)(q, &node[0]) && MPMC(_push)(q, &node[1]) && !MPMC(_push)(q, &node[2]));
}

static inline void mpmc_check_room(void)
{
    assert(got[1].n == 1 && got[2].n == 1);
    mpmc_rest();
}

static inline void mpmc_check_behind(void)
{
    assert(pushed[0] && pushed[1]);
    assert(got[0].n == 1 || got[1].n + got[2].n == 2);
    mpmc_rest();
}

#endif
