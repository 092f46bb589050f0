/* SPDX-License-Identifier: MIT
 *
 * Local queues with stealing (003 §4.3.1, §4.4.1), the part that fifo and lifo share. The module that includes
 * this defines TN_KNOB_OWNER, and LOCAL_LIFO as 0 or 1; with LOCAL_DEQUE besides, the owner may take from both ends of its
 * queue, and LOCAL_NEWEST says from which (hybrid). Here is what an owner does with its own queue as long as its
 * knobs ask for nothing else (choices.h); steal.h has the thieves, more.h what the other knobs add.
 *
 * What a worker has, and in which order its owner takes it:
 *
 *              fifo: oldest first                       lifo: newest first
 *     open     SPMC ring, thieves take the oldest       SPMC deque, thieves take the oldest
 *     private  after open (it is newer)                 before open (it is newer)
 *     soft     soft yields: FIFO, at the latest after SOFT_AFTER others, at once if there is nothing else
 *     inbox    what did not fit in, and what others placed here: a locked list; fifo: in turn with open and private
 *              (local_turn), lifo: after all that
 *
 * and the cluster: the shared queue (from threads that are no workers of it) and the yield queue (hard yields).
 * Shared and yield queue come last, as lifo's inbox does, and first when next() is asked to be fair, though not twice in a
 * row: where every yield is hard, local work must not starve either.
 *
 * Private part and soft yields are guarded by the owner-biased lock (biased.h): their owner uses no atomic
 * read-modify-write. It holds the lock over the switch from one soft yielder to the next (local_pass). When the
 * private part is full, its older half goes to open; while a worker is idle, everything that becomes ready does. A
 * thief that sees two or more fibres held sets `asked`, which the owner answers at its next scheduling point or
 * spawn; if the owner has not moved for HOG_NS, a thief takes them itself, and the next CAUGHT ones are shown at once
 * while anybody searches. A single held fibre of an owner that moves is left to it: it will run in a moment, and
 * moving it would cost more (a spawn that is joined at once, a pair that takes turns).
 *
 * Invariants.
 *  1. A fibre given to ready() is in exactly one of these queues until next(), steal() or drain() takes it out.
 *  2. held == number of fibres in private and soft whenever the lock is free.
 *  3. Everything except private and soft can be taken by any worker at once; those two by way of `asked` or of the
 *     lock. So no work is out of reach behind a hog.
 */
#ifndef TN_PARTS_LOCAL_H
#define TN_PARTS_LOCAL_H

#include "scheduler.h"
#include "admit.h"
#include "biased.h"
#include "choices.h"
#include "near.h"
#include "stuck.h"
#include "victims.h"
#include "queues/locked.h"
#include "queues/mpmc_ring.h"
#if defined LOCAL_DEQUE
#include "queues/spmc_deque.h"
#define OPEN(op) tn_spmc_deque_##op
typedef struct tn_spmc_deque local_open;
#define LOCAL_POP(l, newest) ((newest) ? OPEN(pop)((l)->open) : OPEN(pop_bottom)((l)->open))
#elif LOCAL_LIFO
#include "queues/spmc_lifo.h"
#define OPEN(op) tn_spmc_lifo_##op
typedef struct tn_spmc_lifo local_open;
#else
#include "queues/spmc_fifo.h"
#define OPEN(op) tn_spmc_fifo_##op
typedef struct tn_spmc_fifo local_open;
#endif

/* Does the owner take its newest fibre next, or its oldest? And that one, from the open part. */
#ifdef LOCAL_DEQUE
#define LOCAL_FIFO 0
#else
#define LOCAL_FIFO           (!LOCAL_LIFO)
#define LOCAL_NEWEST(me)     LOCAL_LIFO
#define LOCAL_POP(l, newest) OPEN(pop)((l)->open)
#endif

enum { SOFT_AFTER = 8, STEAL_MAX = 64, HOG_NS = 10000, PATIENCE = 128, CAUGHT = 64, POOL_RINGS = 5 };

/* Between a worker's queue and its inbox: either's turn is as many fibres long as it held when that began. So whoever comes first goes
 * first, but for less than a turn, and nobody starves in the inbox where the queue is never empty. */
struct local_turn {
    bool queue; /* it is the queue's */
    uint32_t left;
};

/* True: it is the inbox's. */
static inline bool local_turn(struct local_turn *t, size_t inbox, size_t own)
{
    if (t->left == 0) {
        t->queue = !t->queue;
        t->left = (uint32_t)(t->queue ? own : inbox);
    }
    t->left -= t->left != 0;
    return !t->queue;
}

