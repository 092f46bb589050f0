/* SPDX-License-Identifier: MIT
 *
 * A pool of threads that run calls (003 §4.4.3): who gets a call, when a thread is made, when one ends. No thread is
 * made and no stack is switched in here, so that the explorer takes this file as it is.
 *
 *   submit     an idle thread       -> it is handed the call, and woken
 *              none, fewer than max -> the caller makes one, which begins with the call (or no_thread())
 *              none, max            -> the call waits in the queue
 *   next       a call in the queue  -> taken
 *   (a thread) none                 -> idle, until it is handed a call, told to end, or its time is up
 *
 * Proof that each call is run once, or refused once.
 *  1. A call is in one place at a time: with who submits it, in the queue, or in the hands of one thread.
 *  2. Who is on the idle list is taken off it once, under the lock: by a submitter, by stop, or by itself when its time
 *     is up. Whoever did that alone says what it does next; the word tells it that this has been said.
 *  3. While calls wait, no thread is idle, and there is at least one that is busy or being made (n > 0). A busy one looks
 *     into the queue, under the lock, before it becomes idle or ends. The call of one that could not be made goes to a
 *     thread that has become idle meanwhile, else into the queue; if that leaves nobody (n == 0), all that wait there
 *     are refused.
 *  4. A thread's last touch of the pool is its entry into the list of ended ones, under the lock. Its record stays valid
 *     memory while the pool lives, for a waker that is late; who takes it from that list waits for the thread's end first.
 */
#ifndef TN_POOL_H
#define TN_POOL_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform.h"
#include "queues/spinlock.h"

struct tn_call {
    struct tn_call *next; /* under the lock, while it is in the queue */
};

enum { TN_POOL_BUSY, TN_POOL_IDLE };

struct tn_pool_thread {
    struct tn_pool_thread *next; /* under the lock: in the list of idle or of ended ones */
    struct tn_call *call;        /* what it was handed, by whoever took it off the idle list; NULL: it shall end */
    _Atomic(uint32_t) word;      /* TN_POOL_*: what it sleeps on */
};

struct tn_pool {
    struct tn_spinlock lock;
    struct tn_pool_thread *idle;  /* under the lock: the last to become idle first; the others run out of time */
    struct tn_pool_thread *ended; /* under the lock: records for new threads */
    struct tn_call *first_call, *last_call; /* under the lock: calls that wait, oldest first */
    unsigned n, max;                        /* under the lock: threads, those that are being made included */
    bool stopping;                          /* under the lock */
};

enum tn_pool_verdict { TN_POOL_TAKEN, TN_POOL_GROW };

static inline void tn_pool_enqueue_(struct tn_pool *p, struct tn_call *c)
{
    c->next = NULL;
    if (p->first_call == NULL)
        p->first_call = c;
    else
        p->last_call->next = c;
    p->last_call = c;
}

/* Under the lock: t has been taken off the idle list, and gets `call`. Unpark it afterwards. */
static inline void tn_pool_hand_(struct tn_pool_thread *t, struct tn_call *call)
{
    t->call = call;
    atomic_store_explicit(&t->word, TN_POOL_BUSY, memory_order_release); /* B0 release: the call */
}

/* GROW: the caller makes a thread that begins with the call, or says no_thread(); *spare is the record of one that has
 * ended, or NULL. TAKEN: it is none of the caller's business any more. */
static inline enum tn_pool_verdict tn_pool_submit(struct tn_pool *p, struct tn_call *call,
                                                  struct tn_pool_thread **spare)
{
    tn_spinlock_lock(&p->lock);
    struct tn_pool_thread *t = p->idle;
    bool grow = t == NULL && p->n < p->max;
    if (t != NULL) {
        p->idle = t->next;
        tn_pool_hand_(t, call);
    } else if (grow) {
        p->n++;
        *spare = p->ended;
        if (p->ended != NULL)
            p->ended = p->ended->next;
    } else {
        tn_pool_enqueue_(p, call);
    }
    tn_spinlock_unlock(&p->lock);
    if (t != NULL)
        tn_unpark(&t->word, 1);
    return grow ? TN_POOL_GROW : TN_POOL_TAKEN;
}

