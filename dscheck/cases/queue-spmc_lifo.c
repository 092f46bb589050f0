/* SPDX-License-Identifier: MIT */
/* spmc_lifo: the owner and two thieves compete for the last item; then the owner pushes once more. */
#include "queue-case.h"

#include "core/queues/spmc_lifo.h"

enum { CAPACITY = 2 };
static _Alignas(TN_CACHE_LINE) unsigned char memory[256];
static struct tn_spmc_lifo *const q = (void *)memory;
static struct got got[4]; /* the owner's, the thieves', what is left over */

static void prepare(void)
{
    assert(tn_spmc_lifo_bytes(CAPACITY) <= sizeof(memory));
    tn_spmc_lifo_init(q, CAPACITY);
    for (size_t i = 0; i < sizeof(got) / sizeof(got[0]); i++)
        got[i].n = 0;
}

static void *owner(void *random)
{
    case_start(random);
    for (int i = 0; i < 2; i++) { /* the second push comes after a pop that may have been beaten to the item */
        pushed[i] = tn_spmc_lifo_push(q, &node[i]);
        assert(pushed[i]);
        note(&got[0], tn_spmc_lifo_pop(q));
        assert(tn_spmc_lifo_valid(q));
    }
    return NULL;
}

static void *thief1(void *random)
{
    case_start(random);
    got[1].n = tn_spmc_lifo_steal(q, GOT, got[1].item);
    return NULL;
}

static void *thief2(void *random)
{
    case_start(random);
    got[2].n = tn_spmc_lifo_steal(q, 1, got[2].item);
    return NULL;
}

static void check(void)
{
    void *item;

    assert(tn_spmc_lifo_valid(q));
    for (int i = 0; i <= CAPACITY && (item = tn_spmc_lifo_pop(q)) != NULL; i++)
        note(&got[3], item);
    check_once(got, 4);
    assert(tn_spmc_lifo_valid(q) && tn_spmc_lifo_length(q) == 0);
}

CASE_MAIN(prepare, check, owner, thief1, thief2)
