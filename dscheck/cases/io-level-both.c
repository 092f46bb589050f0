/* SPDX-License-Identifier: MIT */
/*
 * Registered for one event at a time (trigger=level): one waits until it can write, and one begins to read; whoever is told of first, the other one
 * is still registered, or again.
 */
#include "level-case.h"

static void *reader(void *random)
{
    case_start(random);
    assert(calls(TN_WAY_IN, 0, true) == 0);
    kernel_tells(ENDED);
    return case_end();
}

static void *writer(void *random)
{
    case_start(random);
    assert(tn_way_wait(&the_descriptor->out, 0, true, TN_FOREVER, NULL) == 0);
    kernel_tells(ENDED);
    return case_end();
}

static void *poller(void *random)
{
    case_start(random);
    kernel_tells(BYTE);
    polls();
    kernel_tells(OUT);
    polls_on(2);
    return case_end();
}

static void prepare(void)
{
    open_descriptor();
    assert(descriptor_arm(the_descriptor, FD, TN_WAY_OUT, 0) == 0);
}

CASE_MAIN(prepare, all_agree, reader, writer, poller)