struct local_worker {
    /* the owner's, and under the lock a thief's */
    struct tn_biased lock;
    uint32_t head, tail, limit; /* private ring: slot[head … tail), at most limit */
    uint32_t since_soft;
    void **slot;
    struct tn_list soft;
    /* owner writes, thieves read */
    _Atomic(uint32_t) held;
    /* thieves write, owner reads */
    _Atomic(uint32_t) asked, caught;
    /* owner only */
    uint8_t way;            /* WAY_* */
    bool was_fair;          /* the last fair call looked at the shared queues first */
    struct local_turn turn; /* the inbox and the rest */
    uint32_t ticks;         /* fibres taken from shared queues; layout=global: calls of next */
    uint32_t start;         /* of this round of victims */
    struct tn_victim_walk walk;
    struct tn_near_walk near; /* victims=topology */
    local_open *open;
    /* of more.h */
    bool fresh;             /* slot: the newest has not run yet */
    uint32_t in_row, fairs; /* slot: so many newest ones in a row; fair calls */
    uint32_t pushes,
        shift;       /* request: fibres made ready since the last one; victims that came before the usual ones */
    uint32_t passed; /* least: victims that were left alone */
    /* owner writes, thieves read */
    _Atomic(local_open *) shown; /* what `open` is: thieves look here */
    struct local_chain *chain;   /* full=chain, else NULL; constant */
    struct local_outgrown *outgrown;

    struct tn_stuck_seen seen; /* thieves: at which turn of the lock */

    /* request: whom to steal from (REQUEST_NEW, index + 1), written by any; whether a ticket of this worker is out */
    _Atomic(uint32_t) target, ticket;

    struct tn_locked_queue inbox;
};

struct local_cluster {
    struct tn_locked_queue shared, yields;
    struct tn_mpmc_ring *ring[POOL_RINGS]; /* the global queue, see pool.h */
    uint32_t rings, way;
    struct tn_mpmc_ring *tickets; /* see request.h */
    struct tn_admit admit;        /* layout=global:full=refuse */
};

static inline struct local_worker *local_of(struct tn_worker *w)
{
    return w->sched;
}

static inline size_t local_round(int64_t n)
{
    size_t size = 1;
    while (size < (size_t)n)
        size *= 2;
    return size;
}

/* ---- the private part; inside the lock ---- */

static inline void local_publish(struct local_worker *l)
{
    /* relaxed: a hint for thieves, who look again inside the lock; for parking, the idle fences order it */
    atomic_store_explicit(&l->held, l->tail - l->head + (uint32_t)l->soft.count, memory_order_relaxed);
}

/* Open up n of the oldest private fibres. Returns how many found room. */
static inline uint32_t local_open_up(struct local_worker *l, uint32_t n)
{
    uint32_t done = 0;
    while (done < n && OPEN(push)(l->open, l->slot[l->head & (l->limit - 1)])) {
        l->head++;
        done++;
    }
    return done;
}

/* A thief waits for private work: open half of it, and tell. */
static __attribute__((noinline, cold)) void local_answer(struct tn_worker *me)
{
    struct local_worker *l = local_of(me);
    atomic_store_explicit(&l->asked, 0, memory_order_relaxed); /* relaxed: a hint */
    TN_COUNT_ADD(me, LOCAL_ASKED, 1);
    uint32_t turn = tn_biased_enter(&l->lock);
    local_open_up(l, (l->tail - l->head + 1) / 2);
    while (l->soft.count > 1)
        tn_locked_queue_push_back(&((struct local_cluster *)me->cluster->sched)->yields, tn_list_pop_front(&l->soft));
    local_publish(l);
    tn_biased_leave(&l->lock, turn);
    tn_notify(me->cluster);
}

/* ---- ready ---- */

/* Somebody wants work. If he is idle, he is about to be woken for it: put it where he can take it. If he only searches,
 * he asks for what he needs; a single fibre that is left to its owner is his for the asking only if the owner does not
 * move, and he has to wait to see that. So an owner that was caught as a hog shows what it has for some time. */
static __attribute__((noinline)) bool local_show(struct tn_worker *me)
{
    struct local_worker *l = local_of(me);
    if (tn_idle_count(me->cluster) != 0)
        return true;
    uint32_t caught = atomic_load_explicit(&l->caught, memory_order_relaxed); /* relaxed: a hint */
    if (caught != 0)
        atomic_store_explicit(&l->caught, caught - 1, memory_order_relaxed);
    return caught != 0;
}

