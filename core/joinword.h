/* SPDX-License-Identifier: MIT
 *
 * The join word of a fibre: who gets its end, and who releases it. No stack is switched in here, so that the
 * explorer takes this file as it is.
 *
 *   register  (joiner)        OPEN      -> joiner
 *   give up   (timed joiner)  joiner    -> OPEN
 *   detach    (anyone)        OPEN      -> DETACHED
 *   end       (the child's)   OPEN      -> DONE         nobody yet: whoever comes finds DONE, and releases
 *                             DETACHED  -> DONE         nobody ever: the end releases
 *                             fibre     -> DONE         the end owns the parked joiner, makes it ready, and is through
 *                             timed, thread -> CLOSING  the end tells the joiner, which must not go away meanwhile
 *   close     (the child's)   CLOSING   -> DONE         and is through
 *
 * FREE: no fibre is there any more; nothing starts from it.
 *
 * A joiner is a pointer with a tag. A fibre that joins without a deadline registers after it has left its stack, so
 * it can do nothing but wait for this end; one that may give up (TIMED), or is no fibre (THREAD), must be told apart.
 *
 * Proof. 1. The child's end happens once, and finds exactly one of the states of its rows; all other moves start
 * from OPEN or from the joiner's own registration, so none of them succeeds after it.
 * 2. Exactly one releases the fibre: the end if it found DETACHED; else whoever sees DONE, and of those who may ask
 * (one joiner, or one who detaches) there is one. Who gives up leaves OPEN: he may ask again.
 * 3. The end touches the fibre for the last time when it stores DONE (J1; by its CAS, if it need tell nobody in
 * CLOSING), and nobody releases before he has seen DONE.
 * 4. A timed or thread joiner is alive while it is told: its own memory goes away, or its wait word moves on, only
 * after it has taken its registration back, which fails from CLOSING on, or has seen DONE.
 */
#ifndef TN_JOINWORD_H
#define TN_JOINWORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "queues/spin.h"

enum { TN_JOIN_OPEN = 0, TN_JOIN_DONE = 1, TN_JOIN_DETACHED = 2, TN_JOIN_CLOSING = 3, TN_JOIN_FREE = 5 };
enum { TN_JOIN_FIBRE = 0, TN_JOIN_TIMED = 4, TN_JOIN_THREAD = 8, TN_JOIN_TAGS = 15 };

typedef _Atomic(uintptr_t) tn_joinword;

/* What stands there. J0, J1 acquire: if it is DONE, the value; if a joiner, what it did before. */
static inline uintptr_t tn_joinword_look(tn_joinword *w)
{
    return atomic_load_explicit(w, memory_order_acquire);
}

static inline bool tn_joinword_is_joiner(uintptr_t state)
{
    return state > TN_JOIN_TAGS;
}

/* A fibre that waits without a deadline: nothing but the child's end makes it ready. */
static inline bool tn_joinword_is_fibre(uintptr_t state)
{
    return state > TN_JOIN_TAGS && (state & TN_JOIN_TAGS) == TN_JOIN_FIBRE;
}

static inline void *tn_joinword_joiner(uintptr_t state)
{
    return (void *)(state & ~(uintptr_t)TN_JOIN_TAGS);
}

/* False: it was not open; `*found`, OPEN before, is what stood there. A fibre without deadline calls this after its
 * switch, and is not touched any more if it is true. */
static inline bool tn_joinword_register(tn_joinword *w, uintptr_t joiner, uintptr_t *found)
{
    /* J0 release: the saved context of the joiner, for whoever ends the child; acquire: the child's value */
    return atomic_compare_exchange_strong_explicit(w, found, joiner, memory_order_acq_rel, memory_order_acquire);
}

/* By a timed joiner. False: too late, it has ended; await it. */
static inline bool tn_joinword_give_up(tn_joinword *w, uintptr_t mine)
{
    return atomic_compare_exchange_strong_explicit(w, &mine, TN_JOIN_OPEN, memory_order_acq_rel,
                                                   memory_order_acquire); /* J0 */
}

/* Returns what it found. OPEN: detached. DONE: too late, the caller releases. Else it is another's. */
static inline uintptr_t tn_joinword_detach(tn_joinword *w)
{
    uintptr_t state = TN_JOIN_OPEN;
    atomic_compare_exchange_strong_explicit(w, &state, TN_JOIN_DETACHED, memory_order_acq_rel,
                                            memory_order_acquire); /* J0 */
    return state;
}

/* The child's end, off its stack. Returns what it found. DETACHED: the caller releases. A fibre: the caller makes it
 * ready. Another joiner: the caller tells it, and closes. */
static inline uintptr_t tn_joinword_end(tn_joinword *w)
{
    uintptr_t state = atomic_load_explicit(w, memory_order_acquire); /* J0 acquire: a detacher's last look */
    if (state == TN_JOIN_DETACHED)                                   /* nothing changes that any more */
        return state;
    for (;;) {
        bool tell = tn_joinword_is_joiner(state) && !tn_joinword_is_fibre(state);
        /* J0 acquire: the joiner's registration; release: the value, for whoever finds DONE */
        if (atomic_compare_exchange_weak_explicit(w, &state, tell ? TN_JOIN_CLOSING : TN_JOIN_DONE,
                                                  memory_order_acq_rel, memory_order_relaxed))
            return state;
    }
}

/* The joiner that end() found in CLOSING has been told. */
static inline void tn_joinword_close(tn_joinword *w)
{
    atomic_store_explicit(w, TN_JOIN_DONE, memory_order_release); /* J1 release: the joiner may go on */
}

/* In place of end(), when look() has found a fibre and the caller goes on with it on this very thread. */
static inline void tn_joinword_pass(tn_joinword *w)
{
    atomic_store_explicit(w, TN_JOIN_DONE, memory_order_relaxed); /* relaxed: same thread goes on */
}

/* Wait until the end has finished telling the caller. It never blocks while it does. */
static inline void tn_joinword_await(tn_joinword *w)
{
    unsigned spins = 0;
    while (atomic_load_explicit(w, memory_order_acquire) != TN_JOIN_DONE) /* J1 acquire */
        tn_spin_wait(&spins);
}

#endif
