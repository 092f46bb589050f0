/* SPDX-License-Identifier: MIT
 *
 * A bounded stack of fibres under a spin lock whose places can be reached: for policies that swap (003 §4.4.4), not for
 * speed.
 *
 * Invariants.
 *  1. slot[(bottom + i) & mask], i in [0 … count), oldest first; all of it under the lock.
 *  2. length == count whenever the lock is free; read without the lock it is a hint, as that of queues/locked.h.
 */
#ifndef TN_PARTS_STACK_H
#define TN_PARTS_STACK_H

#include "scheduler.h"
#include "queues/spinlock.h"

struct tn_stack {
    struct tn_spinlock lock;
    uint32_t bottom, count, mask;
    struct tn_fibre **slot;
    _Atomic(uint32_t) length; /* relaxed: written under the lock, a hint outside */
};

enum { TN_STACK_TOP = -1, TN_STACK_BOTTOM = -2 };

static inline int tn_stack_init(struct tn_stack *s, int64_t capacity)
{
    uint32_t size = 1;
    while (size < capacity)
        size *= 2;
    tn_spinlock_init(&s->lock);
    s->mask = size - 1;
    s->slot = tn_sched_alloc(size * sizeof(struct tn_fibre *));
    return s->slot != NULL ? 0 : ENOMEM;
}

static inline void tn_stack_fini(struct tn_stack *s)
{
    tn_sched_free(s->slot, (s->mask + (size_t)1) * sizeof(struct tn_fibre *));
}

static inline uint32_t tn_stack_length(struct tn_stack *s)
{
    return atomic_load_explicit(&s->length, memory_order_relaxed); /* relaxed: see its declaration */
}

static inline struct tn_fibre **tn_stack_at_(struct tn_stack *s, uint32_t i)
{
    return &s->slot[(s->bottom + i) & s->mask];
}

static inline void tn_stack_settle_(struct tn_stack *s)
{
    atomic_store_explicit(&s->length, s->count, memory_order_relaxed); /* relaxed: see its declaration */
    tn_spinlock_unlock(&s->lock);
}

/* On top, at the bottom, or in the i-th place, whose fibre becomes the top. False: full. */
static inline bool tn_stack_put(struct tn_stack *s, struct tn_fibre *f, int64_t i)
{
    tn_spinlock_lock(&s->lock);
    bool room = s->count <= s->mask;
    if (room && i == TN_STACK_BOTTOM) {
        s->bottom--;
        s->count++;
        *tn_stack_at_(s, 0) = f;
    } else if (room) {
        *tn_stack_at_(s, s->count++) = f;
        if (i >= 0 && i < s->count - 1) { /* else thieves have taken that place away */
            *tn_stack_at_(s, s->count - 1) = *tn_stack_at_(s, (uint32_t)i);
            *tn_stack_at_(s, (uint32_t)i) = f;
        }
    }
    tn_stack_settle_(s);
    return room;
}

/* The top or, with `draw`, the one in the place (*draw modulo their number), which the top then takes; *draw becomes
 * that place. NULL: empty. */
static inline struct tn_fibre *tn_stack_take(struct tn_stack *s, uint64_t *draw)
{
    struct tn_fibre *f = NULL;
    if (tn_stack_length(s) == 0)
        return NULL;
    tn_spinlock_lock(&s->lock);
    if (s->count != 0) {
        uint32_t i = s->count - 1;
        if (draw != NULL)
            *draw = i = (uint32_t)(*draw % s->count);
        f = *tn_stack_at_(s, i);
        *tn_stack_at_(s, i) = *tn_stack_at_(s, --s->count);
    }
    tn_stack_settle_(s);
    return f;
}

/* A thief: the older half, at most `max`. Returns how many. */
static inline uint32_t tn_stack_take_half(struct tn_stack *s, uint32_t max, struct tn_fibre *out[])
{
    uint32_t n = 0;
    if (tn_stack_length(s) == 0)
        return 0;
    tn_spinlock_lock(&s->lock);
    for (uint32_t half = (s->count + 1) / 2; n < half && n < max; n++) {
        out[n] = *tn_stack_at_(s, 0);
        s->bottom++;
        s->count--;
    }
    tn_stack_settle_(s);
    return n;
}

#endif
