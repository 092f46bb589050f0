/* SPDX-License-Identifier: MIT
 *
 * Several FIFO queues in place of one (003 §4.3.1), each under a lock of its own, and a bound on how far they may get out of
 * step, as that of k-FIFO queues: no fibre is taken while more than `bound` older ones are queued.
 *
 * For the bound each fibre gets a stamp, in the order in which fibres are inserted, and each shard shows the stamp of its
 * oldest. A taker reads how many stamps there have been, then looks at all shards; the least of all that is its floor. It
 * may take what is stamped up to floor + bound, and looks at the stamp once more inside the lock.
 *
 * Proof of the bound. Let a fibre stamped s be taken while y is the least stamp that is queued. Stamps are drawn inside the
 * lock of the shard that they go to, so a shard's first is its oldest, and what it shows is at most y from before y is drawn
 * until its fibre is taken: an empty shard shows the present number of stamps first (S0). Either y was drawn before the
 * taker read that number, and then, by pair S0, the taker saw at most y in that shard; or after, and the number that it
 * read is at most y. So floor <= y and s <= y + bound. What is older than s and queued has stamps from y to s - 1, which are
 * all different: at most `bound` fibres.
 *
 * Progress. The floor is no more than the oldest fibre's stamp, and no more than the next one to be drawn. If nobody else
 * does anything the oldest fibre may be taken; if somebody took it, somebody got on.
 *
 * Without a bound nothing is stamped, and shards show 0 where there is something.
 *
 * Pairs:  S0 a stamp is drawn  ->  S0 a taker reads how many there have been.  The rest is that of queues/spinlock.h.
 */
#ifndef TN_PARTS_SHARDS_H
#define TN_PARTS_SHARDS_H

#include "scheduler.h"
#include "queues/spinlock.h"

struct tn_shard {
    _Alignas(TN_CACHE_LINE) struct tn_spinlock lock;
    struct tn_list list; /* under the lock */
    /* Written under the lock, read by anyone: how many, and from which stamp on. */
    _Alignas(TN_CACHE_LINE) _Atomic(size_t) length;
    _Atomic(uint64_t) oldest;
};

struct tn_shards {
    uint32_t n;
    int64_t bound; /* negative: none */
    struct tn_shard *shard;
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) stamps; /* drawn so far */
};

#define TN_SHARD_EMPTY UINT64_MAX

/* Who knows the bound when it is compiled says so, and then pays nothing for none. */
#ifndef TN_SHARDS_BOUND
#define TN_SHARDS_BOUND(s) ((s)->bound)
#endif

/* The module's fibre_size is that of a stamp. */
static inline uint64_t *tn_shards_stamp_(struct tn_link *l)
{
    return tn_fibre_state(tn_fibre_of(l));
}

static inline int tn_shards_init(struct tn_shards *s, uint32_t n, int64_t bound)
{
    s->n = n;
    s->bound = bound;
    s->shard = tn_sched_alloc(n * sizeof *s->shard);
    for (uint32_t i = 0; s->shard != NULL && i < n; i++)
        atomic_init(&s->shard[i].oldest, TN_SHARD_EMPTY);
    return s->shard != NULL ? 0 : ENOMEM;
}

static inline void tn_shards_fini(struct tn_shards *s)
{
    tn_sched_free(s->shard, s->n * sizeof *s->shard);
}

static inline size_t tn_shards_length(struct tn_shards *s, uint32_t i)
{
    return atomic_load_explicit(&s->shard[i].length, memory_order_relaxed); /* relaxed: a hint */
}

/* The holder's last act before it unlocks. */
static inline void tn_shards_settle_(struct tn_shards *s, struct tn_shard *q)
{
    uint64_t oldest = q->list.head == NULL     ? TN_SHARD_EMPTY
                      : TN_SHARDS_BOUND(s) < 0 ? 0
                                               : *tn_shards_stamp_(q->list.head);
    atomic_store_explicit(&q->oldest, oldest, memory_order_relaxed);        /* relaxed: see the proof */
    atomic_store_explicit(&q->length, q->list.count, memory_order_relaxed); /* relaxed: a hint */
    tn_spinlock_unlock(&q->lock);
}

/* Behind the others of shard i. */
static inline void tn_shards_push(struct tn_shards *s, uint32_t i, struct tn_fibre *f)
{
    struct tn_shard *q = &s->shard[i];
    tn_spinlock_lock(&q->lock);
    if (TN_SHARDS_BOUND(s) >= 0) {
        if (q->list.head == NULL) { /* relaxed, both: S0 below publishes it, and a number that is too low is safe */
            uint64_t floor = atomic_load_explicit(&s->stamps, memory_order_relaxed);
            atomic_store_explicit(&q->oldest, floor, memory_order_relaxed);
        }
        *tn_shards_stamp_(&f->link) = atomic_fetch_add_explicit(&s->stamps, 1, memory_order_acq_rel); /* S0 acq_rel */
    }
    tn_list_push_back(&q->list, &f->link);
    tn_shards_settle_(s, q);
}

/* Up to which stamp may be taken now. */
static inline uint64_t tn_shards_limit(struct tn_shards *s)
{
    if (TN_SHARDS_BOUND(s) < 0)
        return 0;
    uint64_t floor = atomic_load_explicit(&s->stamps, memory_order_acquire); /* S0 acquire */
    for (uint32_t i = 0; i < s->n; i++) {
        uint64_t oldest =
            atomic_load_explicit(&s->shard[i].oldest, memory_order_relaxed); /* relaxed: see the proof */
        floor = oldest < floor ? oldest : floor;
    }
    return floor + (uint64_t)TN_SHARDS_BOUND(s);
}

/* Is there something in shard i that is newer than the limit? A hint. */
static inline bool tn_shards_beyond(struct tn_shards *s, uint32_t i, uint64_t limit)
{
    uint64_t oldest = atomic_load_explicit(&s->shard[i].oldest, memory_order_relaxed); /* relaxed: a hint */
    return oldest != TN_SHARD_EMPTY && oldest > limit;
}

/* The oldest of shard i, if it is not beyond the limit. NULL: none, or it is. */
static inline struct tn_fibre *tn_shards_take(struct tn_shards *s, uint32_t i, uint64_t limit)
{
    struct tn_shard *q = &s->shard[i];
    struct tn_link *l = NULL;
    if (atomic_load_explicit(&q->oldest, memory_order_relaxed) > limit) /* relaxed: a hint that saves the lock */
        return NULL;
    tn_spinlock_lock(&q->lock);
    if (q->list.head != NULL && (TN_SHARDS_BOUND(s) < 0 || *tn_shards_stamp_(q->list.head) <= limit)) {
        l = tn_list_pop_front(&q->list);
        if (q->list.head != NULL)
            tn_prefetch(q->list.head, q->list.head->next);
    }
    tn_shards_settle_(s, q);
    return tn_fibre_of(l);
}

#endif
