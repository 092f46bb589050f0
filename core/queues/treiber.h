/* SPDX-License-Identifier: MIT */
/*
 * An unbounded stack for any number of threads: Treiber's, with a tag against ABA.
 *
 * pop reads the top, then the top's next, then exchanges one for the other.  In between the top may have been popped,
 * its successor too, and the top pushed again: the address is the same, but next is not what it was (ABA).  So the word
 * that is exchanged holds a tag besides the address, which each push makes one more: an address comes back only by a
 * push.  Both fit in 64 bits: user addresses have 48 bits at most, of which links leave the lowest three free.
 *
 * Limit: the tag has 19 bits.  A pop that stands still between its read and its CAS while exactly a multiple of 524 288
 * pushes come, the last of them of the node that it has in hand, would be fooled.
 *
 * A node may be read by a pop that lost the race, after it was popped and while it is pushed anew: its memory must stay
 * readable for as long as the stack is used, and its next is atomic.  What was read is then thrown away: the CAS fails.
 *
 * Invariants:
 *   1. From top, following next, each node that is in the stack is reached once.  next of a node that is in it does not
 *      change: only a push writes it, before its CAS.
 *   2. A word of top, tag and all, stands for one state of the whole stack below the top (up to the limit): the CAS of
 *      a pop succeeds only where the next that it read is that of the node.
 *
 * Order: strict LIFO by the order of the CAS.
 *
 * Pairs:  R0 push publishes its node -> A0 pop reads top: the node and its next.  A pop's CAS continues R0's release
 *         sequences of the nodes below, so it needs no release of its own.
 */
#ifndef TN_QUEUES_TREIBER_H
#define TN_QUEUES_TREIBER_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link.h"

struct tn_treiber_link {
    _Atomic(struct tn_treiber_link *) next;
};

struct tn_treiber {
    _Alignas(TN_CACHE_LINE) _Atomic(uint64_t) top; /* 19 bits of tag, 45 of address */
};

#define TN_TREIBER_SHIFT 3 /* bits of an address that are 0 */
#define TN_TREIBER_TAG   (UINT64_C(1) << 45)

static inline struct tn_treiber_link *tn_treiber_node_(uint64_t top)
{
    return (struct tn_treiber_link *)(uintptr_t)((top & (TN_TREIBER_TAG - 1)) << TN_TREIBER_SHIFT);
}

/* The same tag, another node. */
static inline uint64_t tn_treiber_word_(uint64_t top, struct tn_treiber_link *node)
{
    return (top & ~(TN_TREIBER_TAG - 1)) | ((uint64_t)(uintptr_t)node >> TN_TREIBER_SHIFT);
}

static inline void tn_treiber_init(struct tn_treiber *q)
{
    atomic_init(&q->top, UINT64_C(0));
}

/* Any thread; link's address is a multiple of 8 below 2^48. */
static inline void tn_treiber_push(struct tn_treiber *q, struct tn_treiber_link *link)
{
    uint64_t top = atomic_load_explicit(&q->top, memory_order_relaxed); /* relaxed: the CAS confirms it */

    assert(((uintptr_t)link & 7) == 0 && tn_treiber_node_(tn_treiber_word_(0, link)) == link);
    do
        atomic_store_explicit(&link->next, tn_treiber_node_(top),
                              memory_order_relaxed); /* relaxed: R0 publishes it */
    while (!atomic_compare_exchange_weak_explicit(&q->top, &top, tn_treiber_word_(top, link) + TN_TREIBER_TAG,
                                                  memory_order_release,   /* R0 */
                                                  memory_order_relaxed)); /* relaxed: tries again */
}

/* Any thread.  The newest; NULL when empty. */
static inline struct tn_treiber_link *tn_treiber_pop(struct tn_treiber *q)
{
    uint64_t top = atomic_load_explicit(&q->top, memory_order_acquire); /* A0 */
    struct tn_treiber_link *node;

    while ((node = tn_treiber_node_(top)) != NULL) {
        /* relaxed: A0 saw it written, or it is being written and the CAS fails (2). */
        struct tn_treiber_link *next = atomic_load_explicit(&node->next, memory_order_relaxed);
        if (atomic_compare_exchange_weak_explicit(&q->top, &top, tn_treiber_word_(top, next),
                                                  memory_order_acquire,  /* A0 */
                                                  memory_order_acquire)) /* A0 */
            return node;
    }
    return NULL;
}

/* Anyone.  A push that happened before is seen. */
static inline bool tn_treiber_empty(struct tn_treiber *q)
{
    return tn_treiber_node_(atomic_load_explicit(&q->top, memory_order_relaxed)) == NULL; /* relaxed: one word */
}

#endif