static int more_full(struct tn_worker *me, struct tn_fibre *f, enum tn_why why);

/* There is no room. Into the inbox, behind all that is in the queue. */
static inline void local_overflow(struct tn_worker *me, struct tn_fibre *f)
{
    struct local_worker *l = local_of(me);
    if (tn_locked_queue_length(&l->inbox) == 0)
        l->turn = (struct local_turn){false, 0}; /* the queue's is next */
    TN_COUNT_ADD(me, LOCAL_OVERFLOW, 1);
    tn_locked_queue_push_back(&l->inbox, &f->link);
}

/* The owner's own queue. `more`: what to do where it is full, is a matter of more.h. */
static inline __attribute__((always_inline)) int local_push(struct tn_worker *me, struct tn_fibre *f, enum tn_why why,
                                                            const bool more)
{
    struct local_worker *l = local_of(me);
    bool taken = false, open = true;
    if (__builtin_expect(atomic_load_explicit(&l->asked, memory_order_relaxed) != 0, 0)) /* relaxed: a hint */
        local_answer(me);
    bool show = __builtin_expect(tn_hungry(me->cluster), 0) && local_show(me);
    if (l->limit != 0) {
        uint32_t turn = tn_biased_enter(&l->lock);
        uint32_t n = l->tail - l->head;
        if (__builtin_expect(show || n == l->limit, 0)) {
            uint32_t opened = local_open_up(l, show ? n : (n + 1) / 2);
            TN_COUNT_ADD(me, LOCAL_SPILL, !show && opened != 0);
            n -= opened;
            taken = show && n == 0 && OPEN(push)(l->open, f);
        }
        if (!taken && n < l->limit) {
            l->slot[l->tail++ & (l->limit - 1)] = f;
            taken = true;
            open = show;
        }
        local_publish(l);
        tn_biased_leave(&l->lock, turn);
    } else {
        taken = OPEN(push)(l->open, f);
    }
    if (__builtin_expect(taken, 1))
        return open ? 0 : TN_HELD;
    if (more)
        return more_full(me, f, why);
    local_overflow(me, f);
    return 0;
}

static inline __attribute__((always_inline)) int local_ready(struct tn_worker *me, struct tn_fibre *f,
                                                             enum tn_why why)
{
    struct local_cluster *c = f->cluster->sched;
    if (why == TN_YIELDED && me != NULL) {
        struct local_worker *l = local_of(me);
        uint32_t turn = tn_biased_enter(&l->lock);
        tn_list_push_back(&l->soft, &f->link);
        local_publish(l);
        tn_biased_leave(&l->lock, turn);
        return TN_HELD;
    }
    if (why == TN_YIELDED_HARD) {
        tn_locked_queue_push_back(&c->yields, &f->link);
        return 0;
    }
    if (me == NULL) {
        tn_locked_queue_push_back(&c->shared, &f->link);
        return 0;
    }
    return local_push(me, f, why, false);
}

/* ---- next ---- */

static inline size_t local_shared_length(struct tn_worker *me)
{
    struct local_cluster *c = me->cluster->sched;
    return tn_locked_queue_length(&c->yields) + tn_locked_queue_length(&c->shared) +
           tn_locked_queue_length(&local_of(me)->inbox);
}

/* From what comes last otherwise. Each of the three comes first in turn: two fibres that yield hard to each other keep
 * the yield queue filled for ever, and would hide the others. */
static __attribute__((noinline)) struct tn_link *local_shared(struct tn_worker *me)
{
    struct local_cluster *c = me->cluster->sched;
    struct local_worker *l = local_of(me);
    struct tn_locked_queue *queue[] = {&c->yields, &c->shared, &l->inbox};
    struct tn_link *f = NULL;
    for (uint32_t i = 0; i < 3 && f == NULL; i++)
        f = tn_locked_queue_pop_front(queue[(l->ticks + i) % 3]);
    if (f != NULL) {
        l->ticks++;
        TN_COUNT_ADD(me, LOCAL_SHARED, 1);
    }
    return f;
}

