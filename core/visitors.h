/* SPDX-License-Identifier: MIT
 *
 * Callers from outside a runtime that are still inside its memory: a thread, or another runtime's fibre, that makes a fibre
 * ready, joins one or makes a cluster. As soon as a module has the fibre, that may run, end and be joined, and whoever
 * joined it may stop the runtime, while the caller still looks for a worker to wake.
 *
 *   visitor:  enter | publishes (a fibre, ready)          | looks at the cluster | leave
 *   stopper:                learns from what it published                        | await | frees the cluster
 *
 * Who never learned of a visit has no business to stop the runtime that the visitor is about to enter: tn_stop must be the
 * last call.
 */
#ifndef TN_VISITORS_H
#define TN_VISITORS_H

#include <stdatomic.h>
#include <stdint.h>

#include "platform.h"

struct tn_visitors {
    _Atomic(uint32_t) now;
};

static inline void tn_visitors_enter(struct tn_visitors *v)
{
    atomic_fetch_add_explicit(&v->now, 1, memory_order_relaxed); /* relaxed: what it publishes then has it along */
}

static inline void tn_visitors_leave(struct tn_visitors *v)
{
    atomic_fetch_sub_explicit(&v->now, 1, memory_order_release); /* V0 release */
}

static inline void tn_visitors_await(struct tn_visitors *v)
{
    for (unsigned spins = 0; atomic_load_explicit(&v->now, memory_order_acquire) != 0;) /* V0 acquire */
        tn_spin_wait(&spins);
}

#endif
