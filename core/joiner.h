/* SPDX-License-Identifier: MIT
 *
 * A thread that is no worker, and waits in tn_join: who ends its wait. No stack is switched in here, so that the explorer
 * takes this file as it is.
 *
 *   told      by the fibre's end, which goes on to touch the join word (joinword.h, CLOSING)
 *             by the thread itself, which found that there is nothing to wait for
 *   dropped   by tn_stop, when no worker is left that could tell it
 *
 * Whoever decides says that the thread is blocked no more (diagnose_unblocks): once, whoever else comes too. `unblock` is
 * called before the decision, since the thread may be gone after it; `block` takes it back.
 */
#ifndef TN_JOINER_H
#define TN_JOINER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { TN_JOINER_WAITS, TN_JOINER_TOLD, TN_JOINER_DROPPED };

struct tn_joiner {
    _Atomic(uint32_t) done;
    struct tn_joiner *next, **at; /* under the runtime's lock */
};

static inline uint32_t tn_joiner_look(struct tn_joiner *t)
{
    return atomic_load_explicit(&t->done, memory_order_acquire); /* JS0 acquire */
}

/* False: somebody else has. Unpark `done` afterwards, if the thread may sleep on it. */
static inline bool tn_joiner_decide(struct tn_joiner *t, uint32_t how, void (*unblock)(void), void (*block)(void))
{
    uint32_t waits = TN_JOINER_WAITS;
    unblock();
    /* JS0 release: what this end, or the workers that have ended, did before; relaxed: it is another's business */
    if (atomic_compare_exchange_strong_explicit(&t->done, &waits, how, memory_order_release, memory_order_relaxed))
        return true;
    block();
    return false;
}

#endif
