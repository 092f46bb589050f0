/* SPDX-License-Identifier: MIT
 *
 * Parking and waking of a cluster's workers (000 §3.2.3): the lists of the idle and of the busy ones, a word that wakers
 * look at, and the rule by which no wake-up is lost. No stack is switched in here, so that the explorer takes this file
 * as it is.
 *
 *   waker:  make a fibre ready      | light fence | anyone idle, and nobody searching?  -> wake one
 *   parker: announce (list, word)   | heavy fence | may there be work?                  -> withdraw, look again
 *
 * The light fence costs nothing, and the heavy one, which interrupts all that run, 20 us. So light ones are for the cluster's own
 * workers alone: whoever else wakes passes a fence of its own (IF0), and who parks while none of the others is busy does so too.
 *
 * Proof that no wake-up is lost.
 *  1. If the waker's load misses the parker's announcement, the parker's look comes after its heavy fence and
 *     sees the ready fibre (platform.h): it does not sleep. Where it passes a fence of its own in place of the heavy one, no
 *     other worker was busy when it announced itself, looked at in the same step under the lock. One that had been busy before
 *     took the lock to be so no more, and what it had made ready by then is seen; one that becomes busy later takes it, or is
 *     taken off under it, to be so, and sees the announcement. And whoever is no worker here has passed a fence of its own.
 *  2. If the waker sees it, it takes a worker off the idle list under the lock and unparks it. Whoever is off the
 *     list has been woken or has withdrawn, never both: both take place under the lock.
 *  3. If the waker wakes nobody because a worker searches, that worker's search either finds the fibre or ends.
 *     A search ends by tn_idle_search_end() *before* the announcement, so that 1 covers it: the last searcher's
 *     look comes after its own heavy fence. When it ends by finding something else, the last searcher looks behind
 *     a heavy fence too (tn_idle_search_end, tn_fence_heavy), and wakes a successor if more may be there.
 *  4. A woken worker counts as searching from the instant it is taken off the list: a burst of ready fibres
 *     wakes one worker, which wakes the next when it has found work.
 *  5. The watch is handed on likewise. Who comes off the list searches before it does anything else: a woken one
 *     by 4, one that withdraws by tn_idle_search_begin(). While anybody searches, somebody still will look: who parks
 *     sees the earliest deadline behind its fence, and the last searcher that finds something else sees to it, behind
 *     its own, that one of the idle watches where one must. Whoever is not the last need not look, nor take the lock.
 *  6. While a poller wants it, one of the idle waits in there: the one whose turn it is (`polled`), which it takes
 *     before it announces itself and gives back before its search ends. Who arms does as a waker does, so by 1 and 3 one
 *     that does not poll is woken, or sees behind its fence that nobody polls and looks again. Who comes out of the
 *     poller searches, and by 5 sees to it that its turn is taken, as that somebody watches.
 *
 * Busy is who is not idle: a worker that runs fibres, or looks for one (000 §3.2.3). Each worker that has joined and not
 * left is on exactly one of the two lists; it changes over under the lock that parking and waking take anyway. The busy
 * list is in the order in which they became busy: its head has been busy longest, and is likely to have most to take.
 */
#ifndef TN_IDLE_H
#define TN_IDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform.h"
#include "queues/link.h"
#include "queues/spinlock.h"

enum { TN_SLOT_AWAKE, TN_SLOT_PARKED, TN_SLOT_POLLING };

/* The word that wakers look at: idle workers in its lower half, searching ones in its upper half. 0: nobody wants work. */
enum { TN_ONE_IDLE = 1, TN_IDLE_MASK = 0xffff, TN_ONE_SEARCHES = 0x10000 };

/* One worker's place in the lists. */
struct tn_idle_slot {
    _Atomic(uint32_t) word;                         /* TN_SLOT_*: what it sleeps on */
    struct tn_idle_slot *next, *prev;               /* under the lock */
    enum { TN_ON_NONE, TN_ON_IDLE, TN_ON_BUSY } on; /* under the lock: which list */
    bool unborn; /* under the lock: no thread yet (on_demand); waking it means starting it */
};

struct tn_idle_list {
    struct tn_idle_slot *head, *tail;
};

/* The two words lie in the cluster's shared part, for modules (scheduler.h). */
struct tn_idle {
    _Atomic(uint32_t) *hungry; /* TN_ONE_IDLE for each of `idle`, and TN_ONE_SEARCHES for each that looks for work */
    _Atomic(uint32_t) *n_busy; /* written under the lock: length of `busy` */
    /* Changes when there is something new for those that search; its value says nothing. They all look at nothing else. */
    _Alignas(TN_CACHE_LINE) _Atomic(uint32_t) shown;
    _Alignas(TN_CACHE_LINE) struct tn_spinlock lock;
    struct tn_idle_list idle;     /* under the lock: most recently idle first, it is the warmest */
    struct tn_idle_list busy;     /* under the lock: longest busy first */
    struct tn_idle_slot *watcher; /* under the lock: the one that sleeps with a deadline on behalf of all */
    tn_time watch_until;          /* under the lock: its deadline */
    _Atomic(bool) polled;         /* one of the idle waits in the poller, or is about to */
};

