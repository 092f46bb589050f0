/* SPDX-License-Identifier: MIT
 *
 * The global queue of a cluster whose workers have queues of their own (003 §7.1.1): for what they overflow with, or
 * for a share of what they spawn; and layout=global of fifo, where it is the only one. One lock-free ring; five of them,
 * so that fewer meet at one; or none, and all goes into the cluster's locked list, which takes what a ring refuses, too.
 * Of five, a fibre's own address says which: that spreads them, and any worker takes from any.
 */
#ifndef TN_PARTS_POOL_H
#define TN_PARTS_POOL_H

#include "local.h"

static inline bool pool_push(struct local_cluster *c, struct tn_fibre *f)
{
    return c->rings != 0 && tn_mpmc_push(c->ring[((uintptr_t)f >> 12) % c->rings], f);
}

/* From any ring, `start` first. NULL: none has anything, in the sense of mpmc_ring.h, 4. */
static inline struct tn_link *pool_pop(struct local_cluster *c, uint32_t start)
{
    struct tn_link *f = NULL;
    for (uint32_t i = 0; i < c->rings && f == NULL; i++)
        f = tn_mpmc_pop(c->ring[(start + i) % c->rings]);
    return f;
}

static inline size_t pool_length(struct local_cluster *c)
{
    size_t length = 0;
    for (uint32_t i = 0; i < c->rings; i++)
        length += tn_mpmc_length(c->ring[i]);
    return length;
}

/* The list keeps what comes after what is in the rings: nothing enters them while it holds anything. */
static inline bool pool_put(struct local_cluster *c, struct tn_fibre *f)
{
    if (tn_locked_queue_length(&c->shared) == 0 && pool_push(c, f))
        return true;
    tn_locked_queue_push_back(&c->shared, &f->link);
    return false;
}

static void pool_fini(struct local_cluster *c)
{
    while (c->rings != 0) {
        struct tn_mpmc_ring *ring = c->ring[--c->rings];
        tn_sched_free(ring, tn_mpmc_bytes(tn_mpmc_capacity(ring)));
    }
}

static int pool_init(struct tn_cluster *cl)
{
    struct local_cluster *c = cl->sched;
    bool wanted =
        LOCAL_LAYOUT(cl) == LAYOUT_GLOBAL ? !LOCAL_LIFO : KNOB(cl, full) == FULL_GLOBAL || KNOB(cl, chance) != 0;
    uint32_t n = !wanted || KNOB(cl, pool) == POOL_LOCKED ? 0 : KNOB(cl, pool) == POOL_FIVE ? POOL_RINGS : 1;
    size_t capacity = local_round(KNOB(cl, capacity));
    for (; c->rings < n; c->rings++) {
        c->ring[c->rings] = tn_sched_alloc(tn_mpmc_bytes(capacity));
        if (c->ring[c->rings] == NULL) {
            pool_fini(c);
            return ENOMEM;
        }
        tn_mpmc_init(c->ring[c->rings], capacity);
    }
    return 0;
}

#endif
