/* SPDX-License-Identifier: MIT */
/*
 * mpmc_ring: an item is not left behind while everybody is told *empty* (invariant 4).  One item is there; one thread
 * pushes another and then pops, two more threads only pop.  A consumer that came too late for the first item has a
 * ticket, behind which the second item comes to lie, hidden from the thread that has just pushed it.  If that thread
 * is told *empty*, the consumer must not give the ticket back and go home: the two have got both items.
 */
#include "queue-case.h"

#include "core/queues/mpmc_ring.h"

enum { CAPACITY = 2 };
static _Alignas(TN_CACHE_LINE) unsigned char memory[256];
static struct tn_mpmc_ring *const q = (void *)memory;
static struct got got[4]; /* the three threads', what is left over */

static void prepare(void)
{
    assert(tn_mpmc_bytes(CAPACITY) <= sizeof(memory));
    tn_mpmc_init(q, CAPACITY);
    for (int i = 0; i < 4; i++)
        got[i].n = 0;
    pushed[0] = tn_mpmc_push(q, &node[0]);
}

static void *both(void *random)
{
    case_start(random);
    pushed[1] = tn_mpmc_push(q, &node[1]);
    note(&got[0], tn_mpmc_pop(q));
    return NULL;
}

static void *consumer1(void *random)
{
    case_start(random);
    note(&got[1], tn_mpmc_pop(q));
    return NULL;
}
static void *consumer2(void *random)
{
    case_start(random);
    note(&got[2], tn_mpmc_pop(q));
    return NULL;
}

static void check(void)
{
    void *item;

    assert(pushed[0] && pushed[1] && tn_mpmc_valid(q));
    assert(got[0].n == 1 || got[1].n + got[2].n == 2);
    for (int i = 0; i < 3 && (item = tn_mpmc_pop(q)) != NULL; i++)
        note(&got[3], item);
    check_once(got, 4);
    assert(tn_mpmc_valid(q) && tn_mpmc_length(q) == 0);
}

CASE_MAIN(prepare, check, both, consumer1, consumer2)
