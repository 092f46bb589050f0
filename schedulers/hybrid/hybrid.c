/* SPDX-License-Identifier: MIT
 *
 * hybrid: between fifo and lifo (003 §4.2.2). The local queues of parts/local.h, of which the owner may take either end:
 *
 *   policy=      the owner takes next                          thieves take
 *   stochastic   with a probability of p percent the oldest,   the oldest
 *                else the newest
 *   switch       n times the newest, n times the oldest, …     the oldest
 *   reverse      the top of a stack that is turned upside      the bottom of that stack
 *                down every n times
 *
 * "n times" counts what next() finds, wherever.
 *
 * Reversal. The queue is a stack in two parts, `open` below `private`. Turned over, what was at the bottom of open must lie
 * on top of all. The open part is turned by one bit, beside thieves and without a lock (queues/spmc_deque.h). The private
 * part, which only its owner touches, is pushed onto it first, and goes round with it. Where there is not enough room, as
 * many as are too many come off the bottom before: they are what will be on top, and make up the new private part (on top
 * of what is left of the old one, if that was larger than the whole of open). So no bound falsifies the order, and what it
 * costs is a copy of at most `private` pointers every n times; with private=0 nothing is copied at all.
 */
#define TN_KNOB_OWNER    hybrid
#define LOCAL_LIFO       0
#define LOCAL_DEQUE      1
#define LOCAL_NEWEST(me) hybrid_newest(me)
#define LOCAL_OWN_KNOBS(K)                                                                                        \
    K(policy, "stochastic|switch|reverse", 0, 0, 2, "", "how the two ends of a queue take turns", "003 §4.2.2")   \
    K(n, NULL, 64, 1, 1 << 20, "fibres", "switch, reverse: after how many", "003 §4.2.2")                         \
    K(p, NULL, 50, 0, 100, "percent", "stochastic: how likely the oldest is", "003 §4.2.2")                       \
    K(capacity, NULL, 128, 1, 1 << 15, "fibres", "size of each worker's open part, rounded up to a power of two", \
      "003 §7.1.1")
#define LOCAL_OWN_COUNTERS                                                              \
    [HYBRID_OLDEST] = {"oldest", "fibres that were next because the oldest was to be"}, \
    [HYBRID_TURNS] = {"turns", "switch: times that the other end's turn came; reverse: reversals"},
#define LOCAL_OWN_NEEDS(cl)                                                          \
    NEEDS(cl, n, KNOB(cl, policy) != STOCHASTIC, "policy=switch or policy=reverse"), \
        NEEDS(cl, p, KNOB(cl, policy) == STOCHASTIC, "policy=stochastic"),
#define HYBRID_OLDEST LOCAL_COUNTERS
#define HYBRID_TURNS  (LOCAL_COUNTERS + 1)

#define LOCAL_CAPACITY_MAX (1 << 15) /* what an index of queues/spmc_deque.h holds */

#include "scheduler.h"

enum { STOCHASTIC, SWITCH, REVERSE };

static inline bool hybrid_newest(struct tn_worker *me);
#include "parts/either.h"

struct hybrid_worker {
    struct local_worker local;
    /* owner only */
    bool newest;     /* which end is next */
    uint32_t left;   /* switch, reverse: until the next turn */
    void **overturn; /* reverse: room for a private part */
};

static inline struct hybrid_worker *hybrid_of(struct tn_worker *w)
{
    return w->sched;
}

static inline bool hybrid_newest(struct tn_worker *me)
{
    return hybrid_of(me)->newest;
}

static inline void **hybrid_slot(struct local_worker *l, uint32_t i)
{
    return &l->slot[i & (l->limit - 1)];
}

