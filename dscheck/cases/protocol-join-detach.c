/* SPDX-License-Identifier: MIT */
/*
 * join: a child ends while it is detached by somebody who has looked at its control block before.  Exactly one of the
 * two releases it.
 */
#include "join-case.h"

static void prepare(void)
{
    prepare_join();
}

static void *end(void *random)
{
    case_start(random);
    end_child();
    return case_end();
}

static void *detach(void *random)
{
    case_start(random);
    int released = child.released; /* as one reads a fibre's name */
    uintptr_t state = tn_joinword_detach(&child.join);
    assert(released == 0 && (state == TN_JOIN_OPEN || state == TN_JOIN_DONE));
    if (state == TN_JOIN_DONE)
        take_value();
    return case_end();
}

static void check(void)
{
    check_released();
}

CASE_MAIN(prepare, check, end, detach)