static inline uint32_t tn_idle_workers(struct tn_idle *idle)
{
    return atomic_load_explicit(idle->hungry, memory_order_relaxed) & TN_IDLE_MASK; /* relaxed: a hint, or fenced */
}

/* ---- the lists; under the lock ---- */

static inline void tn_idle_unlink_(struct tn_idle_list *list, struct tn_idle_slot *s)
{
    *(s->prev != NULL ? &s->prev->next : &list->head) = s->next;
    *(s->next != NULL ? &s->next->prev : &list->tail) = s->prev;
}

/* Insert s before `next`; NULL: at the end. */
static inline void tn_idle_link_(struct tn_idle_list *list, struct tn_idle_slot *s, struct tn_idle_slot *next)
{
    s->next = next;
    s->prev = next != NULL ? next->prev : list->tail;
    *(s->prev != NULL ? &s->prev->next : &list->head) = s;
    *(next != NULL ? &next->prev : &list->tail) = s;
}

/* To the end of the busy list, or off it (by = -1). */
static inline void tn_idle_busy_(struct tn_idle *idle, struct tn_idle_slot *s, int by)
{
    if (by > 0)
        tn_idle_link_(&idle->busy, s, NULL);
    else
        tn_idle_unlink_(&idle->busy, s);
    s->on = by > 0 ? TN_ON_BUSY : TN_ON_NONE;
    /* relaxed: under the lock; readers outside treat it as a hint */
    uint32_t n = atomic_load_explicit(idle->n_busy, memory_order_relaxed);
    atomic_store_explicit(idle->n_busy, n + (uint32_t)by, memory_order_relaxed);
}

/* From the idle list to the busy one; `also` is added to the word in the same step. */
static inline void tn_idle_unlist_(struct tn_idle *idle, struct tn_idle_slot *s, uint32_t also)
{
    tn_idle_unlink_(&idle->idle, s);
    if (idle->watcher == s)
        idle->watcher = NULL;
    tn_idle_busy_(idle, s, 1);
    /* relaxed: readers outside treat it as a hint or have fenced */
    atomic_fetch_add_explicit(idle->hungry, also - TN_ONE_IDLE, memory_order_relaxed);
}

/* s is woken, and searches from now on. Returns what it slept on. */
static inline uint32_t tn_idle_take_(struct tn_idle *idle, struct tn_idle_slot *s)
{
    tn_idle_unlist_(idle, s, TN_ONE_SEARCHES);
    uint32_t how = atomic_load_explicit(&s->word, memory_order_relaxed);  /* relaxed: written under the lock */
    atomic_store_explicit(&s->word, TN_SLOT_AWAKE, memory_order_release); /* W0 release */
    return how;
}

/* ---- joining and leaving ---- */

static inline void tn_idle_join(struct tn_idle *idle, struct tn_idle_slot *s)
{
    tn_spinlock_lock(&idle->lock);
    if (s->on == TN_ON_NONE) /* else it was born by being taken off the idle list */
        tn_idle_busy_(idle, s, 1);
    tn_spinlock_unlock(&idle->lock);
}

static inline void tn_idle_leave(struct tn_idle *idle, struct tn_idle_slot *s)
{
    tn_spinlock_lock(&idle->lock);
    tn_idle_busy_(idle, s, -1);
    tn_spinlock_unlock(&idle->lock);
}

/* The one that became busy next after `s` (NULL: the one that has been busy longest); NULL: none, or s is no longer
 * busy, or the lists are in use. */
static inline struct tn_idle_slot *tn_idle_busy_after(struct tn_idle *idle, struct tn_idle_slot *s)
{
    if (!tn_spinlock_try_lock(&idle->lock))
        return NULL;
    struct tn_idle_slot *next = s == NULL ? idle->busy.head : s->on == TN_ON_BUSY ? s->next : NULL;
    tn_spinlock_unlock(&idle->lock);
    return next;
}

/* ---- parking ---- */

/* Returns whether others are busy. */
static inline bool tn_idle_list(struct tn_idle *idle, struct tn_idle_slot *s, uint32_t how)
{
    tn_spinlock_lock(&idle->lock);
    atomic_store_explicit(&s->word, how, memory_order_relaxed); /* relaxed: published by the lock */
    if (s->on == TN_ON_BUSY)
        tn_idle_busy_(idle, s, -1);
    tn_idle_link_(&idle->idle, s, idle->idle.head);
    s->on = TN_ON_IDLE;
    /* relaxed: ordered by the fence that follows */
    atomic_fetch_add_explicit(idle->hungry, TN_ONE_IDLE, memory_order_relaxed);
    bool others = idle->busy.head != NULL;
    tn_spinlock_unlock(&idle->lock);
    return others;
}

