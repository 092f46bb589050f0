/* SPDX-License-Identifier: MIT */
/*
 * A relaxed priority queue: many queues, each under a lock of its own.  A push goes into one that is drawn; a pop draws
 * two and takes from the one with the smaller first key.  After Williams, Sanders and Dementiev (Engineering MultiQueues,
 * 2021), which 003 §4.3.1 builds on by way of Postnikova et al. (2022).  Unbounded; any thread pushes and pops.
 *
 *   draw       Whoever finds the lock of a drawn queue taken draws again rather than wait, once; then it waits.
 *   stickiness A thread stays with what it has drawn for `stick` operations, which keeps lines in its cache.
 *   buffers    In each queue, for the heap's sake: `out` has its first keys, in order, `in` collects what is not among
 *              them, until it is full or out is empty.  They lie in the queue, under its lock: nobody holds work back.
 *
 *       push, key < last of out  ->  out, whose last then goes to in       out empty  ->  in to the heap, then the
 *       push, else               ->  in; full: to the heap                               first of the heap to out
 *
 * Nodes are the caller's, who also owns each until push and from pop on.
 *
 * Invariants of each queue whenever its lock is free, checked by tn_multi_valid():
 *   1. out is in order of keys, and none of in or of the heap is smaller than its last.  It is empty only if all is.
 *   2. best is the first key of out, TN_MULTI_NONE if there is none; length is the number of nodes.  Both are written by
 *      the holder of the lock only; outside of it they are hints, as that of locked.h, whose invariant 3 holds here too.
 *   3. A node's child, next and the rest of the queue are touched under the lock only.
 * and of the whole:
 *   4. A pop returns NULL only after it has looked at every queue and found best == TN_MULTI_NONE, or nothing behind the
 *      lock.  Looks are not one step: what is pushed meanwhile may be missed, and whoever parks on that answer looks
 *      again, behind the fences of parking.
 *
 * Order: the mean of a pop's rank error (how many smaller keys are in the whole) grows with the number of queues n, not with
 * what they hold.  With two independent draws and stick 1 it is 5n/6 - 1 + 1/(6n) (Walzer and Williams, A Simple yet
 * Exact Analysis of the MultiQueue, 2024).  Here the two are different queues, so it is less.
 *
 * Pairs: those of spinlock.h, through which nodes and queues pass from one thread to the next.
 */
#ifndef TN_QUEUES_MULTIQUEUE_H
#define TN_QUEUES_MULTIQUEUE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link.h"
#include "spinlock.h"

#define TN_MULTI_NONE UINT64_MAX /* no key */

struct tn_multi_node {
    uint64_t key; /* less than TN_MULTI_NONE; the smaller, the earlier */
    void *item;   /* the caller's */
    struct tn_multi_node *child, *next;
};

struct tn_multi_queue {
    /* Under the lock. */
    _Alignas(TN_CACHE_LINE) struct tn_spinlock lock;
    uint32_t head, n_out, n_in;
    struct tn_multi_node *heap; /* a pairing heap: each node's children, by next, have no smaller keys */
    struct tn_multi_slot {
        uint64_t key;
        struct tn_multi_node *node;
    } * out;                   /* a ring: [head … head + n_out) */
    struct tn_multi_node **in; /* [0 … n_in) */
    /* Written under the lock, read by anyone; apart, so that those who draw do not take the lock's line away. */
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) best;
    _Atomic(uint32_t) length;
};

struct tn_multi {
    uint32_t queues, buffer; /* how many, and how many nodes each buffer holds: a power of two; set by init */
    struct tn_multi_queue *queue;
};

/* What one thread has drawn.  Its own. */
struct tn_multi_hand {
    uint64_t random;                   /* a seed to begin with */
    uint32_t stick;                    /* operations for which it stays */
    uint32_t into, into_left;          /* pushes there, so many times more */
    uint32_t from[2], from_left;       /* pops from either */
    uint32_t drawn, scanned, refilled; /* counts: draws, pops that had to look at all, outs filled from a heap */
};

