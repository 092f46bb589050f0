/* SPDX-License-Identifier: MIT */
/*
 * Closed under one that is about to wait: it is told, however late it comes, and the event of the number's next owner remains
 * that one's.
 */
#include "descriptor-case.h"

static _Atomic(bool) given_back; /* the number; relaxed: what is told goes by the way */

static void *waits(void *random)
{
    case_start(random);
    assert(tn_way_wait(&way, 0, true, TN_FOREVER, NULL) == ECANCELED);
    return case_end();
}

static void *closes(void *random)
{
    case_start(random);
    ends();
    atomic_store_explicit(&given_back, true, memory_order_relaxed);
    assert(reads(1, TN_FOREVER) == 1);
    return case_end();
}

static void *poller(void *random)
{
    unsigned spins = 0;
    case_start(random);
    while (!atomic_load_explicit(&given_back, memory_order_relaxed))
        tn_spin_wait(&spins);
    comes(1);
    return case_end();
}

static void prepare(void)
{
    open_way();
    atomic_init(&given_back, false);
}

CASE_MAIN(prepare, nobody_waits, waits, closes, poller)
