/* SPDX-License-Identifier: MIT
 *
 * Timers of a cluster: a hierarchical wheel under one lock (Varghese and Lauck, named in 004 §3.3.3), with the interface
 * of timer.h. Arming and cancelling take constant time, however many timers there are; nothing is ever allocated.
 *
 * Time is counted in ticks of 2^14 ns. Level l has 64 slots of 64^l ticks each; nine levels hold every tn_time. A timer
 * lies at the level of the highest digit (of six bits) in which its tick differs from the wheel's, in the slot of its
 * own digit there. When the wheel's time reaches that slot, the timer moves to a lower level, or fires: it moves at most
 * eight times in its life, whatever happens to the others.
 *
 * Accuracy: a timer never fires early, and becomes due at most one tick (16.4 us) after its deadline, since deadlines are
 * rounded up to whole ticks; timers of the same tick fire in no particular order. tn_timers_earliest() is the
 * start of the first occupied slot: exact for what is due within a millisecond, for later ones a lower bound, at which a
 * sleeper wakes once a level to move timers down.
 *
 * Invariants: a timer in slot s of level l, at == 1 + 64 l + s, has digit s there, and the wheel's digits above l; s is
 * greater than the wheel's digit at l; bit s of used[l] is set iff the slot is not empty, bit l of levels iff used[l] is not
 * 0; what was due when it was armed is in the list `late`, at == LATE; a timer in no list has at == 0.
 * So the lowest level with a timer has the earliest one, in its lowest used slot.
 */
#ifndef TN_TIMER_WHEEL_H
#define TN_TIMER_WHEEL_H

#include <stdatomic.h>
#include <string.h>

#include "platform.h"
#include "queues/spinlock.h"

enum { TN_WHEEL_TICK = 14, TN_WHEEL_BITS = 6, TN_WHEEL_SLOTS = 1 << TN_WHEEL_BITS, TN_WHEEL_LEVELS = 9 };
enum { TN_WHEEL_LATE = TN_WHEEL_LEVELS * TN_WHEEL_SLOTS + 1 };

_Static_assert(TN_WHEEL_TICK + TN_WHEEL_BITS * TN_WHEEL_LEVELS >= 64, "the wheel holds every deadline");

struct tn_timer {
    tn_time deadline;
    uint32_t at;                   /* 1 + 64 * level + slot; LATE; 0: in no list */
    uint64_t seq;                  /* which wait of the fibre it belongs to */
    struct tn_timer *next, **self; /* of the slot's list; what points to this one */
};

struct tn_timers {
    struct tn_spinlock lock;
    uint64_t now;                                            /* under the lock: the tick up to which all is fired */
    uint32_t levels;                                         /* under the lock: bit l: used[l] != 0 */
    uint64_t used[TN_WHEEL_LEVELS];                          /* under the lock */
    struct tn_timer *slot[TN_WHEEL_LEVELS * TN_WHEEL_SLOTS]; /* under the lock */
    struct tn_timer *late;                                   /* under the lock */
    _Atomic(tn_time) earliest;
};

/* The tick at which a deadline is over; of the last ones that there are, the last tick. */
static inline uint64_t tn_wheel_tick_(tn_time deadline)
{
    if (deadline >= UINT64_MAX << TN_WHEEL_TICK)
        return UINT64_MAX >> TN_WHEEL_TICK;
    return (deadline >> TN_WHEEL_TICK) + ((deadline & ((1u << TN_WHEEL_TICK) - 1)) != 0);
}

/* The first tick at which there is something to do; UINT64_MAX: none. */
static inline uint64_t tn_wheel_next_(const struct tn_timers *t)
{
    if (t->levels == 0)
        return UINT64_MAX;
    unsigned level = (unsigned)__builtin_ctz(t->levels), shift = level * TN_WHEEL_BITS;
    uint64_t slot = (uint64_t)__builtin_ctzll(t->used[level]);
    uint64_t above = (t->now >> shift) & ~(uint64_t)(TN_WHEEL_SLOTS - 1);
    return (above | slot) << shift;
}

static inline void tn_timers_publish_(struct tn_timers *t)
{
    uint64_t next = tn_wheel_next_(t);
    tn_time at = t->late != NULL ? 0 : next == UINT64_MAX ? UINT64_MAX : next << TN_WHEEL_TICK;
    /* relaxed: a hint, looked at again under the lock; against parking it is ordered by the idle fences */
    atomic_store_explicit(&t->earliest, at, memory_order_relaxed);
}

static inline tn_time tn_timers_earliest(struct tn_timers *t)
{
    return atomic_load_explicit(&t->earliest, memory_order_relaxed); /* relaxed: see tn_timers_publish_ */
}

static inline void tn_timers_init(struct tn_timers *t)
{
    memset(t, 0, sizeof *t);
    atomic_store_explicit(&t->earliest, UINT64_MAX, memory_order_relaxed); /* nobody sees it yet */
}

static inline void tn_timers_fini(struct tn_timers *t)
{
    (void)t;
}

static inline void tn_wheel_push_(struct tn_timer **list, struct tn_timer *x, uint32_t at)
{
    x->at = at;
    x->self = list;
    x->next = *list;
    if (x->next != NULL)
        x->next->self = &x->next;
    *list = x;
}

