/* SPDX-License-Identifier: MIT
 *
 * Parking and waking of a cluster's workers (000 §3.2.3): a list of idle workers, a count that wakers look at,
 * and the rule by which no wake-up is lost. No stack is switched in here, so that the explorer takes this file
 * as it is.
 *
 *   waker:  make a fibre ready      | light fence | anyone idle, and nobody searching?  -> wake one
 *   parker: announce (list, count)  | heavy fence | may there be work?                  -> withdraw, look again
 *
 * Proof that no wake-up is lost.
 *  1. If the waker's load misses the parker's announcement, the parker's look comes after its heavy fence and
 *     sees the ready fibre (platform.h): it does not sleep.
 *  2. If the waker sees it, it takes a worker off the list under the lock and unparks it. Whoever is off the
 *     list has been woken or has withdrawn, never both: both take place under the lock.
 *  3. If the waker wakes nobody because a worker searches, that worker's search either finds the fibre or ends.
 *     A search ends by tn_idle_search_end() *before* the announcement, so that 1 covers it: the last searcher's
 *     look comes after its own heavy fence. When it ends by finding something else, the last searcher looks behind
 *     a heavy fence too (tn_idle_search_end, tn_fence_heavy), and wakes a successor if more may be there.
 *  4. A woken worker counts as searching from the instant it is taken off the list: a burst of ready fibres
 *     wakes one worker, which wakes the next when it has found work.
 */
#ifndef TN_IDLE_H
#define TN_IDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform.h"
#include "queues/spinlock.h"

enum { TN_SLOT_AWAKE, TN_SLOT_PARKED, TN_SLOT_POLLING };

/* One worker's place in the idle list. */
struct tn_idle_slot {
    _Atomic(uint32_t) word;           /* TN_SLOT_*: what it sleeps on */
    struct tn_idle_slot *next, *prev; /* under the lock */
    bool listed;                      /* under the lock */
    bool unborn;                      /* under the lock: no thread yet (on_demand); waking it means starting it */
};

struct tn_idle {
    struct tn_spinlock lock;
    struct tn_idle_slot *head;    /* under the lock: most recently idle first, it is the warmest */
    _Atomic(uint32_t) *count;     /* idle workers; in the cluster's shared part, for modules */
    _Atomic(uint32_t) searching;  /* workers that look for work */
    struct tn_idle_slot *watcher; /* under the lock: the one that sleeps with a deadline on behalf of all */
    tn_time watch_until;          /* under the lock: its deadline */
};

static inline void tn_idle_unlist_(struct tn_idle *idle, struct tn_idle_slot *s)
{
    if (s->prev != NULL)
        s->prev->next = s->next;
    else
        idle->head = s->next;
    if (s->next != NULL)
        s->next->prev = s->prev;
    s->listed = false;
    if (idle->watcher == s)
        idle->watcher = NULL;
    /* relaxed: under the lock; readers outside treat it as a hint or have fenced */
    atomic_store_explicit(idle->count, atomic_load_explicit(idle->count, memory_order_relaxed) - 1,
                          memory_order_relaxed);
}

/* Under the lock: s is woken, and searches from now on. Returns what it slept on. */
static inline uint32_t tn_idle_take_(struct tn_idle *idle, struct tn_idle_slot *s)
{
    tn_idle_unlist_(idle, s);
    atomic_fetch_add_explicit(&idle->searching, 1, memory_order_relaxed); /* relaxed: 3 and 4 above */
    uint32_t how = atomic_load_explicit(&s->word, memory_order_relaxed);  /* relaxed: written under the lock */
    atomic_store_explicit(&s->word, TN_SLOT_AWAKE, memory_order_release); /* W0 release */
    return how;
}

static inline void tn_idle_list(struct tn_idle *idle, struct tn_idle_slot *s, uint32_t how)
{
    tn_spinlock_lock(&idle->lock);
    atomic_store_explicit(&s->word, how, memory_order_relaxed); /* relaxed: published by the lock */
    s->prev = NULL;
    s->next = idle->head;
    if (s->next != NULL)
        s->next->prev = s;
    idle->head = s;
    s->listed = true;
    atomic_store_explicit(idle->count, atomic_load_explicit(idle->count, memory_order_relaxed) + 1,
                          memory_order_relaxed); /* relaxed: ordered by the heavy fence that follows */
    tn_spinlock_unlock(&idle->lock);
}

