/* SPDX-License-Identifier: MIT */
/*
 * The poller's thread polls while a worker is idle: one is so for a moment, another one until it is told of an event.
 */
#include "protocol-case.h"

#include "io/pollers/opportunity.h"

static struct tn_opportunity opportunity;
static _Atomic(uint32_t) told;

static void prepare(void)
{
    atomic_init(&opportunity.idle, 0);
    atomic_init(&told, 0);
}

static void *passes(void *random)
{
    case_start(random);
    tn_opportunity_idle(&opportunity);
    tn_opportunity_busy(&opportunity);
    return case_end();
}

static void *stays(void *random)
{
    case_start(random);
    tn_opportunity_idle(&opportunity);
    while (atomic_load_explicit(&told, memory_order_relaxed) == 0) /* relaxed: nothing else is read */
        tn_park(&told, 0, CASE_FOREVER);
    tn_opportunity_busy(&opportunity);
    return case_end();
}

static void *thread(void *random)
{
    case_start(random);
    assert(tn_opportunity_await(&opportunity, CASE_FOREVER));
    atomic_store_explicit(&told, 1, memory_order_relaxed); /* relaxed: so too */
    tn_unpark(&told, 1);
    return case_end();
}

static void check(void)
{
    assert(atomic_load_explicit(&opportunity.idle, memory_order_relaxed) == 0);
}

CASE_MAIN(prepare, check, passes, stays, thread)
