/* SPDX-License-Identifier: MIT
 *
 * Local queues that get larger when they are full (003 §4.4.2): who spawns a lot goes on spawning, and leaves it to the
 * others to fetch it.
 *
 * Vertically (full=grow) the open queue is replaced by one of twice its size. The owner takes everything out of the old
 * one as a thief would, half at a time and the oldest first, puts it into the new one, and only then shows the new one.
 * So a fibre is in one of them, or in the owner's hands; and since that happens inside ready(), which is followed by a
 * look for sleepers, nobody sleeps on what was in its hands (core/idle.h). The old queue stays, empty, until the worker
 * ends: a thief may still look at it.
 *
 * Horizontally (full=chain) a further queue of the same size is chained to it: thieves begin at different ones, and meet
 * the less. Its owner takes from the chained ones as a thief does, when it has nothing else.
 *
 * Pairs:  G0 the owner shows a new queue -> G0 a thief looks at it: its fields, and what is in it.
 *         C0 the owner chains a further queue -> C0 whoever takes from the chain: the same.
 */
#ifndef TN_PARTS_RESIZE_H
#define TN_PARTS_RESIZE_H

#include "local.h"

enum { CHAIN_MAX = 64 };

struct local_chain {
    _Atomic(uint32_t) n; /* queue[0 … n) are there, and stay; owner writes */
    uint32_t last;       /* owner only: where it pushed last */
    size_t capacity;     /* of each */
    local_open *queue[CHAIN_MAX];
};

/* Queues that have been replaced; owner only. */
struct local_outgrown {
    struct local_outgrown *next;
    local_open *open;
};

static inline local_open *local_shown(struct local_worker *l)
{
    return atomic_load_explicit(&l->shown, memory_order_acquire); /* G0 acquire */
}

static local_open *open_make(size_t capacity)
{
    local_open *open = tn_sched_alloc(OPEN(bytes)(capacity));
    if (open != NULL)
        OPEN(init)(open, capacity);
    return open;
}

static void open_free(local_open *open)
{
    tn_sched_free(open, OPEN(bytes)(OPEN(capacity)(open)));
}

/* ---- vertically; owner only ---- */

/* False: it is as large as it may be, or there is no memory. */
static bool local_grow(struct local_worker *l)
{
    local_open *old = l->open;
    size_t capacity = 2 * OPEN(capacity)(old);
    struct local_outgrown *keep = capacity <= LOCAL_CAPACITY_MAX ? tn_sched_alloc(sizeof *keep) : NULL;
    local_open *new = keep != NULL ? open_make(capacity) : NULL;
    if (new == NULL) {
        tn_sched_free(keep, sizeof *keep);
        return false;
    }
    void *got[STEAL_MAX];
    while (OPEN(length)(old) != 0) /* 0 from a steal: another thief was faster */
        OPEN(push_n)(new, OPEN(steal)(old, STEAL_MAX, got), got);
    *keep = (struct local_outgrown){l->outgrown, old};
    l->outgrown = keep;
    l->open = new;
    atomic_store_explicit(&l->shown, new, memory_order_release); /* G0 release */
    return true;
}

/* ---- horizontally ---- */

static inline size_t chain_length(struct local_worker *l)
{
    size_t length = 0;
    uint32_t n = l->chain != NULL ? atomic_load_explicit(&l->chain->n, memory_order_acquire) : 0; /* C0 acquire */
    for (uint32_t i = 0; i < n; i++)
        length += OPEN(length)(l->chain->queue[i]);
    return length;
}

/* Any thread. From the first that has something, the start-th before the others. */
static inline size_t chain_steal(struct local_worker *l, size_t max, void *out[], uint32_t start)
{
    size_t got = 0;
    uint32_t n = l->chain != NULL ? atomic_load_explicit(&l->chain->n, memory_order_acquire) : 0; /* C0 acquire */
    for (uint32_t i = 0; i < n && got == 0; i++)
        if (OPEN(length)(l->chain->queue[(start + i) % n]) != 0)
            got = OPEN(steal)(l->chain->queue[(start + i) % n], max, out);
    return got;
}

/* Owner only: where it pushed last, into one that has been emptied, or into a further one. False: all are full. */
static bool chain_push(struct tn_worker *me, struct tn_fibre *f)
{
    struct local_chain *c = local_of(me)->chain;
    uint32_t n = atomic_load_explicit(&c->n, memory_order_relaxed); /* relaxed: own */
    for (uint32_t i = 0; i < n; i++)
        if ((i == 0 || OPEN(length)(c->queue[(c->last + i) % n]) == 0) &&
            OPEN(push)(c->queue[(c->last + i) % n], f)) {
            c->last = (c->last + i) % n;
            return true;
        }
    if (n == CHAIN_MAX || (c->queue[n] = open_make(c->capacity)) == NULL)
        return false;
    OPEN(push)(c->queue[n], f);
    c->last = n;
    atomic_store_explicit(&c->n, n + 1, memory_order_release); /* C0 release */
    TN_COUNT_ADD(me, LOCAL_CHAINED, 1);
    return true;
}

static void resize_fini(struct local_worker *l)
{
    struct local_outgrown *o;
    uint32_t n = l->chain != NULL ? atomic_load_explicit(&l->chain->n, memory_order_relaxed) : 0; /* relaxed: alone */
    while (n > 0)
        open_free(l->chain->queue[--n]);
    tn_sched_free(l->chain, sizeof *l->chain);
    while ((o = l->outgrown) != NULL) {
        l->outgrown = o->next;
        open_free(o->open);
        tn_sched_free(o, sizeof *o);
    }
}

#endif
