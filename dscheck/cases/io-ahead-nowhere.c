/* SPDX-License-Identifier: MIT */
/*
 * Who asks gives up at any moment, and then asks from where nothing can be received: it has what was received, or still is, in its order,
 * and is to make the call itself only when that is over.
 */
#include "ahead-case.h"

static void *reader(void *random)
{
    case_start(random);
    int first = reads(0, 1);
    assert(first == 1 || first == -ETIMEDOUT);
    for (int thing = first == 1 ? 2 : 1; thing <= THINGS; thing++)
        assert(reads_by((struct asker){0, NULL}, TN_FOREVER) == thing);
    assert(reads_by((struct asker){0, NULL}, TN_FOREVER) == -EAGAIN);
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
    assert(ahead.first == NULL && !ahead.receives && atomic_load_explicit(&gone, memory_order_relaxed) == THINGS);
}

CASE_MAIN(open_way, check, reader, poller)
