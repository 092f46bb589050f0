/* SPDX-License-Identifier: MIT */
/*
 * join: a child ends while a thread that is no worker joins it.  The word that the thread sleeps on lies on its stack:
 * it is gone, and poisoned here, as soon as the join returns.
 */
#include "join-case.h"

static _Alignas(16) struct tn_joiner self;

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
    atomic_init(&self.done, TN_JOINER_WAITS);
    block();
    uintptr_t found = TN_JOIN_OPEN;
    if (tn_joinword_register(&child.join, (uintptr_t)&self | TN_JOIN_THREAD, &found)) {
        while (tn_joiner_look(&self) == TN_JOINER_WAITS)
            tn_park(&self.done, TN_JOINER_WAITS, CASE_FOREVER);
        tn_joinword_await(&child.join);
    } else {
        assert(found == TN_JOIN_DONE);
        tn_joiner_decide(&self, TN_JOINER_TOLD, unblock, block);
    }
    atomic_store_explicit(&self.done, POISON, memory_order_relaxed);
    take_value();
    return case_end();
}

static void check(void)
{
    check_released();
    assert(atomic_load_explicit(&blocked, memory_order_relaxed) == 0);
    assert(atomic_load_explicit(&self.done, memory_order_relaxed) == POISON);
}

CASE_MAIN(prepare, check, end, join)
