/* SPDX-License-Identifier: MIT
 *
 * A queue of fibres into which any thread pushes, and which its owner and thieves empty: one of four (000 §4.2). Consumers
 * take turns under a lock of theirs, but for `locked`, where all do under one lock.
 *
 * The queue with nodes needs some that live as long as it does. They come in blocks, and go from hand to hand in whole
 * batches, so that the lock of all is held for a moment, once in a batch. Who pops a node keeps it for his next push. Where
 * one always pushes and another always pops, nodes would pile up with the latter: who has two batches gives one to all,
 * and who has none takes one from there. Who has no hand, being no worker of the cluster, pushes from one that belongs to
 * the queue, under a lock of its own.
 *
 * Invariants.
 *  1. A fibre that was pushed is popped once. Empty is reliable, as the queues say.
 *  2. A batch is TN_PUSHED_BLOCK nodes, and no hand holds more than two; so there are never more blocks than what was queued
 *     at once fills, and two for each hand, and one.
 */
#ifndef TN_PARTS_PUSHED_H
#define TN_PARTS_PUSHED_H

#include "scheduler.h"
#include "queues/locked.h"
#include "queues/mpsc_node.h"
#include "queues/mpsc_stub.h"
#include "queues/nemesis.h"

enum tn_pushed_kind { TN_PUSHED_LOCKED, TN_PUSHED_NODE, TN_PUSHED_STUB, TN_PUSHED_NEMESIS };
enum { TN_PUSHED_BLOCK = 63 };

/* Nodes that are free are linked by their items. Each has a line of its own: they go from worker to worker. */
struct tn_pushed_block {
    struct tn_pushed_block *next;
    struct {
        _Alignas(TN_CACHE_LINE) struct tn_mpsc_node node;
    } line[TN_PUSHED_BLOCK];
};

/* All nodes of a cluster, and the free ones that are in nobody's hand: batches, linked by `next` of their first nodes. */
struct tn_pushed_nodes {
    struct tn_spinlock lock;
    struct tn_pushed_block *blocks; /* under lock, both */
    struct tn_mpsc_node *batches;
};

/* Free nodes: n that are linked, and a whole batch or NULL. A worker's own, or under a lock. */
struct tn_pushed_hand {
    struct tn_mpsc_node *free, *batch;
    uint32_t n;
};

struct tn_pushed {
    union {
        struct tn_locked_queue locked;
        struct tn_mpsc_stub stub;
        struct tn_mpsc_nodes nodes;
        struct tn_nemesis nemesis;
    } queue;
    _Alignas(TN_CACHE_LINE) struct tn_spinlock consumers;
    /* nodes: of those who push and have no hand */
    _Alignas(TN_CACHE_LINE) struct tn_spinlock strangers;
    struct tn_pushed_hand hand;                        /* under `strangers` */
    _Alignas(TN_CACHE_LINE) struct tn_mpsc_node first; /* goes round as the others do */
};

/* ---- nodes ---- */

static inline struct tn_mpsc_node *tn_pushed_take_(struct tn_pushed_hand *hand)
{
    struct tn_mpsc_node *node = hand->free;
    hand->free = node->item;
    hand->n--;
    return node;
}

static inline void tn_pushed_give_(struct tn_pushed_nodes *all, struct tn_mpsc_node *batch)
{
    tn_spinlock_lock(&all->lock);
    atomic_store_explicit(&batch->next, all->batches, memory_order_relaxed); /* relaxed: under the lock */
    all->batches = batch;
    tn_spinlock_unlock(&all->lock);
}

static inline void tn_pushed_keep_(struct tn_pushed_nodes *all, struct tn_pushed_hand *hand,
                                   struct tn_mpsc_node *node)
{
    node->item = hand->free;
    hand->free = node;
    if (++hand->n < TN_PUSHED_BLOCK)
        return;
    if (hand->batch != NULL)
        tn_pushed_give_(all, hand->batch);
    hand->batch = hand->free;
    hand->free = NULL;
    hand->n = 0;
}

/* NULL: nobody has a batch to spare. */
static inline struct tn_mpsc_node *tn_pushed_node_(struct tn_pushed_nodes *all, struct tn_pushed_hand *hand)
{
    if (hand->n == 0) {
        struct tn_mpsc_node *batch = hand->batch;
        hand->batch = NULL;
        if (batch == NULL) {
            tn_spinlock_lock(&all->lock);
            batch = all->batches;
            if (batch != NULL) /* relaxed: under the lock */
                all->batches = atomic_load_explicit(&batch->next, memory_order_relaxed);
            tn_spinlock_unlock(&all->lock);
        }
        if (batch == NULL)
            return NULL;
        hand->free = batch;
        hand->n = TN_PUSHED_BLOCK;
    }
    return tn_pushed_take_(hand);
}

