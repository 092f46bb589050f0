/* SPDX-License-Identifier: MIT */
/* mpmc_ring, capacity 2: two producers, two consumers, one operation each. */
#include "queue-case.h"

#include "core/queues/mpmc_ring.h"

enum { CAPACITY = 2 };
static _Alignas(TN_CACHE_LINE) unsigned char memory[256];
static struct tn_mpmc_ring *const q = (void *)memory;
static struct got got[3];

static void prepare(void)
{
    assert(tn_mpmc_bytes(CAPACITY) <= sizeof(memory));
    tn_mpmc_init(q, CAPACITY);
    for (int i = 0; i < 3; i++)
        got[i].n = 0;
}

static void *producer0(void *random)
{
    case_start(random);
    pushed[0] = tn_mpmc_push(q, &node[0]);
    return NULL;
}
static void *producer1(void *random)
{
    case_start(random);
    pushed[1] = tn_mpmc_push(q, &node[1]);
    return NULL;
}
static void *consumer0(void *random)
{
    case_start(random);
    note(&got[0], tn_mpmc_pop(q));
    return NULL;
}
static void *consumer1(void *random)
{
    case_start(random);
    note(&got[1], tn_mpmc_pop(q));
    return NULL;
}

static void check(void)
{
    void *item;

    assert(tn_mpmc_valid(q));
    assert(pushed[0] && pushed[1]); /* never full with two items */
    for (int i = 0; i < 3 && (item = tn_mpmc_pop(q)) != NULL; i++)
        note(&got[2], item);
    check_once(got, 3);
    assert(tn_mpmc_valid(q) && tn_mpmc_length(q) == 0 && tn_mpmc_pop(q) == NULL);
}

CASE_MAIN(prepare, check, producer0, producer1, consumer0, consumer1)
