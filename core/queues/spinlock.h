/* SPDX-License-Identifier: MIT */
/*
 * A test-and-test-and-set lock.
 *
 * For sections of a few instructions.  Not fair: a waiter may be overtaken any number of times.  Not recursive.
 *
 * Invariants, checked by tn_spinlock_valid():
 *   1. held is 0 or 1.
 *   2. Only the exchange that reads 0 makes its caller the holder; as exchanges of one word are totally ordered, and
 *      only the holder stores 0, there is at most one holder.
 *   3. What a holder did before unlock is seen by the next holder: R0 is read by the exchange A0 that finds 0.  An
 *      exchange that finds 1 continues R0's release sequence, so waiters that try in between do not break the pair.
 *
 * Pairs:  R0 unlock  ->  A0 the exchange that gets the lock.
 */
#ifndef TN_QUEUES_SPINLOCK_H
#define TN_QUEUES_SPINLOCK_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "spin.h"

struct tn_spinlock {
    _Atomic(unsigned) held; /* written by anyone who wants the lock */
};

#define TN_SPINLOCK_INIT \
    {                    \
        0                \
    }

static_assert(sizeof(struct tn_spinlock) == sizeof(unsigned), "one plain word, to sit beside what it guards");

static inline void tn_spinlock_init(struct tn_spinlock *lock)
{
    atomic_init(&lock->held, 0U);
}

/* One try; never waits.  False may also mean that the holder was just leaving. */
static inline bool tn_spinlock_try_lock(struct tn_spinlock *lock)
{
    /* relaxed: a hint that saves the exchange, and with it the line, while the lock is held; A0 decides. */
    if (atomic_load_explicit(&lock->held, memory_order_relaxed) != 0U)
        return false;
    return atomic_exchange_explicit(&lock->held, 1U, memory_order_acquire) == 0U; /* A0 */
}

/* The first try of tn_spinlock_lock has failed.  A function of its own: inlined, it would cost every caller the registers
 * that a call in the middle of it may not use. */
static __attribute__((noinline, cold, unused)) void tn_spinlock_wait_(struct tn_spinlock *lock)
{
    unsigned spins = 0;

    do {
        /* relaxed: only waits for a good moment to exchange again, on a shared copy of the line. */
        do
            tn_spin_wait(&spins);
        while (atomic_load_explicit(&lock->held, memory_order_relaxed) != 0U);
    } while (atomic_exchange_explicit(&lock->held, 1U, memory_order_acquire) != 0U); /* A0 */
}

static inline void tn_spinlock_lock(struct tn_spinlock *lock)
{
    /* The first try goes without the test: an uncontended lock then costs one read for ownership, not two misses. */
    if (atomic_exchange_explicit(&lock->held, 1U, memory_order_acquire) != 0U) /* A0 */
        tn_spinlock_wait_(lock);
}

static inline void tn_spinlock_unlock(struct tn_spinlock *lock)
{
    atomic_store_explicit(&lock->held, 0U, memory_order_release); /* R0 */
}

/* For tests, at any time. */
static inline bool tn_spinlock_valid(struct tn_spinlock *lock)
{
    /* relaxed: one word, nothing read through it. */
    return atomic_load_explicit(&lock->held, memory_order_relaxed) <= 1U;
}

#endif
