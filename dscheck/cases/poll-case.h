/* SPDX-License-Identifier: MIT */
/*
 * What the cases on the turn in the poller (core/idle.h, 6) share. Once something is armed, one of the idle must wait in the
 * poller: who does ends there, still on the list; who sleeps on its word while nobody does is never woken.
 *
 * The workers do what park() and search_over() in core/worker.c do, who arms what notify() in core/switch.c does.
 */
#ifndef POLL_CASE_H
#define POLL_CASE_H

#include "protocol-case.h"

#include "idle-lists.h"

static _Atomic(bool) armed; /* relaxed, as pollers have it */

static void prepare_poll(bool is_armed)
{
    prepare_lists();
    atomic_init(&idle.polled, false);
    atomic_init(&armed, is_armed);
}

static bool pending(void)
{
    return atomic_load_explicit(&armed, memory_order_relaxed);
}

static bool unpolled(void)
{
    return pending() && !tn_idle_polled(&idle);
}

static void wake(struct tn_idle_slot *which)
{
    uint32_t how;
    struct tn_idle_slot *s = tn_idle_take(&idle, which, &how);
    if (s != NULL)
        tn_unpark(&s->word, 1);
}

/* By a worker that searches, and finds nothing. */
static void becomes_idle(int me)
{
    for (;;) {
        bool polling = pending() && tn_idle_poll_begin(&idle);
        tn_idle_search_end(&idle);
        tn_idle_announce(&idle, &slot[me], polling ? TN_SLOT_POLLING : TN_SLOT_PARKED);
        if (polling)
            return;
        if (!unpolled())
            tn_idle_sleep(&slot[me], CASE_FOREVER);
        if (tn_idle_withdraw(&idle, &slot[me]))
            tn_idle_search_begin(&idle);
    }
}

static inline void search_over(void)
{
    if (!tn_idle_search_end(&idle) || tn_idle_workers(&idle) == 0)
        return;
    tn_fence_heavy();
    if (unpolled())
        wake(NULL);
}

/* The last worker waits in the poller, unless it has been woken since: then it looks again. */
static void check(void)
{
    bool woken = slot[WORKERS - 1].on == TN_ON_BUSY;
    assert(tn_idle_polled(&idle));
    assert(atomic_load_explicit(&slot[WORKERS - 1].word, memory_order_relaxed) ==
           (uint32_t)(woken ? TN_SLOT_AWAKE : TN_SLOT_POLLING));
    assert(atomic_load_explicit(&hungry, memory_order_relaxed) == (uint32_t)(woken ? TN_ONE_SEARCHES : TN_ONE_IDLE));
}

#endif
