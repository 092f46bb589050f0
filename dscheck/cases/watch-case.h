/* SPDX-License-Identifier: MIT */
/*
 * What the cases on who sleeps with a deadline on behalf of all (core/idle.h) share.  A timer far in the future is there,
 * which the last of WORKERS is about to watch while the others sleep; then one that is due soon is armed by somebody who
 * is busy for ever.
 * Somebody must come to sleep with the near deadline.  The far one never comes: a worker that sleeps until then is as good
 * as lost, and so is the near timer if nobody else watches it.
 *
 * The workers do what park() in core/worker.c does, and what wait_registered() and wake_watcher() do.
 */
#ifndef WATCH_CASE_H
#define WATCH_CASE_H

#include "protocol-case.h"

#include "idle-lists.h"

enum { NEAR = 1000, FAR = 1000000 };
static _Atomic(tn_time) earliest; /* relaxed, as tn_timers publishes it */
static _Atomic(bool) fired;

static void prepare(void)
{
    prepare_lists();
    atomic_init(&case_clock, 0);
    atomic_init(&earliest, FAR);
    atomic_init(&fired, false);
    for (int i = WORKERS; i-- > 0;)
        tn_idle_announce(&idle, &slot[i], TN_SLOT_PARKED);
}

static void wake(struct tn_idle_slot *s)
{
    if (s != NULL)
        tn_unpark(&s->word, 1);
}

static void *armer(void *random)
{
    uint32_t how;

    case_start(random);
    atomic_store_explicit(&earliest, NEAR, memory_order_relaxed);
    tn_fence_light();
    if (tn_idle_workers(&idle) != 0)
        wake(tn_idle_take(&idle, tn_idle_watcher(&idle, NULL), &how));
    return case_end();
}

static void stay(int me, tn_time deadline)
{
    tn_idle_sleep(&slot[me], deadline == FAR ? CASE_FOREVER : deadline);
    if (!tn_idle_withdraw(&idle, &slot[me]))
        tn_idle_search_end(&idle);
}

static void look(int me)
{
    tn_time deadline = atomic_load_explicit(&earliest, memory_order_relaxed);
    if (atomic_load_explicit(&fired, memory_order_relaxed))
        deadline = 0; /* it does not stay */
    else if (!tn_idle_watch(&idle, &slot[me], deadline))
        deadline = CASE_FOREVER;
    stay(me, deadline);
}

static void park(int me)
{
    tn_idle_announce(&idle, &slot[me], TN_SLOT_PARKED);
    look(me);
}

static void worker(int me)
{
    while (!atomic_load_explicit(&fired, memory_order_relaxed)) {
        if (atomic_load_explicit(&earliest, memory_order_relaxed) <= tn_now()) {
            /* The timer's fibre tells all to stop. */
            atomic_store_explicit(&fired, true, memory_order_relaxed);
            tn_fence_light();
            for (int i = 0; i < WORKERS; i++) {
                uint32_t how;
                if (tn_idle_take_this(&idle, &slot[i], &how))
                    wake(&slot[i]);
            }
        } else {
            park(me);
        }
    }
}

static void *watcher(void *random)
{
    case_start(random);
    look(WORKERS - 1);
    worker(WORKERS - 1);
    return case_end();
}
static inline void *sleeper(void *random)
{
    case_start(random);
    stay(0, CASE_FOREVER);
    worker(0);
    return case_end();
}

static void check(void)
{
    assert(atomic_load_explicit(&fired, memory_order_relaxed));
    assert(idle.idle.head == NULL && idle.watcher == NULL);
    assert(atomic_load_explicit(&hungry, memory_order_relaxed) == 0);
}

#endif