/* See "Reversal" above. */
static __attribute__((noinline)) void hybrid_reverse(struct tn_worker *me)
{
    struct hybrid_worker *h = hybrid_of(me);
    struct local_worker *l = &h->local;
    uint32_t turn = tn_biased_enter(&l->lock);
    uint32_t n = l->tail - l->head, up = 0, capacity = (uint32_t)OPEN(capacity)(l->open);
    uint32_t keep = n > capacity ? n - capacity : 0;            /* of the private part, its oldest */
    uint32_t room = capacity - (uint32_t)OPEN(length)(l->open); /* thieves only make more of it */
    while (n - keep > room + up && (h->overturn[up] = OPEN(pop_bottom)(l->open)) != NULL)
        up++;
    for (uint32_t i = keep; i < n; i++)
        OPEN(push)(l->open, *hybrid_slot(l, l->head + i));
    OPEN(reverse)(l->open);
    l->fresh = false; /* the newest is at the bottom now */
    l->tail = l->head + keep;
    for (uint32_t i = 0; i < keep / 2; i++) {
        void **low = hybrid_slot(l, l->head + i), **high = hybrid_slot(l, l->tail - 1 - i), *swap = *low;
        *low = *high;
        *high = swap;
    }
    for (uint32_t i = up; i-- > 0;)
        *hybrid_slot(l, l->tail++) = h->overturn[i];
    local_publish(l);
    tn_biased_leave(&l->lock, turn);
    if (n != 0)
        tn_notify(me->cluster); /* who looked for work meanwhile may have seen it in neither part */
}

static __attribute__((noinline)) void hybrid_turn(struct tn_worker *me)
{
    struct hybrid_worker *h = hybrid_of(me);
    h->left = (uint32_t)KNOB(me->cluster, n);
    TN_COUNT_ADD(me, HYBRID_TURNS, 1);
    if (KNOB(me->cluster, policy) == REVERSE)
        hybrid_reverse(me);
    else
        h->newest = !h->newest;
}

static struct tn_fibre *hybrid_next(struct tn_worker *me, bool fair)
{
    struct hybrid_worker *h = hybrid_of(me);
    if (KNOB(me->cluster, policy) == STOCHASTIC)
        h->newest = (int64_t)((tn_random(me) >> 32) * 100 >> 32) >= KNOB(me->cluster, p);
    else if (h->left == 0)
        hybrid_turn(me);
    struct tn_fibre *f = either_next(me, fair);
    h->left -= f != NULL && KNOB(me->cluster, policy) != STOCHASTIC;
    TN_COUNT_ADD(me, HYBRID_OLDEST, f != NULL && !h->newest);
    return f;
}

static int hybrid_worker_init(struct tn_worker *me)
{
    struct hybrid_worker *h = hybrid_of(me);
    h->newest = true;
    h->left = (uint32_t)KNOB(me->cluster, n);
    int rc = either_worker_init(me);
    if (rc != 0)
        return rc;
    h->overturn = tn_sched_alloc((h->local.limit + 1) * sizeof *h->overturn);
    if (h->overturn == NULL)
        either_worker_fini(me);
    return h->overturn != NULL ? 0 : ENOMEM;
}

static void hybrid_worker_fini(struct tn_worker *me)
{
    struct hybrid_worker *h = hybrid_of(me);
    tn_sched_free(h->overturn, (h->local.limit + 1) * sizeof *h->overturn);
    either_worker_fini(me);
}

TN_SCHEDULER(hybrid) = {
    .name = "hybrid",
    .summary = "between oldest and newest first: at random, in turns, or a stack that is reversed now and then",
    .cluster_size = sizeof(struct local_cluster),
    .worker_size = sizeof(struct hybrid_worker),
    .knobs = local_knobs,
    .n_knobs = sizeof local_knobs / sizeof local_knobs[0],
    .counters = local_counters,
    .n_counters = sizeof local_counters / sizeof local_counters[0],
    .cluster_init = either_cluster_init,
    .cluster_fini = either_cluster_fini,
    .worker_init = hybrid_worker_init,
    .worker_fini = hybrid_worker_fini,
    .worker_leave = either_worker_leave,
    .ready = either_ready,
    .ready_n = either_ready_n,
    .next = hybrid_next,
    .steal = local_steal,
    .victim = either_victim,
    .may_have_work = either_may_have_work,
    .queued = either_queued,
    .drain = either_drain,
};