/* The thread that submit() asked for could not be made; its record (NULL: there is none) goes back. Returns the calls that
 * the caller must refuse, its own among them, linked by next; NULL: others will run them. */
static inline struct tn_call *tn_pool_no_thread(struct tn_pool *p, struct tn_call *call, struct tn_pool_thread *spare)
{
    struct tn_call *refused = NULL;
    tn_spinlock_lock(&p->lock);
    if (spare != NULL) {
        spare->next = p->ended;
        p->ended = spare;
    }
    p->n--;
    struct tn_pool_thread *t = p->idle;
    if (t != NULL) {
        p->idle = t->next;
        tn_pool_hand_(t, call);
    } else {
        tn_pool_enqueue_(p, call);
    }
    if (p->n == 0) {
        refused = p->first_call;
        p->first_call = NULL;
    }
    tn_spinlock_unlock(&p->lock);
    if (t != NULL)
        tn_unpark(&t->word, 1);
    return refused;
}

/* Under the lock, when its time is up. False: somebody else has taken it off. */
static inline bool tn_pool_withdraw_(struct tn_pool *p, struct tn_pool_thread *self)
{
    struct tn_pool_thread **at = &p->idle;
    while (*at != NULL && *at != self)
        at = &(*at)->next;
    if (*at == NULL)
        return false;
    *at = self->next;
    return true;
}

static inline void tn_pool_end_(struct tn_pool *p, struct tn_pool_thread *self)
{
    p->n--;
    self->next = p->ended;
    p->ended = self;
}

/* By a thread of the pool that has nothing in hand: the call that it runs next. NULL: it has ended, and must not touch
 * the pool any more. `patience` is how long it stays idle, in nanoseconds. */
static inline struct tn_call *tn_pool_next(struct tn_pool *p, struct tn_pool_thread *self, tn_time patience)
{
    tn_spinlock_lock(&p->lock);
    struct tn_call *call = p->first_call;
    bool ends = call == NULL && p->stopping;
    if (call != NULL) {
        p->first_call = call->next;
    } else if (ends) {
        tn_pool_end_(p, self);
    } else {
        atomic_store_explicit(&self->word, TN_POOL_IDLE, memory_order_relaxed); /* relaxed: own, under the lock */
        self->next = p->idle;
        p->idle = self;
    }
    tn_spinlock_unlock(&p->lock);
    if (call != NULL || ends)
        return call;

    tn_time deadline = tn_now() + patience;
    while (atomic_load_explicit(&self->word, memory_order_acquire) == TN_POOL_IDLE) { /* B0 acquire: the call */
        if (tn_park(&self->word, TN_POOL_IDLE, deadline) == 0)
            continue;
        tn_spinlock_lock(&p->lock);
        ends = tn_pool_withdraw_(p, self);
        if (ends)
            tn_pool_end_(p, self);
        tn_spinlock_unlock(&p->lock);
        if (ends)
            return NULL;
    }
    if (self->call == NULL) {
        tn_spinlock_lock(&p->lock);
        tn_pool_end_(p, self);
        tn_spinlock_unlock(&p->lock);
        return NULL;
    }
    return self->call;
}

/* Nothing is submitted any more: those that are idle end now, the others after the call that they run. Returns the calls
 * that no thread had begun, linked by next. */
static inline struct tn_call *tn_pool_stop(struct tn_pool *p)
{
    struct tn_pool_thread *t;
    tn_spinlock_lock(&p->lock);
    struct tn_call *dropped = p->first_call;
    p->first_call = NULL;
    p->stopping = true;
    while ((t = p->idle) != NULL) {
        p->idle = t->next;
        tn_pool_hand_(t, NULL);
        tn_spinlock_unlock(&p->lock);
        tn_unpark(&t->word, 1); /* its record stays (4) */
        tn_spinlock_lock(&p->lock);
    }
    tn_spinlock_unlock(&p->lock);
    return dropped;
}

/* For tests, while nobody else touches the pool. */
static inline bool tn_pool_valid(const struct tn_pool *p)
{
    unsigned idle = 0;
    for (const struct tn_pool_thread *t = p->idle; t != NULL; t = t->next)
        idle++;
    return idle <= p->n && p->n <= p->max && (p->first_call == NULL || (idle == 0 && p->n > 0));
}

#endif
