/* SPDX-License-Identifier: MIT
 *
 * A token, and the waits that it may end: a wait is in the list of each token that it was called with, and in that of its
 * fibre's group. No stack is switched in here, so that the explorer takes this file as it is.
 *
 * Proof. 1. A wait enters with the lock held, unless the token has fired; who fires it says so with the lock held, before it
 * goes through the list. So it finds the wait, or the wait found that. 2. Entries are taken out by their own fibre, with the
 * lock held, before its wait is over for its caller: who goes through a list finds no fibre there that may be in its next
 * wait, or gone. 3. Of all that decide a wait one does (waitword.h), so tokens that fire at the same time end it once.
 */
#ifndef TN_TOKEN_H
#define TN_TOKEN_H

#include "tokenlock.h"

struct token {
    struct tn_tokenlock lock;
    _Atomic(bool) fired; /* kept over a fork */
};

static inline void token_init(struct token *k, unsigned process)
{
    tn_tokenlock_init(&k->lock, process);
    atomic_init(&k->fired, false);
}

static inline bool token_fired(const struct token *k)
{
    return atomic_load_explicit(&k->fired, memory_order_acquire); /* T0 */
}

/* cancel(): end the wait of one, unless it is over. It may not wait for the token. */
static inline void token_fire(struct token *k, unsigned process, void (*cancel)(struct fibre *))
{
    tn_tokenlock_lock(&k->lock, process);
    atomic_store_explicit(&k->fired, true, memory_order_release); /* T0 release */
    for (struct token_entry *e = k->lock.waiting; e != NULL; e = e->next)
        cancel(e->fibre);
    tn_tokenlock_unlock(&k->lock);
}

/* False: fired already. */
static inline bool token_enter(struct token *k, unsigned process, struct token_entry *e, struct fibre *f)
{
    tn_tokenlock_lock(&k->lock, process);
    bool fired = atomic_load_explicit(&k->fired, memory_order_relaxed); /* relaxed: under the lock */
    if (!fired) {
        *e = (struct token_entry){f, k, k->lock.waiting, &k->lock.waiting};
        if (e->next != NULL)
            e->next->at = &e->next;
        k->lock.waiting = e;
    }
    tn_tokenlock_unlock(&k->lock);
    return !fired;
}

static inline void token_leave(struct token_entry *e)
{
    struct token *k = e->token;
    tn_spinlock_lock(&k->lock.lock);
    *e->at = e->next;
    if (e->next != NULL)
        e->next->at = e->at;
    e->token = NULL;
    tn_tokenlock_unlock(&k->lock);
}

#endif
