/* SPDX-License-Identifier: MIT
 *
 * A lock in the order of arrival. Who comes draws the next number and waits until it is served.
 *
 * Proof. 1. Each number is drawn once, as long as fewer than 65 536 threads are at the lock. 2. Only who holds the lock changes
 * `serving`, to the number behind its own: so one number is served at a time, and they are served in the order in which they
 * were drawn. 3. The last thing that unlock does to the lock is the store: who is served next may free it.
 *
 * Pairs:  T0 unlock -> whoever sees its number served.
 */
#ifndef TN_SYNC_TICKETLOCK_H
#define TN_SYNC_TICKETLOCK_H

#include "queues/spin.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct tn_ticketlock {
    _Atomic(uint16_t) next;    /* the number that is drawn next */
    _Atomic(uint16_t) serving; /* the number whose turn it is */
};

_Static_assert(sizeof(struct tn_ticketlock) == sizeof(uint32_t), "it stands in the word of a lock");

static inline void tn_ticketlock_lock(struct tn_ticketlock *lock)
{
    unsigned spins = 0;
    /* relaxed: only the number counts */
    uint16_t mine = atomic_fetch_add_explicit(&lock->next, 1, memory_order_relaxed);
    while (atomic_load_explicit(&lock->serving, memory_order_acquire) != mine) /* T0 */
        tn_spin_wait(&spins);
}

static inline void tn_ticketlock_unlock(struct tn_ticketlock *lock)
{
    uint16_t mine = atomic_load_explicit(&lock->serving, memory_order_relaxed);        /* relaxed: the holder's own */
    atomic_store_explicit(&lock->serving, (uint16_t)(mine + 1), memory_order_release); /* T0 */
}

static inline bool tn_ticketlock_held(struct tn_ticketlock *lock)
{
    uint16_t next = atomic_load_explicit(&lock->next, memory_order_relaxed);   /* relaxed: only the number counts */
    return atomic_load_explicit(&lock->serving, memory_order_acquire) != next; /* T0 */
}

#endif