/* Announce that the calling worker will park. Look for work after this, and only then sleep. */
static inline void tn_idle_announce(struct tn_idle *idle, struct tn_idle_slot *s, uint32_t how)
{
    tn_idle_list(idle, s, how);
    tn_fence_heavy();
}

/* Take back the announcement. False: a waker was faster; it counts as woken, and as searching. */
static inline bool tn_idle_withdraw(struct tn_idle *idle, struct tn_idle_slot *s)
{
    tn_spinlock_lock(&idle->lock);
    bool was = s->listed;
    if (was) {
        tn_idle_unlist_(idle, s);
        atomic_store_explicit(&s->word, TN_SLOT_AWAKE, memory_order_relaxed); /* relaxed: own, under the lock */
    }
    tn_spinlock_unlock(&idle->lock);
    return was;
}

/* Be the one that sleeps with a deadline, unless another already does with one that is no later. Cleared by being
 * taken off the list. A watcher that is replaced still wakes at its own, later deadline, which does no harm. */
static inline bool tn_idle_watch(struct tn_idle *idle, struct tn_idle_slot *s, tn_time deadline)
{
    tn_spinlock_lock(&idle->lock);
    bool mine = s->listed && (idle->watcher == NULL || deadline < idle->watch_until);
    if (mine) {
        idle->watcher = s;
        idle->watch_until = deadline;
    }
    tn_spinlock_unlock(&idle->lock);
    return mine;
}

/* Who watches, and until when; NULL: nobody. */
static inline struct tn_idle_slot *tn_idle_watcher(struct tn_idle *idle, tn_time *until)
{
    tn_spinlock_lock(&idle->lock);
    struct tn_idle_slot *watcher = idle->watcher;
    if (until != NULL)
        *until = idle->watch_until;
    tn_spinlock_unlock(&idle->lock);
    return watcher;
}

/* Whom to wake: the most recently idle one that does not watch; the watcher; one that has no thread yet. */
static inline struct tn_idle_slot *tn_idle_choose_(struct tn_idle *idle)
{
    struct tn_idle_slot *s = idle->head;
    while (s != NULL && (s->unborn || s == idle->watcher))
        s = s->next;
    return s != NULL ? s : idle->watcher != NULL ? idle->watcher : idle->head;
}

/* Take one worker off the list to wake it: `which` if it is idle, else as tn_idle_choose_ says. It counts as searching from here. NULL: nobody there. The caller unparks or starts it, by
 * what `*how` says it slept on. */
static inline struct tn_idle_slot *tn_idle_take(struct tn_idle *idle, struct tn_idle_slot *which, uint32_t *how)
{
    tn_spinlock_lock(&idle->lock);
    struct tn_idle_slot *s = which;
    if (s == NULL || !s->listed)
        s = tn_idle_choose_(idle);
    if (s != NULL)
        *how = tn_idle_take_(idle, s);
    tn_spinlock_unlock(&idle->lock);
    return s;
}

/* The same for exactly this one; false: it is not idle, or has no thread. */
static inline bool tn_idle_take_this(struct tn_idle *idle, struct tn_idle_slot *s, uint32_t *how)
{
    tn_spinlock_lock(&idle->lock);
    bool was = s->listed && !s->unborn;
    if (was)
        *how = tn_idle_take_(idle, s);
    tn_spinlock_unlock(&idle->lock);
    return was;
}

/* Sleep until taken off the list, or `deadline`. W0 acquire: what the waker did before is visible. */
static inline void tn_idle_sleep(struct tn_idle_slot *s, tn_time deadline)
{
    while (atomic_load_explicit(&s->word, memory_order_acquire) == TN_SLOT_PARKED)
        if (tn_park(&s->word, TN_SLOT_PARKED, deadline) != 0)
            break;
}

static inline void tn_idle_search_begin(struct tn_idle *idle)
{
    atomic_fetch_add_explicit(&idle->searching, 1, memory_order_relaxed); /* relaxed: see 3 */
}

/* True if the caller was the last one to search. */
static inline bool tn_idle_search_end(struct tn_idle *idle)
{
    return atomic_fetch_sub_explicit(&idle->searching, 1, memory_order_relaxed) == 1; /* relaxed: see 3 */
}

/* Waker's side, after ready(): is there anybody to wake? */
static inline bool tn_idle_wanted(struct tn_idle *idle)
{
    tn_fence_light();
    return atomic_load_explicit(idle->count, memory_order_relaxed) != 0 && /* relaxed: behind the fence */
           atomic_load_explicit(&idle->searching, memory_order_relaxed) == 0;
}

#endif
