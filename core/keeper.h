/* SPDX-License-Identifier: MIT
 *
 * The timekeeper of a cluster: a thread that watches the clock while every worker is busy, so that a timer that runs out
 * behind a hog is seen at the hog's next scheduling point. Reading the clock at each scheduling point would cost more
 * than the switch itself (27 ns); the keeper costs a switch nothing: it writes the word that each scheduling point
 * compares anyhow. It is needed while timers run and no worker is idle (an idle one watches them itself), wakes at the
 * earliest deadline and once a millisecond then, and sleeps otherwise; the thread is made when it is needed first. Who arms
 * a timer for a moment before its next look wakes it, once a millisecond at most: a crowd of short timers shall
 * not cost a system call each. No stack is switched in here, so that the explorer takes this file as it is.
 *
 *   worker:  arm a timer, or stop being idle   | light fence | keeper asleep?           -> wake it
 *   keeper:  announce that it sleeps           | heavy fence | timers, and nobody idle? -> stay awake
 *
 * Proof that it does not sleep while it is needed. 1. It comes to be needed only by a worker that arms or that stops
 * being idle. 2. If that worker's load misses the announcement, the keeper's look comes behind its heavy fence and sees
 * what the worker stored (platform.h). 3. If it sees it, one caller turns ASLEEP into AWAKE and unparks.
 */
#ifndef TN_KEEPER_H
#define TN_KEEPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "platform.h"

enum { TN_KEEPER_NONE, TN_KEEPER_AWAKE, TN_KEEPER_ASLEEP, TN_KEEPER_OVER };

struct tn_keeper {
    _Atomic(uint32_t) word; /* TN_KEEPER_*; 0: there is no thread yet */
    _Atomic(tn_time) until; /* when it looks next, if a sooner timer may wake it; else 0 */
};

/* By a worker, behind its stores. Returns what the keeper was: NONE, then the caller makes its thread; ASLEEP, then it has
 * been woken; else there is nothing to do. */
static inline uint32_t tn_keeper_call(struct tn_keeper *k)
{
    tn_fence_light();
    uint32_t was = atomic_load_explicit(&k->word, memory_order_relaxed); /* relaxed: behind the fence */
    if (was != TN_KEEPER_NONE && was != TN_KEEPER_ASLEEP)
        return was;
    /* relaxed: it says only who wakes; the keeper looks at everything anew */
    if (!atomic_compare_exchange_strong_explicit(&k->word, &was, TN_KEEPER_AWAKE, memory_order_relaxed,
                                                 memory_order_relaxed))
        return TN_KEEPER_AWAKE; /* another one does */
    if (was == TN_KEEPER_ASLEEP)
        tn_unpark(&k->word, 1);
    return was;
}

/* By a worker that has armed the earliest timer: is that before the keeper's next look? True: it has been woken.
 * relaxed: hints. A keeper that is not asleep yet may miss it, and looks after a millisecond as without. */
static inline bool tn_keeper_hurry(struct tn_keeper *k, tn_time earliest)
{
    if (earliest >= atomic_load_explicit(&k->until, memory_order_relaxed))
        return false;
    atomic_store_explicit(&k->until, 0, memory_order_relaxed);
    tn_unpark(&k->word, 1);
    return true;
}

/* By the keeper: sleep until then, or until hurried, where it may be. True: it was. */
static inline bool tn_keeper_pause(struct tn_keeper *k, tn_time until, bool may)
{
    atomic_store_explicit(&k->until, may ? until : 0, memory_order_relaxed); /* relaxed: a time, and no more */
    tn_park(&k->word, TN_KEEPER_AWAKE, until);
    /* relaxed: as above; the timers have their own lock */
    return may && atomic_exchange_explicit(&k->until, 0, memory_order_relaxed) == 0;
}

/* By the keeper: sleep until called, unless it is needed after all. */
static inline void tn_keeper_rest(struct tn_keeper *k, bool (*needed)(void *arg), void *arg)
{
    uint32_t awake = TN_KEEPER_AWAKE, asleep = TN_KEEPER_ASLEEP;
    /* relaxed: ordered by the fence */
    if (!atomic_compare_exchange_strong_explicit(&k->word, &awake, TN_KEEPER_ASLEEP, memory_order_relaxed,
                                                 memory_order_relaxed))
        return; /* over */
    tn_fence_heavy();
    if (needed(arg) && atomic_compare_exchange_strong_explicit(&k->word, &asleep, TN_KEEPER_AWAKE,
                                                               memory_order_relaxed, memory_order_relaxed))
        return;
    while (atomic_load_explicit(&k->word, memory_order_relaxed) == TN_KEEPER_ASLEEP) /* relaxed: a state only */
        tn_park(&k->word, TN_KEEPER_ASLEEP, UINT64_MAX);
}

/* The keeper, if there is one, shall end, and none shall be made any more. */
static inline void tn_keeper_end(struct tn_keeper *k)
{
    atomic_store_explicit(&k->word, TN_KEEPER_OVER, memory_order_relaxed); /* relaxed: who ends it joins its thread */
    tn_unpark(&k->word, 1);
}

#endif
