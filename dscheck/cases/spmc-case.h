/* SPDX-License-Identifier: MIT */
/*
 * The bodies of the cases on queues of one owner and several thieves; a case defines SPMC(x) as the queue's name with x
 * behind it, includes the queue and this, and says which body it wants:
 *
 *     CASE_MAIN(spmc_half, spmc_check, half_owner, half_thief, one_thief)
 *
 * LAST  The owner and two thieves compete for the last item; then the owner pushes once more.
 * HALF  A thief takes half of three items, another thief one, while the owner pops two.
 * WRAP  Full and across the end of its two slots: the owner reuses slots that a thief is reading.
 */
#ifndef SPMC_CASE_H
#define SPMC_CASE_H

#include "queue-case.h"

static _Alignas(TN_CACHE_LINE) unsigned char memory[512];
static struct SPMC() *const q = (void *)memory;
static size_t capacity;
static struct got got[4]; /* the owner's, the thieves', what is left over */

static inline void spmc_prepare(size_t slots)
{
    capacity = slots;
    assert(SPMC(_bytes)(capacity) <= sizeof(memory));
    SPMC(_init)(q, capacity);
    for (size_t i = 0; i < sizeof(got) / sizeof(got[0]); i++)
        got[i].n = 0;
}

static inline void spmc_check(void)
{
    void *item;

    assert(SPMC(_valid)(q));
    for (size_t i = 0; i <= capacity && (item = SPMC(_pop)(q)) != NULL; i++)
        note(&got[3], item);
    check_once(got, 4);
    assert(SPMC(_valid)(q) && SPMC(_length)(q) == 0);
}

/* The second thief of LAST and HALF. */
static inline void *one_thief(void *random)
{
    case_start(random);
    got[2].n = SPMC(_steal)(q, 1, got[2].item);
    assert(got[2].n <= 1);
    return NULL;
}

/* ---- LAST ---- */

static inline void spmc_last(void)
{
    spmc_prepare(2);
}

static inline void *last_owner(void *random)
{
    case_start(random);
    for (int i = 0; i < 2; i++) { /* the second push comes after a pop that may have been beaten to the item */
        pushed[i] = SPMC(_push)(q, &node[i]);
        assert(pushed[i]);
        note(&got[0], SPMC(_pop)(q));
        assert(SPMC(_valid)(q));
    }
    return NULL;
}

static inline void *last_thief(void *random)
{
    case_start(random);
    got[1].n = SPMC(_steal)(q, GOT, got[1].item);
    return NULL;
}

/* ---- HALF ---- */

static inline void spmc_half(void)
{
    spmc_prepare(4);
    for (int i = 0; i < 3; i++)
        pushed[i] = SPMC(_push)(q, &node[i]);
}

static inline void *half_owner(void *random)
{
    case_start(random);
    note(&got[0], SPMC(_pop)(q));
    note(&got[0], SPMC(_pop)(q));
    return NULL;
}

static inline void *half_thief(void *random)
{
    case_start(random);
    got[1].n = SPMC(_steal)(q, GOT, got[1].item);
    assert(got[1].n <= 2); /* half of three, rounded up */
    return NULL;
}

/* ---- WRAP ---- */

static inline void spmc_wrap(void)
{
    spmc_prepare(2);
    for (int i = 0; i < 3; i++) /* so that the ring's end lies between the items to come */
        assert(SPMC(_push)(q, &node[ITEMS - 1]) && SPMC(_pop)(q) == &node[ITEMS - 1]);
    pushed[0] = SPMC(_push)(q, &node[0]);
    pushed[1] = SPMC(_push)(q, &node[1]);
    assert(pushed[0] && pushed[1] && !SPMC(_push)(q, &node[2]));
}

static inline void *wrap_owner(void *random)
{
    case_start(random);
    pushed[2] = SPMC(_push)(q, &node[2]);
    note(&got[0], SPMC(_pop)(q));
    pushed[3] = SPMC(_push)(q, &node[3]);
    assert(pushed[3]); /* the pop made room, or a thief did */
    return NULL;
}

static inline void *wrap_thief(void *random)
{
    case_start(random);
    got[1].n = SPMC(_steal)(q, GOT, got[1].item);
    got[1].n += SPMC(_steal)(q, GOT, got[1].item + got[1].n);
    return NULL;
}

#endif
