/* SPDX-License-Identifier: MIT */
/*
 * Two things are received before they are asked for, or behind that; who asks gives up at any moment, and then has both, in
 * their order.
 */
#include "ahead-case.h"

static void *reader(void *random)
{
    case_start(random);
    int first = reads(0, 1);
    assert(first == 1 || first == -ETIMEDOUT);
    for (int thing = first == 1 ? 2 : 1; thing <= THINGS; thing++)
        assert(reads(0, TN_FOREVER) == thing);
    return case_end();
}

static void *poller(void *random)
{
    case_start(random);
    receives();
    return case_end();
}

static void check(void)
{
    assert(ahead.first == NULL && atomic_load_explicit(&gone, memory_order_relaxed) == THINGS);
}

CASE_MAIN(open_way, check, reader, poller)
