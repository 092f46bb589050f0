/* SPDX-License-Identifier: MIT
 *
 * Timers of a cluster: a binary heap by deadline under one lock (004 §3.3.3), and the earliest deadline in a word
 * that anyone reads without it. Header-only and without stack switching.
 *
 * Invariants: heap[i].deadline <= heap[2i+1].deadline, heap[2i+2].deadline; heap[i]->at == i + 1; a timer that is
 * in no heap has at == 0; earliest == heap[0].deadline, or TN_FOREVER when the heap is empty.
 */
#ifndef TN_TIMER_H
#define TN_TIMER_H

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "platform.h"
#include "queues/spinlock.h"

struct tn_timer {
    tn_time deadline;
    uint32_t at;  /* index in the heap, plus 1 */
    uint64_t seq; /* which wait of the fibre it belongs to */
};

struct tn_timers {
    struct tn_spinlock lock;
    struct tn_timer **heap; /* under the lock */
    uint32_t n, capacity;   /* under the lock */
    _Atomic(tn_time) earliest;
};

static inline void tn_timers_publish_(struct tn_timers *t)
{
    /* relaxed: a hint, looked at again under the lock; against parking it is ordered by the idle fences */
    atomic_store_explicit(&t->earliest, t->n ? t->heap[0]->deadline : UINT64_MAX, memory_order_relaxed);
}

static inline void tn_timers_set_(struct tn_timers *t, uint32_t i, struct tn_timer *x)
{
    t->heap[i] = x;
    x->at = i + 1;
}

static inline void tn_timers_up_(struct tn_timers *t, uint32_t i)
{
    struct tn_timer *x = t->heap[i];
    while (i > 0 && x->deadline < t->heap[(i - 1) / 2]->deadline) {
        tn_timers_set_(t, i, t->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    tn_timers_set_(t, i, x);
}

static inline void tn_timers_down_(struct tn_timers *t, uint32_t i)
{
    struct tn_timer *x = t->heap[i];
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= t->n)
            break;
        if (child + 1 < t->n && t->heap[child + 1]->deadline < t->heap[child]->deadline)
            child++;
        if (t->heap[child]->deadline >= x->deadline)
            break;
        tn_timers_set_(t, i, t->heap[child]);
        i = child;
    }
    tn_timers_set_(t, i, x);
}

static inline void tn_timers_init(struct tn_timers *t)
{
    memset(t, 0, sizeof *t);
    atomic_store_explicit(&t->earliest, UINT64_MAX, memory_order_relaxed); /* nobody sees it yet */
}

static inline void tn_timers_fini(struct tn_timers *t)
{
    free(t->heap);
    t->heap = NULL;
}

/* Room for one more, so that arming cannot fail later. Errors: ENOMEM. */
static inline int tn_timers_reserve_(struct tn_timers *t)
{
    if (t->n < t->capacity)
        return 0;
    uint32_t wider = t->capacity ? 2 * t->capacity : 64;
    struct tn_timer **heap = realloc(t->heap, wider * sizeof *heap);
    if (heap == NULL)
        return ENOMEM;
    t->heap = heap;
    t->capacity = wider;
    return 0;
}

/* Arm; *first tells whether it is now the earliest, so that a sleeping watcher must be told. */
static inline int tn_timers_arm(struct tn_timers *t, struct tn_timer *x, tn_time deadline, uint64_t seq, bool *first)
{
    tn_spinlock_lock(&t->lock);
    int rc = tn_timers_reserve_(t);
    if (rc == 0) {
        x->deadline = deadline;
        x->seq = seq;
        t->heap[t->n] = x;
        t->n++;
        tn_timers_up_(t, t->n - 1);
        *first = x->at == 1;
        tn_timers_publish_(t);
    }
    tn_spinlock_unlock(&t->lock);
    return rc;
}

static inline void tn_timers_remove_(struct tn_timers *t, struct tn_timer *x)
{
    uint32_t i = x->at - 1;
    struct tn_timer *last = t->heap[--t->n];
    x->at = 0;
    if (last == x)
        return;
    tn_timers_set_(t, i, last);
    tn_timers_down_(t, i);
    tn_timers_up_(t, last->at - 1);
}

/* After this the timer is in no heap and nobody fires it: a firing under way is over. */
static inline void tn_timers_disarm(struct tn_timers *t, struct tn_timer *x)
{
    tn_spinlock_lock(&t->lock);
    if (x->at != 0) {
        tn_timers_remove_(t, x);
        tn_timers_publish_(t);
    }
    tn_spinlock_unlock(&t->lock);
}

/* Fire all that are due: `fire` is called under the lock. Returns their number. */
static inline unsigned tn_timers_expire(struct tn_timers *t, tn_time now, void (*fire)(struct tn_timer *, void *),
                                        void *arg)
{
    unsigned fired = 0;
    tn_spinlock_lock(&t->lock);
    while (t->n != 0 && t->heap[0]->deadline <= now) {
        struct tn_timer *x = t->heap[0];
        tn_timers_remove_(t, x);
        fire(x, arg);
        fired++;
    }
    tn_timers_publish_(t);
    tn_spinlock_unlock(&t->lock);
    return fired;
}

static inline tn_time tn_timers_earliest(struct tn_timers *t)
{
    return atomic_load_explicit(&t->earliest, memory_order_relaxed); /* relaxed: see tn_timers_publish_ */
}

static inline bool tn_timers_valid(const struct tn_timers *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (t->heap[i]->at != i + 1 || (i > 0 && t->heap[(i - 1) / 2]->deadline > t->heap[i]->deadline))
            return false;
    return true;
}

#endif
