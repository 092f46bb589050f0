/* SPDX-License-Identifier: MIT
 *
 * What a poller has received on a descriptor before anybody asked for it, and how it and who asks meet. Nothing in here calls
 * the operating system or switches, so that the explorer takes this file as it is.
 *
 *   ask       (whose turn it is)  has what is there; or is the one that waits, and the poller is to receive if it does not
 *   comes     (the poller)        is the one's that waits, or is kept
 *   withdraw  (any thread)        whoever waits does so no more, if it still does: then its request is over
 *   has       (any thread)        is anything kept that who asks would have?
 *   drop      (who closes)        what was kept goes, and what still comes under this key
 *
 * Proof. All is done under one lock. 1. Nothing is lost: who waits found nothing kept, and what comes is handed to it or kept.
 * 2. A request is over once: who takes it out of `waiting` says so, and nobody else. 3. The order is kept, since nothing is
 * handed over past what is kept, and who asks makes the call itself only where nothing is, nor is still received. 4. The next
 * owner of the number has nothing of this one's: the key has its generation, and only who asks opens it, which nobody does in a
 * generation that has ended (request.h, 4). 5. Who only wants to know (tn_select) looks and enters the way's list under the way's
 * lock; the poller keeps first, and then tells all who are entered (tn_way_event), under that lock too: so either the look
 * finds what is kept, or the telling finds who has entered.
 */
#ifndef TN_IO_AHEAD_H
#define TN_IO_AHEAD_H

#include "request.h"

#include "queues/spinlock.h"

/* Something received. */
struct tn_got {
    struct tn_got *next;
    int64_t result; /* as of the call */
    size_t used;    /* of it */
    void (*gone)(struct tn_got *got, bool used);
};

struct tn_ahead {
    struct tn_spinlock lock;
    bool open;     /* some have asked in the generation of `key` */
    bool receives; /* the poller does, at `place` */
    bool accepts;  /* it is connections that it receives */
    uint64_t key;
    void *place;
    struct tn_request *waiting;
    struct tn_got *first, *last;
    int64_t end; /* how receiving has ended, if nobody has heard of it: 0 or less; else more */
};

/* What is kept, as far as the request has room: the result of its call. `take`: of one, which may not be used up then. */
typedef int64_t tn_take(struct tn_request *rq, int64_t before, struct tn_got *got);

/* With the lock held. */
static inline int64_t tn_ahead_take(struct tn_ahead *a, struct tn_request *rq, tn_take *take)
{
    int64_t n = 0, more;
    for (struct tn_got *got; (got = a->first) != NULL; n += more) {
        more = take(rq, n, got);
        if ((int64_t)got->used < got->result)
            return n + more;
        a->first = got->next;
        got->gone(got, true);
        if (rq->kind == TN_REQUEST_ACCEPT)
            return more;
    }
    return n;
}

enum tn_asked { TN_ASKED_OVER, TN_ASKED_WAITS, TN_ASKED_RECEIVE, TN_ASKED_REFUSED };

/* OVER: with `*result`. RECEIVE: it waits, and the poller is to receive, at `place`. REFUSED: that is NULL, there is nothing, and nobody
 * receives; so who asks may make the call itself. */
static inline enum tn_asked tn_ahead_ask(struct tn_ahead *a, uint64_t key, struct tn_request *rq, tn_take *take,
                                         void *place, int64_t *result)
{
    enum tn_asked asked = TN_ASKED_OVER;
    tn_spinlock_lock(&a->lock);
    if (!a->open) {
        a->open = true;
        a->key = key;
        a->accepts = rq->kind == TN_REQUEST_ACCEPT;
        a->end = 1;
    }
    if (a->first != NULL)
        *result = tn_ahead_take(a, rq, take);
    else if (a->end <= 0) {
        *result = a->end;
        a->end = 1;
    } else if (!a->receives && place == NULL) {
        asked = TN_ASKED_REFUSED;
    } else {
        a->waiting = rq;
        asked = a->receives ? TN_ASKED_WAITS : TN_ASKED_RECEIVE;
        a->place = a->receives ? a->place : place;
        a->receives = true;
    }
    tn_spinlock_unlock(&a->lock);
    return asked;
}

/* Would who asks under this key have something, were it only the end? */
static inline bool tn_ahead_has(struct tn_ahead *a, uint64_t key)
{
    tn_spinlock_lock(&a->lock);
    bool has = a->open && a->key == key && (a->first != NULL || a->end <= 0);
    tn_spinlock_unlock(&a->lock);
    return has;
}

/* False: it waits no more; its request is not over by this. */
static inline bool tn_ahead_withdraw(struct tn_ahead *a, const struct tn_request *rq)
{
    tn_spinlock_lock(&a->lock);
    bool waits = a->waiting == rq;
    if (waits)
        a->waiting = NULL;
    tn_spinlock_unlock(&a->lock);
    return waits;
}

/* `got`: NULL, and `result`, the end of it. Who has waited, whose request is over with `*result`; or NULL. */
static inline struct tn_request *tn_ahead_comes(struct tn_ahead *a, uint64_t key, struct tn_got *got, bool more,
                                                tn_take *take, int64_t *result)
{
    struct tn_request *rq = NULL;
    tn_spinlock_lock(&a->lock);
    bool mine = a->open && a->key == key;
    if (mine)
        a->receives = more;
    if (mine && got != NULL) {
        got->next = NULL;
        if (a->first == NULL)
            a->first = got;
        else
            a->last->next = got;
        a->last = got;
    }
    if (mine && a->waiting != NULL && (got != NULL || !more)) {
        rq = a->waiting;
        a->waiting = NULL;
        if (got != NULL)
            *result = tn_ahead_take(a, rq, take);
    } else if (mine && got == NULL && !more && *result != -EAGAIN && *result != -ECANCELED)
        a->end = *result;
    tn_spinlock_unlock(&a->lock);
    if (!mine && got != NULL)
        got->gone(got, false);
    return rq;
}

/* True: the poller still receives, at `*place`. */
static inline bool tn_ahead_drop(struct tn_ahead *a, void **place)
{
    tn_spinlock_lock(&a->lock);
    bool receives = a->receives;
    struct tn_got *got = a->first;
    *place = a->place;
    a->open = a->receives = false;
    a->first = NULL;
    a->waiting = NULL;
    tn_spinlock_unlock(&a->lock);
    for (struct tn_got *next; got != NULL; got = next) {
        next = got->next;
        got->gone(got, false);
    }
    return receives;
}

#endif
