/* SPDX-License-Identifier: MIT
 *
 * The word of a promise: who waits for it, or that it is kept. Nothing in here blocks or switches, so that the explorer
 * takes this file as it is.
 *
 *   word = the node that came last, or 0; and two flags, for which its alignment leaves room
 *
 *   CLAIMED  somebody keeps the promise and is about to write the value
 *   KEPT     the value is there, and there are no nodes
 *
 *   enter    no KEPT      -> its node, before those that are there     (a stack that is only ever taken as a whole)
 *   keep     no CLAIMED   -> CLAIMED, the value is written, -> KEPT; the nodes that were there are told
 *
 * Proof. 1. Of all that keep one promise exactly one sets CLAIMED, and only it writes the value; it does so before KEPT, and
 * who reads the value has seen KEPT or has been told, so nobody reads it before. 2. A node enters by a compare-and-exchange
 * on a word without KEPT, so it comes before the exchange that sets KEPT, whose value holds it or a node that leads to it.
 * Each is told exactly once; after KEPT nobody enters. 3. That exchange is the last thing that keep does to the promise.
 * Whoever reads the value has been told or has seen KEPT, so it may do with the promise's memory what it likes. 4. A node is
 * its waiter's again as soon as it is told: what it leads to is read before.
 *
 * A wait has no end but the value: a node that had to leave early would have to be found in the middle of a stack.
 *
 * Pairs:  K0 the value -> who reads it;  E0 a node -> who tells it.
 */
#ifndef TN_SYNC_PROMISEWORD_H
#define TN_SYNC_PROMISEWORD_H

#include "waiters.h"

#define TN_PROMISE_CLAIMED UINT64_C(1)
#define TN_PROMISE_KEPT    UINT64_C(2)
#define TN_PROMISE_FLAGS   (TN_PROMISE_CLAIMED | TN_PROMISE_KEPT)

struct tn_promiseword {
    _Atomic(uint64_t) word;
    void *value; /* written once, between CLAIMED and KEPT */
};

_Static_assert(_Alignof(struct tn_node) > TN_PROMISE_FLAGS, "a node's address leaves room for the flags");

static inline struct tn_node *tn_promiseword_node_(uint64_t w)
{
    return (struct tn_node *)(uintptr_t)(w & ~TN_PROMISE_FLAGS);
}

static inline bool tn_promiseword_kept(const struct tn_promiseword *p)
{
    return (atomic_load_explicit(&p->word, memory_order_acquire) & TN_PROMISE_KEPT) != 0; /* K0 acquire */
}

/* True: the value is there. False: the node is with those that will be told, and is to wait for that. */
static inline bool tn_promiseword_enter(struct tn_promiseword *p, struct tn_node *node)
{
    uint64_t w = atomic_load_explicit(&p->word, memory_order_acquire); /* K0 acquire */
    while ((w & TN_PROMISE_KEPT) == 0) {
        node->next = tn_promiseword_node_(w);
        if (atomic_compare_exchange_weak_explicit(&p->word, &w, (uintptr_t)node | (w & TN_PROMISE_CLAIMED),
                                                  memory_order_acq_rel,  /* E0 release */
                                                  memory_order_acquire)) /* K0 acquire; success may not be weaker */
            return false;
    }
    return true;
}

/* False: somebody else keeps it. Else `resume` is called for each that waited, once nothing more is done to the promise. */
static inline bool tn_promiseword_keep(struct tn_promiseword *p, void *value, void (*resume)(struct tn_claimed))
{
    /* relaxed: it decides who goes on, and tells nothing */
    uint64_t w = atomic_fetch_or_explicit(&p->word, TN_PROMISE_CLAIMED, memory_order_relaxed);
    if ((w & TN_PROMISE_CLAIMED) != 0)
        return false;
    p->value = value;
    /* K0 release, E0 acquire */
    w = atomic_exchange_explicit(&p->word, TN_PROMISE_FLAGS, memory_order_acq_rel);
    for (struct tn_node *node = tn_promiseword_node_(w), *next; node != NULL; node = next) {
        struct tn_claimed claimed = {NULL, NULL};
        next = node->next;
        tn_claim(node, &claimed);
        resume(claimed);
    }
    return true;
}

#endif