/* One batch more for all. False: no memory. */
static inline bool tn_pushed_grow_(struct tn_pushed_nodes *all)
{
    struct tn_pushed_block *made = tn_sched_alloc(sizeof *made);
    if (made == NULL)
        return false;
    for (uint32_t i = 1; i < TN_PUSHED_BLOCK; i++)
        made->line[i - 1].node.item = &made->line[i].node;
    tn_spinlock_lock(&all->lock);
    made->next = all->blocks;
    all->blocks = made;
    tn_spinlock_unlock(&all->lock);
    tn_pushed_give_(all, &made->line[0].node);
    return true;
}

/* NULL: no memory. */
static inline struct tn_mpsc_node *tn_pushed_node(struct tn_pushed *p, struct tn_pushed_nodes *all,
                                                  struct tn_pushed_hand *hand)
{
    struct tn_mpsc_node *node;
    do {
        if (hand == NULL)
            tn_spinlock_lock(&p->strangers);
        node = tn_pushed_node_(all, hand != NULL ? hand : &p->hand);
        if (hand == NULL)
            tn_spinlock_unlock(&p->strangers);
    } while (node == NULL && tn_pushed_grow_(all));
    return node;
}

static inline void tn_pushed_nodes_fini(struct tn_pushed_nodes *all)
{
    for (struct tn_pushed_block *b = all->blocks, *next; b != NULL; b = next) {
        next = b->next;
        tn_sched_free(b, sizeof *b);
    }
}

/* ---- the queue ---- */

static inline void tn_pushed_init(struct tn_pushed *p, enum tn_pushed_kind kind)
{
    tn_spinlock_init(&p->consumers);
    tn_spinlock_init(&p->strangers);
    switch (kind) {
    case TN_PUSHED_LOCKED:
        tn_locked_queue_init(&p->queue.locked);
        break;
    case TN_PUSHED_NODE:
        tn_mpsc_nodes_init(&p->queue.nodes, &p->first);
        break;
    case TN_PUSHED_STUB:
        tn_mpsc_stub_init(&p->queue.stub);
        break;
    default:
        tn_nemesis_init(&p->queue.nemesis);
    }
}

/* Any thread; `hand`: its own, or NULL. False: no memory for a node. */
static inline bool tn_pushed_push(struct tn_pushed *p, enum tn_pushed_kind kind, struct tn_pushed_nodes *all,
                                  struct tn_pushed_hand *hand, struct tn_fibre *f)
{
    struct tn_mpsc_node *node;
    switch (kind) {
    case TN_PUSHED_LOCKED:
        tn_locked_queue_push_back(&p->queue.locked, &f->link);
        return true;
    case TN_PUSHED_NODE:
        if ((node = tn_pushed_node(p, all, hand)) == NULL)
            return false;
        tn_mpsc_nodes_push(&p->queue.nodes, node, f);
        return true;
    case TN_PUSHED_STUB:
        tn_mpsc_stub_push(&p->queue.stub, &f->link);
        return true;
    default:
        tn_nemesis_push(&p->queue.nemesis, &f->link);
        return true;
    }
}

static inline bool tn_pushed_empty(struct tn_pushed *p, enum tn_pushed_kind kind)
{
    switch (kind) {
    case TN_PUSHED_LOCKED:
        return tn_locked_queue_length(&p->queue.locked) == 0;
    case TN_PUSHED_NODE:
        return tn_mpsc_nodes_empty(&p->queue.nodes);
    case TN_PUSHED_STUB:
        return tn_mpsc_stub_empty(&p->queue.stub);
    default:
        return tn_nemesis_empty(&p->queue.nemesis);
    }
}

/* Any worker; its hand gets the node. NULL: empty. */
static inline struct tn_fibre *tn_pushed_pop(struct tn_pushed *p, enum tn_pushed_kind kind,
                                             struct tn_pushed_nodes *all, struct tn_pushed_hand *hand)
{
    struct tn_mpsc_node *node = NULL;
    struct tn_link *link = NULL;
    void *item = NULL;
    if (kind == TN_PUSHED_LOCKED)
        return tn_fibre_of(tn_locked_queue_pop_front(&p->queue.locked));
    if (tn_pushed_empty(p, kind))
        return NULL;
    tn_spinlock_lock(&p->consumers);
    switch (kind) {
    case TN_PUSHED_NODE:
        node = tn_mpsc_nodes_pop(&p->queue.nodes, &item);
        link = item;
        break;
    case TN_PUSHED_STUB:
        link = tn_mpsc_stub_pop(&p->queue.stub);
        break;
    default:
        link = tn_nemesis_pop(&p->queue.nemesis);
    }
    tn_spinlock_unlock(&p->consumers);
    if (node != NULL)
        tn_pushed_keep_(all, hand, node);
    return tn_fibre_of(link);
}

#endif
