/* SPDX-License-Identifier: MIT */
/*
 * What the cases on io/ahead.h share: a direction of a descriptor, and a poller that receives two things when it was first
 * asked to.
 */
#ifndef AHEAD_CASE_H
#define AHEAD_CASE_H

#include "list-case.h"

#include "io/ahead.h"

enum { THINGS = 2 };

static struct tn_way way;
static struct tn_ahead ahead;
static struct tn_got things[THINGS];
static _Atomic(int) gone; /* relaxed: it is looked at when all have ended */
static _Atomic(bool) due; /* the poller receives, or need not any more; relaxed: the rest is under the lock */

static inline void open_way(void)
{
    memset(&way, 0, sizeof way);
    memset(&ahead, 0, sizeof ahead);
    memset(things, 0, sizeof things);
    atomic_init(&gone, 0);
    atomic_init(&due, false);
}

static inline void is_gone(struct tn_got *got, bool used)
{
    (void)got, (void)used;
    atomic_fetch_add_explicit(&gone, 1, memory_order_relaxed);
}

static inline void is_due(void)
{
    atomic_store_explicit(&due, true, memory_order_relaxed);
}

/* One thing at a time fits. */
static int64_t take(struct tn_request *rq, int64_t before, struct tn_got *got)
{
    if (before != 0)
        return 0;
    *(int *)rq->data = (int)(got - things) + 1;
    got->used = 1;
    return 1;
}

struct asker {
    uint32_t generation;
    void *receives_at; /* NULL: its worker has no place for that */
};

static int asks(void *by, struct tn_request *rq, void **place)
{
    int64_t result = 0;
    struct tn_claims none = {NULL, NULL};
    const struct asker *asker = by;
    *place = &ahead;
    enum tn_asked asked = tn_ahead_ask(&ahead, asker->generation, rq, take, asker->receives_at, &result);
    if (asked == TN_ASKED_REFUSED)
        return ENOSYS;
    if (asked == TN_ASKED_OVER)
        tn_request_over(rq, result, &none);
    if (asked == TN_ASKED_RECEIVE)
        is_due();
    return 0;
}

static void withdraws(void *place, const struct tn_request *rq)
{
    struct tn_claims claims = {NULL, NULL};
    assert(place == &ahead);
    if (!tn_ahead_withdraw(&ahead, rq))
        return;
    tn_request_over((struct tn_request *)(uintptr_t)rq, -ECANCELED, &claims);
    tn_claims_let_go(claims);
}

static inline tn_time for_ever(void)
{
    return TN_FOREVER;
}

/* Which thing it was; or, negative, an errno value. */
static inline int reads_by(struct asker by_whom, tn_time deadline)
{
    int thing = 0;
    struct tn_request rq = {.kind = TN_REQUEST_READ, .data = &thing, .n = 1};
    const struct tn_performs by = {asks, withdraws, for_ever, &by_whom};
    int n = (int)tn_request_do(&way, by_whom.generation, &rq, deadline, NULL, &by);
    assert((n == 1) == (thing != 0));
    return n == 1 ? thing : n;
}

static inline int reads(uint32_t generation, tn_time deadline)
{
    return reads_by((struct asker){generation, &due}, deadline);
}

/* The poller, of generation 0. */
static inline void receives(void)
{
    unsigned spins = 0;
    while (!atomic_load_explicit(&due, memory_order_relaxed))
        tn_spin_wait(&spins);
    for (int i = 0; i < THINGS; i++) {
        struct tn_claims claims = {NULL, NULL};
        int64_t result = 1;
        things[i].result = 1;
        things[i].gone = is_gone;
        struct tn_request *rq = tn_ahead_comes(&ahead, 0, &things[i], i + 1 < THINGS, take, &result);
        if (rq != NULL)
            tn_request_over(rq, result, &claims);
        tn_claims_let_go(claims);
    }
}

#endif
