/* SPDX-License-Identifier: MIT */
/*
 * join: a child ends while a fibre joins it without a deadline, registering after it has left its stack.  The joiner
 * goes on exactly once, sees the value, and releases the child, which nobody touches after that.
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

static void *join(void *random)
{
    case_start(random);
    if (tn_joinword_look(&child.join) != TN_JOIN_DONE) {
        uintptr_t found = TN_JOIN_OPEN;
        joiner.context = 1;
        if (!tn_joinword_register(&child.join, (uintptr_t)&joiner, &found)) {
            assert(found == TN_JOIN_DONE);
            make_ready(&joiner);
        }
        switch_away(&joiner);
        assert(joiner.resumed == 1);
    }
    take_value();
    return case_end();
}

static void check(void)
{
    check_released();
}

CASE_MAIN(prepare, check, end, join)
