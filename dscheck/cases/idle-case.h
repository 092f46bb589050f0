/* SPDX-License-Identifier: MIT */
/*
 * What the cases on parking and waking (core/idle.h) share: a waker that makes ITEMS items, and workers that look for
 * GETS each and then are busy for ever, so that an item that nobody is woken for is lost.
 *
 * The workers do what core/worker.c does (search, park, search_over), the waker what notify() in core/switch.c does.
 * Who is taken off the list and who withdraws must add up: each announcement ends by exactly one of the two.
 *
 * An including case defines WORKERS, ITEMS and GETS. When it begins the last ASLEEP workers sleep and, if THERE is not 0,
 * so many items are there, for which the first worker, which searches, has been woken.
 */
#ifndef IDLE_CASE_H
#define IDLE_CASE_H

#include "protocol-case.h"

#include "idle-lists.h"

#ifndef CASE_WANTED /* what the waker asks */
#define CASE_WANTED tn_idle_wanted
#endif

static _Atomic(int) items; /* stands for the ready queues; relaxed: the fences of the protocol must do */
static int announced[WORKERS], withdrawn[WORKERS], woken[WORKERS], got[WORKERS]; /* each worker's own */
static _Atomic(int) taken[WORKERS];

static void prepare(void)
{
    prepare_lists();
    atomic_init(&idle.shown, 0);
    for (int i = 0; i < WORKERS; i++) {
        announced[i] = withdrawn[i] = woken[i] = got[i] = 0;
        atomic_init(&taken[i], 0);
    }
    for (int i = WORKERS - ASLEEP; i < WORKERS; i++, announced[i - 1]++)
        tn_idle_announce(&idle, &slot[i], TN_SLOT_PARKED);
    atomic_init(&items, THERE);
    if (THERE != 0)
        tn_idle_search_begin(&idle);
}

/* ---- the waker's side ---- */

static void wake_worker(void)
{
    uint32_t how;
    struct tn_idle_slot *s = tn_idle_take(&idle, NULL, &how);
    if (s == NULL)
        return;
    assert(how == TN_SLOT_PARKED);
    atomic_fetch_add_explicit(&taken[s - slot], 1, memory_order_relaxed); /* relaxed: read after the join */
    tn_unpark(&s->word, 1);
}

static void publish(void)
{
    atomic_fetch_add_explicit(&items, 1, memory_order_relaxed);
}

static void *waker(void *random)
{
    case_start(random);
    for (int i = 0; i < ITEMS; i++) {
        publish();
        if (CASE_WANTED(&idle, true))
            wake_worker();
    }
    return case_end();
}

/* ---- the worker's side ---- */

static bool next(void)
{
    int n = atomic_load_explicit(&items, memory_order_relaxed);
    while (n > 0)
        if (atomic_compare_exchange_weak_explicit(&items, &n, n - 1, memory_order_relaxed, memory_order_relaxed))
            return true;
    return false;
}

static bool may_have_work(void)
{
    return atomic_load_explicit(&items, memory_order_relaxed) > 0;
}

static void stay(int me, bool *searching)
{
    if (!may_have_work())
        tn_idle_sleep(&slot[me], CASE_FOREVER);
    if (tn_idle_withdraw(&idle, &slot[me])) {
        withdrawn[me]++;
        tn_idle_search_begin(&idle);
    } else {
        woken[me]++; /* by whoever has begun the search */
    }
    *searching = true;
}

static void park(int me, bool *searching)
{
    if (*searching) {
        *searching = false;
        tn_idle_search_end(&idle);
    }
    tn_idle_announce(&idle, &slot[me], TN_SLOT_PARKED);
    announced[me]++;
    stay(me, searching);
}

static void search_over(bool *searching)
{
    if (!*searching)
        return;
    *searching = false;
    if (!tn_idle_search_end(&idle) || tn_idle_workers(&idle) == 0)
        return;
    tn_fence_heavy();
    if (may_have_work())
        wake_worker();
}

static void worker(int me)
{
    bool searching = THERE != 0 && me == 0;
    if (me >= WORKERS - ASLEEP)
        stay(me, &searching);
    while (got[me] < GETS) {
        if (!next()) {
            if (!searching) {
                searching = true;
                tn_idle_search_begin(&idle);
            }
            if (!next()) {
                park(me, &searching);
                continue;
            }
        }
        got[me]++;
        search_over(&searching);
    }
}

static void *worker0(void *random)
{
    case_start(random);
    worker(0);
    return case_end();
}
static inline void *worker1(void *random)
{
    case_start(random);
    worker(1);
    return case_end();
}

static void check(void)
{
    assert(atomic_load_explicit(&items, memory_order_relaxed) == 0);
    for (int i = 0; i < WORKERS; i++) {
        assert(got[i] == GETS);
        assert(announced[i] == withdrawn[i] + woken[i]);
        assert(woken[i] == atomic_load_explicit(&taken[i], memory_order_relaxed));
    }
    assert(atomic_load_explicit(&busy, memory_order_relaxed) == WORKERS);
    assert(idle.idle.head == NULL && atomic_load_explicit(&hungry, memory_order_relaxed) == 0);
}

#endif
