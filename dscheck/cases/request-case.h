/* SPDX-License-Identifier: MIT */
/*
 * What the cases on io/request.h share: a direction of a descriptor, and a poller with room for one call. The kernel writes
 * the call's buffer when it makes it, and never after it has told that it is over.
 */
#ifndef REQUEST_CASE_H
#define REQUEST_CASE_H

#include "list-case.h"

#include "io/request.h"

static struct tn_way way;
static struct tn_spinlock kernel;
static struct tn_request *asked; /* under the lock: nobody has made it yet */
static bool was_asked;           /* by who reads */
static bool withdrawn;           /* under the lock */
static bool comes;               /* something to read: else it is only over when it is withdrawn */
static _Atomic(bool)
    due; /* the kernel has something to do, or nothing any more; relaxed: the rest is under the lock */

static inline void open_way(void)
{
    memset(&way, 0, sizeof way);
    tn_spinlock_init(&kernel);
    asked = NULL;
    was_asked = withdrawn = false;
    atomic_init(&due, false);
}

static inline void is_due(void)
{
    atomic_store_explicit(&due, true, memory_order_relaxed);
}

static inline void nothing_is_left(void)
{
    assert(way.waits.ring == NULL && way.waits.lock == 0 && way.under_way == NULL && asked == NULL);
}

/* As the core asks the poller, under the way's lock. */
static inline int asks(void *generation, struct tn_request *rq, void **place)
{
    assert(*(uint32_t *)generation == tn_way_generation(&way));
    tn_spinlock_lock(&kernel);
    assert(asked == NULL);
    asked = rq;
    was_asked = true;
    tn_spinlock_unlock(&kernel);
    *place = &kernel;
    if (comes)
        is_due();
    return 0;
}

/* The kernel: a call for which there is something is made, one that was withdrawn is over. */
static inline void makes(void)
{
    unsigned spins = 0;
    while (!atomic_load_explicit(&due, memory_order_relaxed))
        tn_spin_wait(&spins);
    tn_spinlock_lock(&kernel);
    bool ended = withdrawn;
    struct tn_request *rq = asked;
    asked = NULL;
    tn_spinlock_unlock(&kernel);
    if (rq == NULL)
        return;
    struct tn_claims claims = {NULL, NULL};
    ++*(int *)rq->data; /* the buffer is there, whatever became of its fibre */
    tn_request_over(rq, ended ? -ECANCELED : 1, &claims);
    tn_claims_let_go(claims);
}

/* Any thread. */
static inline void withdraws(void *place, const struct tn_request *rq)
{
    assert(place == &kernel);
    tn_spinlock_lock(&kernel);
    withdrawn |= asked == rq;
    if (withdrawn)
        is_due();
    tn_spinlock_unlock(&kernel);
}

static inline tn_time for_ever(void)
{
    return TN_FOREVER;
}

/* How many bytes; or, negative, an errno value. */
static inline int reads(uint32_t generation, tn_time deadline)
{
    int buffer = 0;
    struct tn_request rq = {.kind = TN_REQUEST_READ, .data = &buffer};
    const struct tn_performs by = {asks, withdraws, for_ever, &generation};
    int n = (int)tn_request_do(&way, generation, &rq, deadline, NULL, &by);
    assert(buffer == was_asked); /* it is over, and nobody will write it any more */
    buffer = 2;
    return n;
}

#endif
