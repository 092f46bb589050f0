/* SPDX-License-Identifier: MIT */
/* mpmc_ring, full and across the end of its two slots: two producers try to push, one consumer makes room for them. */
#include "queue-case.h"

#include "core/queues/mpmc_ring.h"

enum { CAPACITY = 2 };
static _Alignas(TN_CACHE_LINE) unsigned char memory[256];
static struct tn_mpmc_ring *const q = (void *)memory;
static struct got got[2];

static void prepare(void)
{
    assert(tn_mpmc_bytes(CAPACITY) <= sizeof(memory));
    tn_mpmc_init(q, CAPACITY);
    got[0].n = got[1].n = 0;
    assert(tn_mpmc_push(q, &node[ITEMS - 1]) && tn_mpmc_pop(q) == &node[ITEMS - 1]);
    pushed[0] = tn_mpmc_push(q, &node[0]);
    pushed[1] = tn_mpmc_push(q, &node[1]);
    assert(pushed[0] && pushed[1] && !tn_mpmc_push(q, &node[2]));
}

static void *producer2(void *random)
{
    case_start(random);
    pushed[2] = tn_mpmc_push(q, &node[2]);
    return NULL;
}
static void *producer3(void *random)
{
    case_start(random);
    pushed[3] = tn_mpmc_push(q, &node[3]);
    return NULL;
}

static void *consumer(void *random)
{
    case_start(random);
    note(&got[0], tn_mpmc_pop(q));
    note(&got[0], tn_mpmc_pop(q));
    return NULL;
}

static void check(void)
{
    void *item;

    assert(tn_mpmc_valid(q));
    assert(got[0].n == 2 && got[0].item[0] == &node[0] && got[0].item[1] == &node[1]); /* one consumer: in order */
    for (int i = 0; i < 3 && (item = tn_mpmc_pop(q)) != NULL; i++)
        note(&got[1], item);
    check_once(got, 2);
    assert(tn_mpmc_valid(q) && tn_mpmc_length(q) == 0);
    assert(tn_mpmc_push(q, &node[0]) && tn_mpmc_push(q, &node[1]) && !tn_mpmc_push(q, &node[2]));
}

CASE_MAIN(prepare, check, producer2, producer3, consumer)
