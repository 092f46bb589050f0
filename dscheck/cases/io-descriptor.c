/* SPDX-License-Identifier: MIT */
/*
 * Two bytes come, one after the other, and one reads until it has both.
 */
#include "descriptor-case.h"

static void *reader(void *random)
{
    case_start(random);
    for (int n = 0; n < 2;) {
        int got = reads(0, TN_FOREVER);
        assert(got > 0);
        n += got;
    }
    return case_end();
}

static void *poller(void *random)
{
    case_start(random);
    comes(0);
    comes(0);
    return case_end();
}

CASE_MAIN(open_way, nobody_waits, reader, poller)
