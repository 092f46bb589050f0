/* SPDX-License-Identifier: MIT */
/*
 * Who reads gives up at any moment, and then waits for the next event before it calls, as one does that has taken all there
 * was: the event is still to come, or was kept.
 */
#include "descriptor-case.h"

static void *reader(void *random)
{
    case_start(random);
    int got = reads(0, 1);
    assert(got == 1 || got == -ETIMEDOUT);
    if (got < 0) {
        assert(tn_way_wait(&way, 0, true, TN_FOREVER, NULL) == 0);
        assert(atomic_load_explicit(&bytes, memory_order_relaxed) == 1);
    }
    return case_end();
}

static void *poller(void *random)
{
    case_start(random);
    comes(0);
    return case_end();
}

CASE_MAIN(open_way, nobody_waits, reader, poller)