/* Into the slot that its deadline has as seen from now. False: its tick is reached. */
static inline bool tn_wheel_place_(struct tn_timers *t, struct tn_timer *x)
{
    uint64_t tick = tn_wheel_tick_(x->deadline);
    if (tick <= t->now)
        return false;
    unsigned level = (63u - (unsigned)__builtin_clzll(tick ^ t->now)) / TN_WHEEL_BITS;
    unsigned slot = (unsigned)(tick >> (level * TN_WHEEL_BITS)) % TN_WHEEL_SLOTS,
             index = level * TN_WHEEL_SLOTS + slot;
    tn_wheel_push_(&t->slot[index], x, index + 1);
    t->used[level] |= UINT64_C(1) << slot;
    t->levels |= UINT32_C(1) << level;
    return true;
}

static inline void tn_wheel_emptied_(struct tn_timers *t, unsigned index)
{
    unsigned level = index / TN_WHEEL_SLOTS;
    t->used[level] &= ~(UINT64_C(1) << index % TN_WHEEL_SLOTS);
    if (t->used[level] == 0)
        t->levels &= ~(UINT32_C(1) << level);
}

/* Arm; *first tells whether there is now something to do earlier than before, so that a sleeping watcher must be told.
 * Cannot fail. */
static inline int tn_timers_arm(struct tn_timers *t, struct tn_timer *x, tn_time deadline, uint64_t seq, bool *first)
{
    tn_spinlock_lock(&t->lock);
    tn_time before = tn_timers_earliest(t);
    x->deadline = deadline;
    x->seq = seq;
    if (!tn_wheel_place_(t, x))
        tn_wheel_push_(&t->late, x, TN_WHEEL_LATE);
    tn_timers_publish_(t);
    *first = tn_timers_earliest(t) < before;
    tn_spinlock_unlock(&t->lock);
    return 0;
}

/* After this the timer is in no list and nobody fires it: a firing under way is over. */
static inline void tn_timers_disarm(struct tn_timers *t, struct tn_timer *x)
{
    tn_spinlock_lock(&t->lock);
    if (x->at != 0) {
        *x->self = x->next;
        if (x->next != NULL)
            x->next->self = x->self;
        if (x->at != TN_WHEEL_LATE && t->slot[x->at - 1] == NULL)
            tn_wheel_emptied_(t, x->at - 1);
        x->at = 0;
        tn_timers_publish_(t);
    }
    tn_spinlock_unlock(&t->lock);
}

/* Fire a whole list, or move down what is not due yet. */
static inline unsigned tn_wheel_empty_(struct tn_timers *t, struct tn_timer *x,
                                       void (*fire)(struct tn_timer *, void *), void *arg)
{
    unsigned fired = 0;
    while (x != NULL) {
        struct tn_timer *next = x->next;
        if (!tn_wheel_place_(t, x)) {
            x->at = 0;
            fire(x, arg);
            fired++;
        }
        x = next;
    }
    return fired;
}

/* Fire all that are due: `fire` is called under the lock. Returns their number. */
static inline unsigned tn_timers_expire(struct tn_timers *t, tn_time now, void (*fire)(struct tn_timer *, void *),
                                        void *arg)
{
    unsigned fired = 0;
    uint64_t until = now >> TN_WHEEL_TICK, next;
    tn_spinlock_lock(&t->lock);
    while ((next = tn_wheel_next_(t)) <= until) {
        unsigned level = (unsigned)__builtin_ctz(t->levels);
        unsigned index = level * TN_WHEEL_SLOTS + (unsigned)__builtin_ctzll(t->used[level]);
        struct tn_timer *x = t->slot[index];
        t->slot[index] = NULL;
        tn_wheel_emptied_(t, index);
        t->now = next;
        fired += tn_wheel_empty_(t, x, fire, arg);
    }
    if (until > t->now)
        t->now = until;
    struct tn_timer *late = t->late;
    t->late = NULL;
    fired += tn_wheel_empty_(t, late, fire, arg);
    tn_timers_publish_(t);
    tn_spinlock_unlock(&t->lock);
    return fired;
}

static inline bool tn_timers_valid(const struct tn_timers *t)
{
    for (unsigned index = 0; index < TN_WHEEL_LEVELS * TN_WHEEL_SLOTS; index++) {
        unsigned level = index / TN_WHEEL_SLOTS, slot = index % TN_WHEEL_SLOTS, shift = level * TN_WHEEL_BITS;
        bool used = (t->used[level] >> slot & 1) != 0, some = (t->levels >> level & 1) != 0;
        if (used != (t->slot[index] != NULL) || some != (t->used[level] != 0))
            return false;
        struct tn_timer *const *self = &t->slot[index];
        for (const struct tn_timer *x = *self; x != NULL; self = &x->next, x = *self) {
            uint64_t tick = tn_wheel_tick_(x->deadline);
            if (x->at != index + 1 || x->self != self || (tick >> shift) % TN_WHEEL_SLOTS != slot ||
                slot <= (t->now >> shift) % TN_WHEEL_SLOTS ||
                tick >> shift >> TN_WHEEL_BITS != t->now >> shift >> TN_WHEEL_BITS)
                return false;
        }
    }
    return true;
}

#endif
