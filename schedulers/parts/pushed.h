/* SPDX-License-Identifier: MIT
 *
 * A queue of fibres into which any thread pushes, and which its owner and thieves empty: one of four (000 §4.2). Consumers
 * take turns under a lock of theirs, but for `locked`, where all do under one lock.
 *
 * The queue with nodes needs some that live as long as it does. They come in blocks; who pops one keeps it for his next push.
 * Where one always pushes and another always pops, nodes would pile up with the latter: who has two blocks gives one back
 * for all, and who has none takes from there.
 *
 * Invariants.
 *  1. A fibre that was pushed is popped once. Empty is reliable, as the queues say.
 *  2. No hand holds more than two blocks of free nodes; so there are never more blocks than what was queued at once fills,
 *     and two for each hand, and one.
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

/* All nodes of a cluster, and the free ones that are in nobody's hand. */
struct tn_pushed_nodes {
    struct tn_spinlock lock;
    struct tn_pushed_block *blocks; /* under lock, both */
    struct tn_mpsc_node *free;
};

/* A worker's own free nodes; `free` empties as n does. Owner only. */
struct tn_pushed_hand {
    struct tn_mpsc_node *free;
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
};

/* ---- nodes ---- */

static inline struct tn_mpsc_node *tn_pushed_take_(struct tn_pushed_hand *hand)
{
    struct tn_mpsc_node *node = hand->free;
    hand->free = node->item;
    hand->n--;
    return node;
}

static inline void tn_pushed_keep_(struct tn_pushed_hand *hand, struct tn_mpsc_node *node)
{
    node->item = hand->free;
    hand->free = node;
    hand->n++;
}

/* At most so many from those of all or, if they have none, a new block: into a hand that is empty. False: no memory. */
static inline bool tn_pushed_fetch_(struct tn_pushed_nodes *all, struct tn_pushed_hand *hand, uint32_t most)
{
    tn_spinlock_lock(&all->lock);
    while (all->free != NULL && hand->n < most) {
        struct tn_mpsc_node *node = all->free;
        all->free = node->item;
        tn_pushed_keep_(hand, node);
    }
    tn_spinlock_unlock(&all->lock);
    if (hand->n != 0)
        return true;
    struct tn_pushed_block *made = tn_sched_alloc(sizeof *made);
    if (made == NULL)
        return false;
    for (uint32_t i = 0; i < TN_PUSHED_BLOCK; i++)
        tn_pushed_keep_(hand, &made->line[i].node);
    tn_spinlock_lock(&all->lock);
    made->next = all->blocks;
    all->blocks = made;
    tn_spinlock_unlock(&all->lock);
    return true;
}

/* Give n of a hand's nodes back to all. */
static inline void tn_pushed_give_(struct tn_pushed_nodes *all, struct tn_pushed_hand *hand, uint32_t n)
{
    struct tn_mpsc_node *first = hand->free, *last = first;
    if (n == 0)
        return;
    for (uint32_t i = 1; i < n; i++)
        last = last->item;
    hand->free = last->item;
    hand->n -= n;
    tn_spinlock_lock(&all->lock);
    last->item = all->free;
    all->free = first;
    tn_spinlock_unlock(&all->lock);
}

/* From the caller's hand or, with `hand` NULL, from that of all. NULL: no memory. */
static inline struct tn_mpsc_node *tn_pushed_node_(struct tn_pushed_nodes *all, struct tn_pushed_hand *hand)
{
    struct tn_pushed_hand other = {0};
    struct tn_pushed_hand *h = hand != NULL ? hand : &other;
    struct tn_mpsc_node *node = NULL;
    if (h->n != 0 || tn_pushed_fetch_(all, h, hand != NULL ? TN_PUSHED_BLOCK : 1))
        node = tn_pushed_take_(h);
    tn_pushed_give_(all, &other, other.n);
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

static inline int tn_pushed_init(struct tn_pushed *p, enum tn_pushed_kind kind, struct tn_pushed_nodes *all)
{
    struct tn_mpsc_node *first;
    tn_spinlock_init(&p->consumers);
    switch (kind) {
    case TN_PUSHED_LOCKED:
        tn_locked_queue_init(&p->queue.locked);
        return 0;
    case TN_PUSHED_NODE:
        if ((first = tn_pushed_node_(all, NULL)) == NULL)
            return ENOMEM;
        tn_mpsc_nodes_init(&p->queue.nodes, first);
        return 0;
    case TN_PUSHED_STUB:
        tn_mpsc_stub_init(&p->queue.stub);
        return 0;
    default:
        tn_nemesis_init(&p->queue.nemesis);
        return 0;
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
        if ((node = tn_pushed_node_(all, hand)) == NULL)
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
    if (node != NULL) {
        tn_pushed_keep_(hand, node);
        if (hand->n == 2 * TN_PUSHED_BLOCK)
            tn_pushed_give_(all, hand, TN_PUSHED_BLOCK);
    }
    return tn_fibre_of(link);
}

#endif
