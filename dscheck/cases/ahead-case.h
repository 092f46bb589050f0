/* SPDX-License-Identifier: MIT */
/*
 * What the cases on io/ahead.h share: a direction of a descriptor, and a poller that receives some things when it was first
 * asked to.
 */
#ifndef AHEAD_CASE_H
#define AHEAD_CASE_H

#include "list-case.h"

#include "io/ahead.h"

#ifndef THINGS
#define THINGS 2 /* that are received */
#endif

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

/* Who asks, of which generation; receives_at: NULL, its worker has no place for that. */
struct asker {
    uint32_t generation;
    void *receives_at;
};

static int receive(void *by, struct tn_ahead *a, uint64_t key, struct tn_request *rq, tn_time deadline)
{
    const struct asker *asker = by;
    (void)deadline;
    if (asker->receives_at == NULL)
        return ENOSYS;
    tn_ahead_begin(a, key, rq->kind == TN_REQUEST_ACCEPT, asker->receives_at);
    is_due();
    return 0;
}

/* Which thing it was; or, negative, an errno value. */
static inline int reads_by(struct asker by_whom, tn_time deadline)
{
    int thing = 0;
    struct tn_request rq = {.kind = TN_REQUEST_READ, .data = &thing, .n = 1};
    const struct tn_receives by = {take, receive, &by_whom};
    int n = (int)tn_ahead_do(&way, by_whom.generation, &ahead, by_whom.generation, &rq, deadline, NULL, &by);
    assert((n == 1) == (thing != 0));
    return n == 1 ? thing : n;
}

static inline int reads(uint32_t generation, tn_time deadline)
{
    return reads_by((struct asker){generation, &due}, deadline);
}

/* The poller, of generation 0, as io/pollers/uring_ahead.h. */
static inline void comes(int thing, bool more)
{
    struct tn_claims claims = {NULL, NULL};
    things[thing].result = 1;
    things[thing].gone = is_gone;
    tn_ahead_comes(&ahead, 0, &things[thing], more, 1);
    tn_way_event(&way, 0, false, &claims);
    tn_claims_let_go(claims);
}

static inline void receives(void)
{
    unsigned spins = 0;
    while (!atomic_load_explicit(&due, memory_order_relaxed))
        tn_spin_wait(&spins);
    for (int i = 0; i < THINGS; i++)
        comes(i, i + 1 < THINGS);
}

#endif