/* Announce that the calling worker will park. Look for work after this, and only then sleep. */
static inline void tn_idle_announce(struct tn_idle *idle, struct tn_idle_slot *s, uint32_t how)
{
    if (tn_idle_list(idle, s, how))
        tn_fence_heavy();
    else
        atomic_thread_fence(memory_order_seq_cst); /* IF0: with that of who is no worker here */
}

/* Take back the announcement. False: a waker was faster; it counts as woken, and as searching. */
static inline bool tn_idle_withdraw(struct tn_idle *idle, struct tn_idle_slot *s)
{
    tn_spinlock_lock(&idle->lock);
    bool was = s->on == TN_ON_IDLE;
    if (was) {
        tn_idle_unlist_(idle, s, 0);
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
    bool mine = s->on == TN_ON_IDLE && (idle->watcher == NULL || deadline < idle->watch_until);
    if (mine) {
        idle->watcher = s;
        idle->watch_until = deadline;
    }
    tn_spinlock_unlock(&idle->lock);
    return mine;
}

/* True: it is the caller's turn to wait in the poller, until it says that it is over. */
static inline bool tn_idle_poll_begin(struct tn_idle *idle)
{
    return !atomic_exchange_explicit(&idle->polled, true, memory_order_relaxed); /* relaxed: a turn, no data */
}

static inline void tn_idle_poll_end(struct tn_idle *idle)
{
    atomic_store_explicit(&idle->polled, false, memory_order_relaxed); /* relaxed: so too, and see 6 */
}

/* Behind a heavy fence. */
static inline bool tn_idle_polled(struct tn_idle *idle)
{
    return atomic_load_explicit(&idle->polled, memory_order_relaxed); /* relaxed: behind a fence */
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
    struct tn_idle_slot *s = idle->idle.head;
    while (s != NULL && (s->unborn || s == idle->watcher))
        s = s->next;
    return s != NULL ? s : idle->watcher != NULL ? idle->watcher : idle->idle.head;
}

/* Take one worker off the list to wake it: `which` if it is idle, else as tn_idle_choose_ says. It counts as
 * searching from here. NULL: nobody there. The caller unparks or starts it, by what `*how` says it slept on. */
static inline struct tn_idle_slot *tn_idle_take(struct tn_idle *idle, struct tn_idle_slot *which, uint32_t *how)
{
    tn_spinlock_lock(&idle->lock);
    struct tn_idle_slot *s = which;
    if (s == NULL || s->on != TN_ON_IDLE)
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
    bool was = s->on == TN_ON_IDLE && !s->unborn;
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

/* What a searching worker watches while it pauses. */
static inline uint32_t tn_idle_shown(struct tn_idle *idle)
{
    return atomic_load_explicit(&idle->shown, memory_order_relaxed); /* relaxed: a hint */
}

static inline void tn_idle_search_begin(struct tn_idle *idle)
{
    atomic_fetch_add_explicit(idle->hungry, TN_ONE_SEARCHES, memory_order_relaxed); /* relaxed: see 3 */
}

/* True if the caller was the last one to search. */
static inline bool tn_idle_search_end(struct tn_idle *idle)
{
    uint32_t was =
        atomic_fetch_sub_explicit(idle->hungry, TN_ONE_SEARCHES, memory_order_relaxed); /* relaxed: see 3 */
    return was / TN_ONE_SEARCHES == 1;
}

/* Behind a fence: is there anybody to wake? If not since somebody searches, and what is ready is `open` to him, have him look
 * at once. */
static inline bool tn_idle_wanted_(struct tn_idle *idle, bool open)
{
    uint32_t hungry = atomic_load_explicit(idle->hungry, memory_order_relaxed); /* relaxed: behind the fence */
    if (__builtin_expect(hungry == 0, 1))
        return false;
    if (hungry < TN_ONE_SEARCHES)
        return true;
    /* relaxed, and not one step: a change that is lost or seen late costs a searcher the rest of its pause */
    if (open)
        atomic_store_explicit(&idle->shown, atomic_load_explicit(&idle->shown, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    return false;
}

/* Waker's side, after ready(), by a worker of the cluster. */
static inline bool tn_idle_wanted(struct tn_idle *idle, bool open)
{
    tn_fence_light();
    return tn_idle_wanted_(idle, open);
}

/* The same by anybody. */
static inline bool tn_idle_wanted_outside(struct tn_idle *idle, bool open)
{
    atomic_thread_fence(memory_order_seq_cst); /* IF0: with that of who parks and finds nobody busy */
    return tn_idle_wanted_(idle, open);
}

#endif
