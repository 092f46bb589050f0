/* SPDX-License-Identifier: MIT */
/*
 * Registered for one event at a time (trigger=level): one reads two bytes, which come one after the other. It is told of each, also if it
 * registers anew just when the first event is told.
 */
#include "level-case.h"

static void *reader(void *random)
{
    case_start(random);
    for (int i = 0; i < 2; i++)
        assert(calls(TN_WAY_IN, 0, false) == 0);
    kernel_tells(ENDED);
    return case_end();
}

static void *poller(void *random)
{
    case_start(random);
    kernel_tells(BYTE);
    polls();
    kernel_tells(BYTE);
    polls_on(1);
    return case_end();
}

CASE_MAIN(open_descriptor, all_agree, reader, poller)
