/* SPDX-License-Identifier: MIT
 *
 * The lock inside the primitives, which is held for a few instructions, as the build has it (-Dlock=…; 000 §3.3: "the type of
 * this lock can be easily changed at compile time"). A mutex needs none: a bit of its word does.
 *
 *   spin     whoever comes first when it is free (queues/spinlock.h)
 *   ticket   in the order in which they came, who waits spins (ticketlock.h)
 *   park     who waits sleeps in the kernel, with its whole worker, as the text's pthread_mutex does (parklock.h)
 *
 * Of each, ..._held() is false when all who were known to be at it have left it.
 */
#ifndef TN_SYNC_INNERLOCK_H
#define TN_SYNC_INNERLOCK_H

#define TN_LOCK_SPIN   0
#define TN_LOCK_TICKET 1
#define TN_LOCK_PARK   2
#ifndef TN_LOCK /* the cases of the explorer */
#define TN_LOCK TN_LOCK_SPIN
#endif

#if TN_LOCK == TN_LOCK_TICKET
#include "ticketlock.h"
#define tn_innerlock        tn_ticketlock
#define tn_innerlock_lock   tn_ticketlock_lock
#define tn_innerlock_unlock tn_ticketlock_unlock
#define tn_innerlock_held   tn_ticketlock_held
#elif TN_LOCK == TN_LOCK_PARK
#include "parklock.h"
#define tn_innerlock        tn_parklock
#define tn_innerlock_lock   tn_parklock_lock
#define tn_innerlock_unlock tn_parklock_unlock
#define tn_innerlock_held   tn_parklock_held
#else
#include "queues/spinlock.h"
#define tn_innerlock        tn_spinlock
#define tn_innerlock_lock   tn_spinlock_lock
#define tn_innerlock_unlock tn_spinlock_unlock
static inline bool tn_innerlock_held(struct tn_spinlock *lock)
{
    return atomic_load_explicit(&lock->held, memory_order_acquire) != 0; /* A0 */
}
#endif

#endif
