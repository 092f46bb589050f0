/* SPDX-License-Identifier: MIT
 *
 * The lock of a token, and the fibres that wait under it, over a fork. In a child a token of the parent's knows the parent's
 * fibres, and is locked for ever if one of the threads that stayed behind was just then at it: whoever comes first empties
 * it. No stack is switched in here, so that the explorer takes this file as it is.
 *
 *   process   2p      the fibres, and the lock, are process p's
 *             2p + 1  somebody of process p empties it: the others wait
 */
#ifndef TN_TOKENLOCK_H
#define TN_TOKENLOCK_H

#include <stdatomic.h>
#include <stddef.h>

#include "queues/spinlock.h"

struct fibre;
struct token;

/* One fibre's place in the list of one token. */
struct token_entry {
    struct fibre *fibre;
    struct token *token;            /* NULL: in none; the fibre itself, and tn_stop when it is dropped */
    struct token_entry *next, **at; /* under the token's lock */
};

struct tn_tokenlock {
    struct tn_spinlock lock;
    _Atomic(unsigned) process;
    struct token_entry *waiting; /* under the lock */
};

static inline void tn_tokenlock_init(struct tn_tokenlock *t, unsigned process)
{
    tn_spinlock_init(&t->lock);
    atomic_init(&t->process, 2 * process);
    t->waiting = NULL;
}

static inline void tn_tokenlock_lock(struct tn_tokenlock *t, unsigned process)
{
    unsigned mine = 2 * process, was = atomic_load_explicit(&t->process, memory_order_acquire); /* TP0 acquire */
    /* relaxed: nothing but the parent's work came before */
    if (was != mine && was != mine + 1 &&
        atomic_compare_exchange_strong_explicit(&t->process, &was, mine + 1, memory_order_relaxed,
                                                memory_order_relaxed)) {
        tn_spinlock_init(&t->lock);
        t->waiting = NULL;
        atomic_store_explicit(&t->process, mine, memory_order_release); /* TP0 release: it is empty */
    }
    for (unsigned spins = 0; atomic_load_explicit(&t->process, memory_order_acquire) != mine;) /* TP0 acquire */
        tn_spin_wait(&spins);
    tn_spinlock_lock(&t->lock);
}

static inline void tn_tokenlock_unlock(struct tn_tokenlock *t)
{
    tn_spinlock_unlock(&t->lock);
}

#endif
