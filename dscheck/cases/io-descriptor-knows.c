/* SPDX-License-Identifier: MIT */
/*
 * One reads, one only wants to know whether there is something (tn_select), as io/io.c has it look: a byte comes, and both
 * are told.
 */
#include "descriptor-case.h"

static void *reader(void *random)
{
    case_start(random);
    assert(reads(0, TN_FOREVER) == 1);
    return case_end();
}

static _Atomic(bool) came; /* relaxed: as the bytes */

static void *knows(void *random)
{
    struct tn_node node = {.wants = TN_WAY_KNOWS};
    case_start(random);
    struct tn_waitlist *l = tn_waitlist_lock(&way.waits);
    if (atomic_load_explicit(&came, memory_order_relaxed)) {
        tn_waitlist_unlock(l);
        return case_end();
    }
    tn_waitlist_enter(l, &node);
    tn_waitlist_unlock(l);
    assert(tn_waitlist_wait(l, &node, "case", TN_FOREVER, NULL) == 0 && node.told == 0);
    return case_end();
}

static void *poller(void *random)
{
    case_start(random);
    atomic_store_explicit(&came, true, memory_order_relaxed);
    comes(0);
    return case_end();
}

static void prepare(void)
{
    open_way();
    atomic_init(&came, false);
}

CASE_MAIN(prepare, nobody_waits, reader, knows, poller)
