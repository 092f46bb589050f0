/* SPDX-License-Identifier: MIT */
/*
 * What the cases on core/stopping.h share: a thread is asked to stop, for a look at it, by a signal that may come at any
 * time from then on; the list that asks is gone, and poisoned here, when it is over. The including case says how long the
 * asker waits: PATIENCE.
 *
 * The asker does what tn_threads_stop() and tn_threads_go() in core/platform_linux/look.c do.
 */
#ifndef LOOK_CASE_H
#define LOOK_CASE_H

#include "protocol-case.h"

#include "stopping.h"

enum { SELF = 7, OTHER, PC = 0x1000 };
static struct tn_stopping group;
static struct tn_stopped mine,
    others;                    /* the list: one that is not there any more, behind it the thread of the case */
static _Atomic(uint32_t) sent; /* the signal */
static bool went_on;           /* the thread's */
static bool stopped;           /* the asker's */

static void prepare(void)
{
    memset(&mine, 0, sizeof(mine));
    others = (struct tn_stopped){.next = &mine, .thread = OTHER};
    mine.thread = SELF;
    atomic_init(&group.list, NULL);
    atomic_init(&group.inside, 0);
    atomic_init(&sent, 0);
    atomic_init(&case_clock, 0);
    went_on = stopped = false;
}

static void *asker(void *random)
{
    case_start(random);
    tn_stopping_ask(&group, &others);
    atomic_store_explicit(&others.state, TN_STOP_NO, memory_order_relaxed);
    atomic_store_explicit(&sent, 1, memory_order_release);
    tn_unpark(&sent, 1);
    tn_stopping_await(&others, PATIENCE);
    stopped = atomic_load_explicit(&mine.state, memory_order_relaxed) == TN_STOPPED;
    if (stopped)
        assert(!went_on && mine.where.pc == PC);
    case_pause();
    tn_stopping_over(&group, &others);
    memset(&others.next, 0xa5, sizeof(others.next));
    memset(&mine.where, 0xa5, sizeof(mine.where));
    return case_end();
}

static void *asked(void *random)
{
    case_start(random);
    while (atomic_load_explicit(&sent, memory_order_acquire) == 0)
        tn_park(&sent, 0, CASE_FOREVER);
    tn_stopping_answer(&group, SELF, (struct tn_where){.pc = PC});
    went_on = true;
    return case_end();
}

static void check(void)
{
    assert(went_on && atomic_load_explicit(&group.inside, memory_order_relaxed) == 0);
    assert(stopped || PATIENCE != CASE_FOREVER);
}

#endif
