/* SPDX-License-Identifier: MIT
 *
 * The word of a mutex, and the ring of those that wait for it. Nothing in here blocks or switches, so that the explorer
 * takes this file as it is.
 *
 *   HELD    somebody has the mutex
 *   QUEUE   somebody is at the ring: a spin lock for a few instructions
 *   WAITED  the ring is not empty
 *
 *   try      no HELD                -> HELD              also beside QUEUE: this is barging (000 §3.3, fig. 3.4)
 *   release  HELD alone             -> nothing
 *            HELD                   -> QUEUE, the first of the ring is claimed, -> nothing (HELD if it is handed over)
 *   enter    HELD                   -> QUEUE, into the ring, -> WAITED
 *   leave                           -> QUEUE, out of the ring, -> nothing
 *
 * Proof. 1. Only try and enter set HELD, each by a compare-and-exchange on a word without it; only its holder clears it,
 * or leaves it to the one that it has claimed. So there is at most one holder. 2. A holder that gives the mutex back with
 * WAITED set goes through the ring: while HELD and QUEUE are both set nobody changes the word but who set QUEUE, and an
 * owner its count (`mine` is 0 where there are no owners), so what enter has found HELD stays so until it is in the ring.
 * Hence nobody is in the ring of a mutex that is free unless somebody who was claimed is on the way to it. 3. Who is claimed
 * tries again, and if it has to wait again then for somebody who holds the mutex and will find it in the ring; who gives up
 * after a claim was not claimed (tn_claim decides), so no claim is lost. 4. The last thing that a release does to the mutex is the store that frees it: whoever gets it then
 * may do with its memory what it likes. Resuming the one that was claimed touches the mutex no more.
 *
 * Pairs:  M0 release of the mutex -> who gets it;  Q0 release of the queue -> who gets that.
 */
#ifndef TN_SYNC_MUTEXWORD_H
#define TN_SYNC_MUTEXWORD_H

#include "queues/spin.h"
#include "waiters.h"

#define TN_MUTEX_HELD   UINT64_C(1)
#define TN_MUTEX_QUEUE  UINT64_C(2)
#define TN_MUTEX_WAITED UINT64_C(4)

/* The upper bits are the holder's and the mutex's own: kind, design, count, owner (mutex.c). `gone` are those that go
 * when it is released, `mine` are those that who gets it sets. */
struct tn_mutexword {
    _Atomic(uint64_t) word;
    struct tn_node *ring; /* under QUEUE: the first */
};

static inline bool tn_mutexword_try(struct tn_mutexword *m, uint64_t mine)
{
    uint64_t w = atomic_load_explicit(&m->word, memory_order_relaxed); /* relaxed: a guess, the CAS decides */
    while ((w & TN_MUTEX_HELD) == 0)
        if (atomic_compare_exchange_weak_explicit(&m->word, &w, w | TN_MUTEX_HELD | mine,
                                                  memory_order_acquire,  /* M0 */
                                                  memory_order_relaxed)) /* failed: a guess again */
            return true;
    return false;
}

/* What the word is, with QUEUE. */
static inline uint64_t tn_mutexword_queue_(struct tn_mutexword *m)
{
    unsigned spins = 0;
    for (;;) {
        uint64_t w = atomic_load_explicit(&m->word, memory_order_relaxed); /* relaxed: a guess, the CAS decides */
        if ((w & TN_MUTEX_QUEUE) == 0 &&
            atomic_compare_exchange_weak_explicit(&m->word, &w, w | TN_MUTEX_QUEUE, memory_order_acquire, /* Q0 */
                                                  memory_order_relaxed)) /* failed: a guess again */
            return w | TN_MUTEX_QUEUE;
        tn_spin_wait(&spins);
    }
}

/* True: the caller holds the mutex. False: its node is in the ring, and it is to wait for its claim. */
static inline bool tn_mutexword_enter(struct tn_mutexword *m, struct tn_node *node, bool in_front, uint64_t mine)
{
    uint64_t w = tn_mutexword_queue_(m);
    while ((w & TN_MUTEX_HELD) == 0)
        if (atomic_compare_exchange_weak_explicit(&m->word, &w, (w | TN_MUTEX_HELD | mine) & ~TN_MUTEX_QUEUE,
                                                  memory_order_acq_rel,  /* M0 acquire, Q0 release */
                                                  memory_order_relaxed)) /* failed: a guess again */
            return true;
    tn_ring_put(&m->ring, node, in_front);
    if (mine == 0) /* no owner, so nobody changes it meanwhile (2) */
        atomic_store_explicit(&m->word, (w | TN_MUTEX_WAITED) & ~TN_MUTEX_QUEUE, memory_order_release); /* Q0 */
    else if ((w & TN_MUTEX_WAITED) == 0) /* its holder may count */
        atomic_fetch_add_explicit(&m->word, TN_MUTEX_WAITED - TN_MUTEX_QUEUE, memory_order_release); /* Q0 */
    else
        atomic_fetch_sub_explicit(&m->word, TN_MUTEX_QUEUE, memory_order_release); /* Q0 */
    return false;
}

/* The wait was over otherwise: out of the ring, where the node is still unless somebody has passed it over. */
static inline void tn_mutexword_leave(struct tn_mutexword *m, struct tn_node *node)
{
    tn_mutexword_queue_(m);
    if (node->next != NULL)
        tn_ring_take(&m->ring, node);
    /* Q0 release */
    atomic_fetch_and_explicit(&m->word, ~(TN_MUTEX_QUEUE | (m->ring == NULL ? TN_MUTEX_WAITED : 0)),
                              memory_order_release);
}

/* By the holder. `hands_over(node, how)`: whether the node gets the mutex itself, and not only its turn to try. What
 * is claimed is to be resumed. */
static inline struct tn_claimed tn_mutexword_release(struct tn_mutexword *m, uint64_t gone,
                                                     bool (*hands_over)(const struct tn_node *, unsigned),
                                                     unsigned how)
{
    struct tn_claimed claimed = {NULL, NULL};
    uint64_t w = atomic_load_explicit(&m->word, memory_order_relaxed); /* relaxed: a guess, the CAS decides */
    while ((w & (TN_MUTEX_QUEUE | TN_MUTEX_WAITED)) == 0)
        if (atomic_compare_exchange_weak_explicit(&m->word, &w, w & ~(TN_MUTEX_HELD | gone),
                                                  memory_order_release,  /* M0 */
                                                  memory_order_relaxed)) /* failed: a guess again */
            return claimed;
    w = tn_mutexword_queue_(m) & ~(TN_MUTEX_QUEUE | TN_MUTEX_HELD | gone);
    for (struct tn_node *node; (node = m->ring) != NULL;) {
        tn_ring_take(&m->ring, node);
        uintptr_t caller = node->caller;
        bool over = node->granted = hands_over(node, how);
        if (tn_claim(node, &claimed)) {
            if (over)
                w |= TN_MUTEX_HELD | caller;
            break;
        }
    }
    if (m->ring == NULL)
        w &= ~TN_MUTEX_WAITED;
    atomic_store_explicit(&m->word, w, memory_order_release); /* M0, Q0 */
    return claimed;
}

#endif
