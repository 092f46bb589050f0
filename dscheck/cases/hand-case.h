/* SPDX-License-Identifier: MIT */
/*
 * What the cases on the watch that is handed on (core/idle.h, 5) share.  A timer is there, far in the future, for which
 * somebody who is idle must sleep with a deadline.  The first worker does when the case begins; then it comes off the
 * list, finds something, and is busy for ever.  The second one searches, and finds nothing.  A worker that has become the
 * watcher ends there, still on the list; one that sleeps without a deadline while nobody watches is never woken.
 *
 * The workers do what park() and search_over() in core/worker.c do.
 */
#ifndef HAND_CASE_H
#define HAND_CASE_H

#include "protocol-case.h"

enum { WORKERS = 2 };
#include "idle-lists.h"

static const tn_time FAR = 1000000;
static _Atomic(tn_time) earliest; /* relaxed, as tn_timers publishes it */

static void prepare_hand(tn_time first)
{
    prepare_lists();
    atomic_init(&case_clock, 0);
    atomic_init(&earliest, first);
    tn_idle_announce(&idle, &slot[0], TN_SLOT_PARKED);
    bool watches = tn_idle_watch(&idle, &slot[0], first);
    assert(watches);
    tn_idle_search_begin(&idle);
}

static void wake(struct tn_idle_slot *which)
{
    uint32_t how;
    struct tn_idle_slot *s = tn_idle_take(&idle, which, &how);
    if (s != NULL)
        tn_unpark(&s->word, 1);
}

static void search_over(void)
{
    if (!tn_idle_search_end(&idle) || tn_idle_workers(&idle) == 0)
        return;
    tn_fence_heavy();
    if (atomic_load_explicit(&earliest, memory_order_relaxed) != CASE_FOREVER && tn_idle_watcher(&idle, NULL) == NULL)
        wake(NULL);
}

/* The first worker, behind its sleep: it has something to run from here on. */
static void goes_to_work(void)
{
    if (tn_idle_withdraw(&idle, &slot[0]))
        tn_idle_search_begin(&idle);
    search_over();
}

static void *second(void *random)
{
    case_start(random);
    for (;;) {
        tn_idle_search_end(&idle);
        tn_idle_announce(&idle, &slot[1], TN_SLOT_PARKED);
        if (tn_idle_watch(&idle, &slot[1], atomic_load_explicit(&earliest, memory_order_relaxed)))
            break;
        tn_idle_sleep(&slot[1], CASE_FOREVER);
        if (tn_idle_withdraw(&idle, &slot[1]))
            tn_idle_search_begin(&idle);
    }
    return case_end();
}

/* It watches, or has been woken since: then it looks again. */
static void check(void)
{
    bool woken = atomic_load_explicit(&slot[1].word, memory_order_relaxed) == TN_SLOT_AWAKE;
    assert(woken ? slot[1].on == TN_ON_BUSY : idle.watcher == &slot[1]);
    assert(atomic_load_explicit(&hungry, memory_order_relaxed) == (uint32_t)(woken ? TN_ONE_SEARCHES : TN_ONE_IDLE));
}

#endif