/* Some lie in the inbox: for want of room, or placed there by others. NULL: it is the queue's turn, or one's that has yielded softly. */
static __attribute__((noinline)) struct tn_link *local_inbox(struct tn_worker *me)
{
    struct local_worker *l = local_of(me);
    struct tn_link *f = NULL;
    if (l->since_soft >= SOFT_AFTER) {
        uint32_t turn = tn_biased_enter(&l->lock);
        bool soft = l->soft.head != NULL;
        tn_biased_leave(&l->lock, turn);
        if (soft)
            return NULL;
        l->since_soft = 0;
    }
    /* relaxed: a hint */
    size_t own = OPEN(length)(l->open) + atomic_load_explicit(&l->held, memory_order_relaxed);
    if (local_turn(&l->turn, tn_locked_queue_length(&l->inbox), own))
        f = tn_locked_queue_pop_front(&l->inbox);
    l->since_soft += f != NULL;
    TN_COUNT_ADD(me, LOCAL_SHARED, f != NULL);
    return f;
}

/* ---- a soft yield where only others wait that have yielded softly: they go round, in one visit of the lock ---- */

/* It is held until local_passed(), over the switch: f is in the list, but nobody may take it before it has been saved. As
 * many are held afterwards as before, and by whom is all the same: there is nothing to publish. */
static inline struct tn_fibre *local_pass(struct tn_worker *me, struct tn_fibre *f)
{
    struct local_worker *l = local_of(me);
    /* relaxed: a hint */
    if (__builtin_expect(atomic_load_explicit(&l->asked, memory_order_relaxed) != 0 || OPEN(length)(l->open) != 0, 0))
        return NULL;
    uint32_t turn = tn_biased_enter(&l->lock);
    if (__builtin_expect(l->soft.head == NULL || l->head != l->tail, 0)) {
        tn_biased_leave(&l->lock, turn);
        return NULL;
    }
    l->since_soft = 0;
    struct tn_link *next = tn_list_rotate(&l->soft, &f->link);
    tn_prefetch(l->soft.head,
                l->soft.head->next); /* its stack has the time until that one stops to come into the cache */
    return tn_fibre_of(next);
}

static inline void local_passed(struct tn_worker *me)
{
    struct tn_biased *lock = &local_of(me)->lock;
    tn_biased_leave(lock, tn_biased_entered(lock));
}

static inline struct tn_fibre *local_next(struct tn_worker *me, bool fair)
{
    struct local_worker *l = local_of(me);
    struct tn_link *f = NULL;
    if (__builtin_expect(fair, 0) && (l->was_fair = !l->was_fair) && (f = local_shared(me)) != NULL)
        return tn_fibre_of(f);
    if (__builtin_expect(atomic_load_explicit(&l->asked, memory_order_relaxed) != 0, 0)) /* relaxed: a hint */
        local_answer(me);

    const bool newest = LOCAL_NEWEST(me);
    if (!newest && __builtin_expect(tn_locked_queue_length(&l->inbox) != 0, 0) && (f = local_inbox(me)) != NULL)
        return tn_fibre_of(f);
    bool open = OPEN(length)(l->open) != 0;
again:
    if (!newest && open && l->since_soft < SOFT_AFTER) {
        l->since_soft++;
        if ((f = LOCAL_POP(l, newest)) != NULL)
            return tn_fibre_of(f);
        open = false; /* thieves were faster */
    }
    uint32_t turn = tn_biased_enter(&l->lock);
    bool private = l->head != l->tail;
    if (l->soft.head != NULL && ((!private && !open) || l->since_soft >= SOFT_AFTER)) {
        l->since_soft = 0;
        f = tn_list_pop_front(&l->soft);
        if (l->soft.head != NULL)
            tn_prefetch(l->soft.head, l->soft.head->next);
    } else if (private && (newest || !open)) {
        l->since_soft++;
        f = l->slot[(newest ? --l->tail : l->head++) & (l->limit - 1)];
        if (l->head != l->tail) /* its stack has the time until this one stops to come into the cache */
            tn_prefetch(l->slot[(newest ? l->tail - 1 : l->head) & (l->limit - 1)],
                        l->slot[(newest ? l->tail - 2 : l->head + 1) & (l->limit - 1)]); /* it may have left before */
    }
    if (l->soft.head == NULL)
        l->since_soft = 0;
    local_publish(l);
    tn_biased_leave(&l->lock, turn);
    if (f == NULL && open) {
        l->since_soft++;
        f = LOCAL_POP(l, newest);
        if (!newest && f == NULL && private) { /* thieves were faster, and private had been passed over */
            open = false;
            goto again;
        }
    }
    if (f == NULL && local_shared_length(me) != 0)
        f = local_shared(me);
    return tn_fibre_of(f);
}

#endif
