/* SPDX-License-Identifier: MIT */
/*
 * One has asked and given up, so that what comes is kept; then it only wants to know (tn_select), as io/io.c has it look. It is
 * told, and has it without waiting.
 */
#include "ahead-case.h"

static bool has_come(void)
{
    return tn_ahead_has(&ahead, 0);
}

static void *knows(void *random)
{
    struct tn_node node = {.wants = TN_WAY_KNOWS};
    case_start(random);
    if (reads(0, 1) == 1)
        return case_end();
    struct tn_waitlist *l = tn_waitlist_lock(&way.waits);
    bool come = has_come();
    if (!come)
        tn_waitlist_enter(l, &node);
    tn_waitlist_unlock(l);
    if (!come)
        assert(tn_waitlist_wait(l, &node, "case", TN_FOREVER, NULL) == 0 && node.told == 0);
    assert(reads(0, 1) == 1);
    return case_end();
}

static void *poller(void *random)
{
    unsigned spins = 0;
    case_start(random);
    while (!atomic_load_explicit(&due, memory_order_relaxed))
        tn_spin_wait(&spins);
    comes(0, true);
    return case_end();
}

static void check(void)
{
    assert(ahead.first == NULL && atomic_load_explicit(&gone, memory_order_relaxed) == 1);
}

CASE_MAIN(open_way, check, knows, poller)