/* What the caller must supply, aligned to TN_CACHE_LINE. */
static inline size_t tn_multi_bytes(uint32_t queues, uint32_t buffer)
{
    size_t each = sizeof(struct tn_multi_queue) + buffer * (sizeof(struct tn_multi_slot) + sizeof(void *));

    return (queues * each + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE;
}

static inline void tn_multi_init(struct tn_multi *m, uint32_t queues, uint32_t buffer, void *memory)
{
    struct tn_multi_slot *out = (void *)((char *)memory + queues * sizeof(struct tn_multi_queue));
    struct tn_multi_node **in = (void *)(out + (size_t)queues * buffer);

    assert(queues > 0 && buffer > 0 && (buffer & (buffer - 1)) == 0 && (uintptr_t)memory % TN_CACHE_LINE == 0);
    *m = (struct tn_multi){queues, buffer, memory};
    for (uint32_t i = 0; i < queues; i++) {
        struct tn_multi_queue *q = &m->queue[i];
        tn_spinlock_init(&q->lock);
        q->head = q->n_out = q->n_in = 0;
        q->heap = NULL;
        q->out = out + (size_t)i * buffer;
        q->in = in + (size_t)i * buffer;
        atomic_init(&q->best, TN_MULTI_NONE);
        atomic_init(&q->length, 0U);
    }
}

/* ---- the heap; under the lock ---- */

static inline struct tn_multi_node *tn_multi_merge_(struct tn_multi_node *a, struct tn_multi_node *b)
{
    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    if (b->key < a->key) {
        struct tn_multi_node *other = a;
        a = b;
        b = other;
    }
    b->next = a->child;
    a->child = b;
    return a;
}

static inline void tn_multi_heap_push_(struct tn_multi_queue *q, struct tn_multi_node *node)
{
    node->child = node->next = NULL;
    q->heap = tn_multi_merge_(q->heap, node);
}

/* The first of all; there is one. */
static inline struct tn_multi_node *tn_multi_heap_pop_(struct tn_multi_queue *q)
{
    struct tn_multi_node *first = q->heap, *rest = first->child, *pairs = NULL;

    while (rest != NULL) { /* each two become one, … */
        struct tn_multi_node *a = rest, *b = a->next;
        rest = b != NULL ? b->next : NULL;
        a->next = NULL;
        if (b != NULL)
            b->next = NULL;
        a = tn_multi_merge_(a, b);
        a->next = pairs;
        pairs = a;
    }
    q->heap = NULL;
    while (pairs != NULL) { /* … and these, the last first, one heap */
        struct tn_multi_node *next = pairs->next;
        pairs->next = NULL;
        q->heap = tn_multi_merge_(q->heap, pairs);
        pairs = next;
    }
    return first;
}

/* ---- one queue; under the lock ---- */

static inline struct tn_multi_slot *tn_multi_out_(const struct tn_multi *m, struct tn_multi_queue *q, uint32_t i)
{
    return &q->out[(q->head + i) & (m->buffer - 1)];
}

static inline void tn_multi_flush_(struct tn_multi_queue *q)
{
    for (uint32_t i = 0; i < q->n_in; i++)
        tn_multi_heap_push_(q, q->in[i]);
    q->n_in = 0;
}

static inline void tn_multi_put_in_(const struct tn_multi *m, struct tn_multi_queue *q, struct tn_multi_node *node)
{
    if (q->n_in == m->buffer)
        tn_multi_flush_(q);
    q->in[q->n_in++] = node;
}

static inline void tn_multi_put_(const struct tn_multi *m, struct tn_multi_queue *q, struct tn_multi_node *node)
{
    bool all_out = q->n_in == 0 && q->heap == NULL;

    if (q->n_out == m->buffer || !all_out) {
        struct tn_multi_node *last = tn_multi_out_(m, q, q->n_out - 1)->node; /* out is not empty: 1 */
        if (node->key >= last->key) {
            tn_multi_put_in_(m, q, node);
            return;
        }
        if (q->n_out == m->buffer) {
            tn_multi_put_in_(m, q, last);
            q->n_out--;
        }
    }
    uint32_t i = q->n_out++;
    for (; i > 0 && tn_multi_out_(m, q, i - 1)->key > node->key; i--)
        *tn_multi_out_(m, q, i) = *tn_multi_out_(m, q, i - 1);
    *tn_multi_out_(m, q, i) = (struct tn_multi_slot){node->key, node};
}

/* The first of all, NULL if there is none. */
static inline struct tn_multi_node *tn_multi_take_(const struct tn_multi *m, struct tn_multi_queue *q,
                                                   uint32_t *refilled)
{
    if (q->n_out == 0)
        return NULL;
    struct tn_multi_node *node = tn_multi_out_(m, q, 0)->node;
    q->head++;
    if (--q->n_out == 0 && (q->n_in != 0 || q->heap != NULL)) {
        tn_multi_flush_(q);
        for (; q->heap != NULL && q->n_out < m->buffer; q->n_out++) {
            struct tn_multi_node *next = tn_multi_heap_pop_(q);
            *tn_multi_out_(m, q, q->n_out) = (struct tn_multi_slot){next->key, next};
        }
        ++*refilled;
    }
    return node;
}

/* The holder's last act before it unlocks: there is one node more, or (-1) less. */
static inline void tn_multi_settle_(const struct tn_multi *m, struct tn_multi_queue *q, int by)
{
    /* relaxed, all three: the lock orders the writers; readers take them as hints */
    uint32_t length = atomic_load_explicit(&q->length, memory_order_relaxed) + (uint32_t)by;
    uint64_t best = q->n_out != 0 ? tn_multi_out_(m, q, 0)->key : TN_MULTI_NONE;
    atomic_store_explicit(&q->length, length, memory_order_relaxed);
    if (atomic_load_explicit(&q->best, memory_order_relaxed) != best) /* relaxed: see above */
        atomic_store_explicit(&q->best, best, memory_order_relaxed);
    tn_spinlock_unlock(&q->lock);
}

/* Under the lock, which it gives up. */
static inline struct tn_multi_node *tn_multi_pop_here_(struct tn_multi *m, struct tn_multi_queue *q,
                                                       struct tn_multi_hand *h)
{
    struct tn_multi_node *node = tn_multi_take_(m, q, &h->refilled);

    tn_multi_settle_(m, q, node != NULL ? -1 : 0);
    return node;
}

/* ---- the whole ---- */

/* The first key of a queue; TN_MULTI_NONE: it is empty.  A hint. */
static inline uint64_t tn_multi_best(const struct tn_multi *m, uint32_t queue)
{
    return atomic_load_explicit(&m->queue[queue].best, memory_order_relaxed); /* relaxed: a hint */
}

/* False is as reliable as 0 of tn_locked_queue_length(). */
static inline bool tn_multi_any(const struct tn_multi *m)
{
    for (uint32_t i = 0; i < m->queues; i++)
        if (tn_multi_best(m, i) != TN_MULTI_NONE)
            return true;
    return false;
}

/* A hint. */
static inline size_t tn_multi_length(const struct tn_multi *m)
{
    size_t n = 0;
    for (uint32_t i = 0; i < m->queues; i++)
        n += atomic_load_explicit(&m->queue[i].length, memory_order_relaxed); /* relaxed: a hint */
    return n;
}

/* A number below n. */
static inline uint32_t tn_multi_draw_(struct tn_multi_hand *h, uint32_t n)
{
    uint64_t z = (h->random += UINT64_C(0x9e3779b97f4a7c15)); /* SplitMix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    h->drawn++;
    return (uint32_t)(((z >> 32) * n) >> 32);
}

/* Two different ones of the first n, if there are two; or `turn` and one of them. */
static inline void tn_multi_draw_two_(struct tn_multi_hand *h, uint32_t n)
{
    h->from[0] = tn_multi_draw_(h, n);
    h->from[1] = n > 1 ? tn_multi_draw_(h, n - 1) : 0;
    h->from[1] += n > 1 && h->from[1] >= h->from[0];
    h->from_left = h->stick;
}

/* For the next pop: queue `turn` of all stands for one of the two drawn.  Called with each in turn, now and then, it sees
 * to it that a queue which is drawn no more is emptied, and that chance keeps no node waiting for ever. */
static inline void tn_multi_turn(struct tn_multi *m, struct tn_multi_hand *h, uint32_t range, uint32_t turn)
{
    h->from[0] = turn % m->queues;
    h->from[1] = tn_multi_draw_(h, range);
    if (h->from[1] == h->from[0])
        h->from[1] = (h->from[1] + 1) % range;
    h->from_left = 1;
}

enum { TN_MULTI_TRIES = 2 };

/* Into one of the first `range` queues. */
static inline void tn_multi_push(struct tn_multi *m, struct tn_multi_hand *h, uint32_t range,
                                 struct tn_multi_node *node)
{
    bool locked = false;
    assert(node->key != TN_MULTI_NONE && range > 0 && range <= m->queues);
    for (unsigned i = 0; i < TN_MULTI_TRIES && !locked; i++) {
        if (h->into_left == 0 || h->into >= range) {
            h->into = tn_multi_draw_(h, range);
            h->into_left = h->stick;
        }
        locked = tn_spinlock_try_lock(&m->queue[h->into].lock);
        h->into_left = locked ? h->into_left - 1 : 0;
    }
    struct tn_multi_queue *q = &m->queue[h->into];
    if (!locked)
        tn_spinlock_lock(&q->lock);
    tn_multi_put_(m, q, node);
    tn_multi_settle_(m, q, 1);
}

/* Any node, of whatever queue comes first behind a random one: where draws have found none. */
static inline struct tn_multi_node *tn_multi_scan_(struct tn_multi *m, struct tn_multi_hand *h)
{
    uint32_t start = tn_multi_draw_(h, m->queues);

    for (uint32_t i = 0; i < m->queues; i++) {
        uint32_t at = (start + i) % m->queues;
        if (tn_multi_best(m, at) == TN_MULTI_NONE)
            continue;
        tn_spinlock_lock(&m->queue[at].lock);
        struct tn_multi_node *node = tn_multi_pop_here_(m, &m->queue[at], h);
        if (node != NULL) {
            h->scanned++;
            return node;
        }
    }
    return NULL;
}

/* From the better of two of the first `range` queues; NULL: all are empty. */
static inline struct tn_multi_node *tn_multi_pop(struct tn_multi *m, struct tn_multi_hand *h, uint32_t range)
{
    for (unsigned i = 0; i < TN_MULTI_TRIES; i++) {
        if (h->from_left == 0)
            tn_multi_draw_two_(h, range);
        bool second = tn_multi_best(m, h->from[1]) < tn_multi_best(m, h->from[0]);
        struct tn_multi_queue *q = &m->queue[h->from[second]];
        struct tn_multi_node *node = NULL;
        if (tn_multi_best(m, h->from[second]) != TN_MULTI_NONE && tn_spinlock_try_lock(&q->lock))
            node = tn_multi_pop_here_(m, q, h);
        if (node != NULL) {
            h->from_left--;
            return node;
        }
        h->from_left = 0;
    }
    return tn_multi_scan_(m, h);
}

/* Move all of `queue` into the first `range` ones, of which it is none. */
static inline void tn_multi_empty(struct tn_multi *m, struct tn_multi_hand *h, uint32_t range, uint32_t queue)
{
    struct tn_multi_queue *q = &m->queue[queue];
    struct tn_multi_node *node;
    do {
        tn_spinlock_lock(&q->lock);
        node = tn_multi_pop_here_(m, q, h);
        if (node != NULL)
            tn_multi_push(m, h, range, node);
    } while (node != NULL);
}

/* ---- for tests ---- */

static inline bool tn_multi_heap_valid_(const struct tn_multi_node *heap, uint64_t least, uint32_t *n)
{
    for (; heap != NULL; heap = heap->next, ++*n)
        if (heap->key < least || (heap->child != NULL && !tn_multi_heap_valid_(heap->child, heap->key, n)))
            return false;
    return true;
}

/* At any time: takes the locks. */
static inline bool tn_multi_valid(struct tn_multi *m)
{
    bool ok = true;
    for (uint32_t k = 0; k < m->queues && ok; k++) {
        struct tn_multi_queue *q = &m->queue[k];
        tn_spinlock_lock(&q->lock);
        uint32_t n = q->n_out + q->n_in;
        uint64_t last = 0;
        ok = q->n_out <= m->buffer && q->n_in <= m->buffer && (q->n_out != 0 || (n == 0 && q->heap == NULL));
        for (uint32_t i = 0; i < q->n_out && ok; i++) {
            ok = tn_multi_out_(m, q, i)->key >= last &&
                 tn_multi_out_(m, q, i)->key == tn_multi_out_(m, q, i)->node->key;
            last = tn_multi_out_(m, q, i)->key;
        }
        for (uint32_t i = 0; i < q->n_in && ok; i++)
            ok = q->in[i]->key >= last;
        /* relaxed: written under the lock */
        ok = ok && tn_multi_heap_valid_(q->heap, last, &n) &&
             n == atomic_load_explicit(&q->length, memory_order_relaxed);
        ok = ok && tn_multi_best(m, k) == (q->n_out != 0 ? tn_multi_out_(m, q, 0)->key : TN_MULTI_NONE);
        tn_spinlock_unlock(&q->lock);
    }
    return ok;
}

#endif
