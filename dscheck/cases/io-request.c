/* SPDX-License-Identifier: MIT */
/*
 * Who reads gives up at any moment, while the call that it has asked for is made: it has what came, or nothing has come, and
 * its buffer is its own again.
 */
#include "request-case.h"

static void *reader(void *random)
{
    case_start(random);
    int got = reads(0, 1);
    assert(got == 1 || got == -ETIMEDOUT);
    return case_end();
}

static void *poller(void *random)
{
    case_start(random);
    makes();
    return case_end();
}

static void prepare(void)
{
    open_way();
    comes = true;
}

CASE_MAIN(prepare, nothing_is_left, reader, poller)
