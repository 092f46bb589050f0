/* SPDX-License-Identifier: MIT */
/*
 * join: a child ends while a fibre joins it; an end that finds the joiner parked, and has nothing else to run, passes
 * its thread on to it without a read-modify-write, as exit_fibre() in core/fibre.c does.
 */
#include "join-case.h"

static void prepare(void)
{
    prepare_join();
}

static void *end(void *random)
{
    case_start(random);
    uintptr_t found = tn_joinword_look(&child.join);
    if (tn_joinword_is_fibre(found)) {
        child.value = VALUE;
        tn_joinword_pass(&child.join);
        make_ready((struct joiner *)found);
    } else {
        end_child();
    }
    return case_end();
}

static void *join(void *random)
{
    uintptr_t found = TN_JOIN_OPEN;

    case_start(random);
    joiner.context = 1;
    if (!tn_joinword_register(&child.join, (uintptr_t)&joiner, &found)) {
        assert(found == TN_JOIN_DONE);
        make_ready(&joiner);
    }
    switch_away(&joiner);
    assert(tn_joinword_look(&child.join) == TN_JOIN_DONE);
    take_value();
    return case_end();
}

static void check(void)
{
    check_released();
}

CASE_MAIN(prepare, check, end, join)
