/* SPDX-License-Identifier: MIT
 *
 * A lock whose waiters sleep in the kernel (Drepper, Futexes are tricky, 2011: mutex 2).
 *
 *   0 free    1 held    2 held, and somebody may sleep
 *
 * Proof. 1. Only who turns 0 into 1 or 2 gets the lock, by a compare-and-exchange or an exchange, and only its holder makes it 0.
 * 2. Who sleeps has left a 2 behind; who gets it after it has waited leaves a 2 too, since it does not know whether others sleep.
 * So unlock finds 2 while anybody sleeps, and wakes one, who looks again. 3. The last thing that unlock does to the lock is the
 * exchange: the kernel is told an address, at which it looks at nothing.
 *
 * Pairs:  P0 unlock -> who gets it.
 */
#ifndef TN_SYNC_PARKLOCK_H
#define TN_SYNC_PARKLOCK_H

#include "tenter.h"

#include "platform.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct tn_parklock {
    _Atomic(uint32_t) word;
};

static inline void tn_parklock_lock(struct tn_parklock *lock)
{
    uint32_t none = 0;
    if (atomic_compare_exchange_strong_explicit(&lock->word, &none, 1, memory_order_acquire, /* P0 */
                                                memory_order_relaxed)) /* relaxed: looked at again */
        return;
    while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0) /* P0 */
        tn_park(&lock->word, 2, TN_FOREVER);
}

static inline void tn_parklock_unlock(struct tn_parklock *lock)
{
    if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2) /* P0 */
        tn_unpark(&lock->word, 1);
}

static inline bool tn_parklock_held(struct tn_parklock *lock)
{
    return atomic_load_explicit(&lock->word, memory_order_acquire) != 0; /* P0 */
}

#endif
