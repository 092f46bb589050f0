/* SPDX-License-Identifier: MIT */
/*
 * An unbounded queue of links with a lock for each end: producers and consumers do not wait for each other.
 *
 * The queue of Michael and Scott (PODC 1996), made intrusive: the node that keeps the two ends apart is a stub that
 * belongs to the queue, as in mpsc_stub.h, instead of the node that was popped last.  A consumer puts the stub back
 * behind the last item before it takes that away; only then does it need the producers' lock as well.
 *
 * Invariants:
 *   1. tail is touched by the holder of tail_lock only, head and the stub's being in or out by that of head_lock.
 *      head_lock is taken before tail_lock.
 *   2. The stub is in the list whenever nothing else is, and at most once.  Empty: head is the stub, whose next is NULL.
 *   3. A node's next is set once after it was published, under tail_lock; pop hands out a node whose next is set.
 *
 * Order: strict FIFO by the order in which producers hold their lock.
 *
 * Pairs:  those of spinlock.h, among producers and among consumers.
 *         R0 a push links its node -> A0 a pop follows the link: the two hold different locks.
 *         R1 a pop puts the stub back -> A1 who looks whether there is anything: that head has left the stub.
 */
#ifndef TN_QUEUES_TWO_LOCK_H
#define TN_QUEUES_TWO_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "link_shared.h"
#include "spinlock.h"

struct tn_two_lock {
    _Alignas(TN_CACHE_LINE) struct tn_spinlock tail_lock;
    struct tn_link *tail; /* under tail_lock */
    _Alignas(TN_CACHE_LINE) struct tn_spinlock head_lock;
    struct tn_link stub;
    _Atomic(struct tn_link *) head; /* written under head_lock; others take it as a hint */
};

static inline void tn_two_lock_init(struct tn_two_lock *q)
{
    tn_spinlock_init(&q->tail_lock);
    tn_spinlock_init(&q->head_lock);
    q->stub.next = NULL;
    q->tail = &q->stub;
    atomic_init(&q->head, &q->stub);
}

/* Any thread. */
static inline void tn_two_lock_push(struct tn_two_lock *q, struct tn_link *link)
{
    atomic_store_explicit(tn_link_next_(link), NULL, memory_order_release); /* R1, if it is the stub */
    tn_spinlock_lock(&q->tail_lock);
    atomic_store_explicit(tn_link_next_(q->tail), link, memory_order_release); /* R0 */
    q->tail = link;
    tn_spinlock_unlock(&q->tail_lock);
}

/* Anyone.  A push that happened before is seen: if the stub has been put back meanwhile, so is that head had left it. */
static inline bool tn_two_lock_empty(struct tn_two_lock *q)
{
    return atomic_load_explicit(tn_link_next_(&q->stub), memory_order_acquire) == NULL && /* A1 */
           atomic_load_explicit(&q->head, memory_order_relaxed) == &q->stub;              /* relaxed: A1 */
}

/* Any thread.  The oldest; NULL when empty. */
static inline struct tn_link *tn_two_lock_pop(struct tn_two_lock *q)
{
    if (tn_two_lock_empty(q))
        return NULL;
    tn_spinlock_lock(&q->head_lock);
    struct tn_link *first = atomic_load_explicit(&q->head, memory_order_relaxed); /* relaxed: under the lock */
    if (first == &q->stub) {
        first = atomic_load_explicit(tn_link_next_(first), memory_order_acquire); /* A0 */
        if (first != NULL)
            atomic_store_explicit(&q->head, first, memory_order_relaxed); /* relaxed: R1 */
    }
    if (first != NULL) {
        struct tn_link *next = atomic_load_explicit(tn_link_next_(first), memory_order_acquire); /* A0 */
        if (next == NULL) { /* the last, or it was: then the stub lies behind others, which is as good */
            tn_two_lock_push(q, &q->stub);
            next = atomic_load_explicit(tn_link_next_(first), memory_order_acquire); /* A0 */
        }
        atomic_store_explicit(&q->head, next, memory_order_relaxed); /* relaxed: under the lock */
        first->next = NULL;
    }
    tn_spinlock_unlock(&q->head_lock);
    return first;
}

#endif
