/* SPDX-License-Identifier: MIT */
/* spmc_lifo, full and across the end of its two slots: the owner reuses slots that a thief is reading. */
#include "queue-case.h"

#include "core/queues/spmc_lifo.h"

enum { CAPACITY = 2 };
static _Alignas(TN_CACHE_LINE) unsigned char memory[256];
static struct tn_spmc_lifo *const q = (void *)memory;
static struct got got[3]; /* the owner's, the thieves', what is left over */

static void prepare(void)
{
    assert(tn_spmc_lifo_bytes(CAPACITY) <= sizeof(memory));
    tn_spmc_lifo_init(q, CAPACITY);
    for (size_t i = 0; i < sizeof(got) / sizeof(got[0]); i++)
        got[i].n = 0;
    for (int i = 0; i < 3; i++) /* so that the ring's end lies between the items to come */
        assert(tn_spmc_lifo_push(q, &node[ITEMS - 1]) && tn_spmc_lifo_pop(q) == &node[ITEMS - 1]);
    pushed[0] = tn_spmc_lifo_push(q, &node[0]);
    pushed[1] = tn_spmc_lifo_push(q, &node[1]);
    assert(pushed[0] && pushed[1] && !tn_spmc_lifo_push(q, &node[2]));
}

static void *owner(void *random)
{
    case_start(random);
    pushed[2] = tn_spmc_lifo_push(q, &node[2]);
    note(&got[0], tn_spmc_lifo_pop(q));
    pushed[3] = tn_spmc_lifo_push(q, &node[3]);
    assert(pushed[3]); /* the pop made room, or a thief did */
    return NULL;
}

static void *thief1(void *random)
{
    case_start(random);
    got[1].n = tn_spmc_lifo_steal(q, GOT, got[1].item);
    got[1].n += tn_spmc_lifo_steal(q, GOT, got[1].item + got[1].n);
    return NULL;
}

static void check(void)
{
    void *item;

    assert(tn_spmc_lifo_valid(q));
    for (int i = 0; i <= CAPACITY && (item = tn_spmc_lifo_pop(q)) != NULL; i++)
        note(&got[2], item);
    check_once(got, 3);
    assert(tn_spmc_lifo_valid(q) && tn_spmc_lifo_length(q) == 0);
}

CASE_MAIN(prepare, check, owner, thief1)
