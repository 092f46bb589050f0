/* SPDX-License-Identifier: MIT */
/*
 * An unbounded queue of links under a spin lock; any thread may use either end that the caller's order asks for.
 *
 * push_back + pop_front is strict FIFO, push_front + pop_front strict LIFO; both may be mixed, as with a stack that
 * takes urgent fibres in front.  Operations take effect in the order in which they hold the lock.
 *
 * Invariants, checked by tn_locked_queue_valid():
 *   1. list is touched only by the holder of lock, and is valid (link.h) whenever the lock is free.
 *   2. length == list.count whenever the lock is free; it is written only by the holder.
 *   3. A pop gives up without the lock only when it read length == 0.  If a push happened before that pop, the pop
 *      reads the length which that push stored or a later one (coherence of one word), so a 0 means that others have
 *      taken the item since: nobody is told *empty* about an item that nobody has taken.
 *      A push that merely runs at the same time may be missed, as in any queue.  Whoever parks on that answer needs a
 *      store-load fence of its own between announcing that it sleeps and this look, and the pusher one between its
 *      push and the look for sleepers: a lock released is not such a fence.
 *
 * Pairs: those of spinlock.h, through which links and list pass from one thread to the next.
 */
#ifndef TN_QUEUES_LOCKED_H
#define TN_QUEUES_LOCKED_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "link.h"
#include "spinlock.h"

struct tn_locked_queue {
    /* Taken and written together, so they share a line. */
    _Alignas(TN_CACHE_LINE) struct tn_spinlock lock;
    struct tn_list list; /* under lock */
    /* Written under lock, read by anyone; apart, so that idle threads that look do not take the lock's line away. */
    _Alignas(TN_CACHE_LINE) _Atomic(size_t) length;
};

static_assert(offsetof(struct tn_locked_queue, length) - offsetof(struct tn_locked_queue, lock) == TN_CACHE_LINE,
              "lock and list fit in one line, and those who look at length do not share it");

static inline void tn_locked_queue_init(struct tn_locked_queue *q)
{
    tn_spinlock_init(&q->lock);
    tn_list_init(&q->list);
    atomic_init(&q->length, (size_t)0);
}

/* Exact when nobody is in an operation, else a value of a moment ago.  Never takes the lock. */
static inline size_t tn_locked_queue_length(struct tn_locked_queue *q)
{
    /* relaxed: a hint by invariant 3; items are read under the lock only. */
    return atomic_load_explicit(&q->length, memory_order_relaxed);
}

/* The holder's last act before it unlocks. */
static inline void tn_locked_queue_settle(struct tn_locked_queue *q)
{
    /* relaxed: the lock orders the writers; readers take it as a hint. */
    atomic_store_explicit(&q->length, q->list.count, memory_order_relaxed);
    tn_spinlock_unlock(&q->lock);
}

static inline void tn_locked_queue_push_back(struct tn_locked_queue *q, struct tn_link *link)
{
    tn_spinlock_lock(&q->lock);
    tn_list_push_back(&q->list, link);
    tn_locked_queue_settle(q);
}

static inline void tn_locked_queue_push_front(struct tn_locked_queue *q, struct tn_link *link)
{
    tn_spinlock_lock(&q->lock);
    tn_list_push_front(&q->list, link);
    tn_locked_queue_settle(q);
}

/* Appends all of `list` in its order, as one operation, and leaves it empty.  O(1) under the lock. */
static inline void tn_locked_queue_push_list(struct tn_locked_queue *q, struct tn_list *list)
{
    if (tn_list_empty(list))
        return;
    tn_spinlock_lock(&q->lock);
    tn_list_append(&q->list, list);
    tn_locked_queue_settle(q);
}

/* NULL when empty. */
static inline struct tn_link *tn_locked_queue_pop_front(struct tn_locked_queue *q)
{
    struct tn_link *link;

    if (tn_locked_queue_length(q) == 0)
        return NULL;
    tn_spinlock_lock(&q->lock);
    link = tn_list_pop_front(&q->list); /* NULL when another was faster */
    tn_locked_queue_settle(q);
    return link;
}

/* Moves up to n from the front, as one operation, behind the last of `to`; returns how many.  O(n) under the lock. */
static inline size_t tn_locked_queue_pop_n(struct tn_locked_queue *q, size_t n, struct tn_list *to)
{
    if (n == 0 || tn_locked_queue_length(q) == 0)
        return 0;
    tn_spinlock_lock(&q->lock);
    n = tn_list_move_n(to, &q->list, n);
    tn_locked_queue_settle(q);
    return n;
}

/* For tests, at any time: takes the lock. */
static inline bool tn_locked_queue_valid(struct tn_locked_queue *q)
{
    bool ok;

    tn_spinlock_lock(&q->lock);
    ok = tn_list_valid(&q->list) && tn_locked_queue_length(q) == q->list.count && tn_spinlock_valid(&q->lock);
    tn_spinlock_unlock(&q->lock);
    return ok;
}

#endif
