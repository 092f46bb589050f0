/* SPDX-License-Identifier: MIT
 *
 * What a poller has received on a descriptor before anybody asked for it, and how it and who asks meet. Nothing in here calls
 * the operating system or switches, so that the explorer takes this file as it is.
 *
 *   ask    (whose turn it is)  has what is there, or the end; else it waits for an event of its way
 *   begin  (whose turn it is)  from now on the poller receives; with the way's lock, if the descriptor is not closed
 *   comes  (the poller)        is kept; behind it the poller tells an event of the way
 *   has    (any thread)        is anything kept that who asks would have?
 *   drop   (who closes)        what was kept goes, and what still comes under this key
 *   do     (whose turn it is)  all that one call needs
 *
 * So a call is made as under the other pollers, but for where it finds what it is to return: nothing of it is known to the poller,
 * and who gives up has nothing to withdraw.
 *
 * Proof. What is kept is under one lock. 1. Nothing is lost, nor had twice: it is kept until whose turn it is takes it. 2. No wake-up is
 * lost: what comes is kept before its event is told, and who waits has looked before it enters the way's list, or finds that event
 * in the way's state (descriptor.h). 3. The order is kept, since who asks makes the call itself only where nothing is kept, nor is still
 * received. 4. The next owner of the number has nothing of this one's: the key has its generation, and is opened under the way's lock,
 * in that generation only; who closes ends that first, and drops then. 5. Who only wants to know (tn_select) looks and enters the
 * way's list under the way's lock, under which the poller tells all who are entered, behind keeping it: so either the look finds what is
 * kept, or the telling finds who has entered.
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
    struct tn_got *first, *last;
    int64_t end; /* how receiving has ended, if nobody has heard of it: 0 or less; else more */
};

/* What is kept, as far as the request has room: the result of its call. `takes`: of one, which may not be used up then. */
typedef int64_t tn_take(struct tn_request *rq, int64_t before, struct tn_got *got);

/* With the lock held. */
static inline int64_t tn_ahead_take(struct tn_ahead *a, struct tn_request *rq, tn_take *takes)
{
    int64_t n = 0, more;
    for (struct tn_got *got; (got = a->first) != NULL; n += more) {
        more = takes(rq, n, got);
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

/* OVER: with `*result`, -EAGAIN where the poller had no room. WAITS: there is nothing. RECEIVE: so too, and nobody receives. REFUSED:
 * bytes are no connections, and who asks is to make the call itself. */
static inline enum tn_asked tn_ahead_ask(struct tn_ahead *a, uint64_t key, struct tn_request *rq, tn_take *takes,
                                         int64_t *result)
{
    enum tn_asked asked = TN_ASKED_OVER;
    tn_spinlock_lock(&a->lock);
    if (!a->open || a->key != key) {
        asked = TN_ASKED_RECEIVE;
    } else if (a->accepts != (rq->kind == TN_REQUEST_ACCEPT)) {
        asked = TN_ASKED_REFUSED;
    } else if (a->first != NULL) {
        *result = tn_ahead_take(a, rq, takes);
    } else if (a->end <= 0) {
        *result = a->end;
        a->end = 1;
    } else {
        asked = a->receives ? TN_ASKED_WAITS : TN_ASKED_RECEIVE;
    }
    tn_spinlock_unlock(&a->lock);
    return asked;
}

/* By who was told RECEIVE: nothing is there. The poller is to receive, at `place`. */
static inline void tn_ahead_begin(struct tn_ahead *a, uint64_t key, bool accepts, void *place)
{
    tn_spinlock_lock(&a->lock);
    a->open = a->receives = true;
    a->accepts = accepts;
    a->key = key;
    a->place = place;
    a->end = 1;
    tn_spinlock_unlock(&a->lock);
}

/* Would who asks under this key have something, were it only the end? */
static inline bool tn_ahead_has(struct tn_ahead *a, uint64_t key)
{
    tn_spinlock_lock(&a->lock);
    bool has = a->open && a->key == key && (a->first != NULL || (a->end <= 0 && a->end != -EAGAIN));
    tn_spinlock_unlock(&a->lock);
    return has;
}

/* `got`: NULL, and `result`, the end of it; -ECANCELED, -EINTR: whoever asks next begins anew. */
static inline void tn_ahead_comes(struct tn_ahead *a, uint64_t key, struct tn_got *got, bool more, int64_t result)
{
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
    } else if (mine && !more && result != -ECANCELED && result != -EINTR)
        a->end = result;
    tn_spinlock_unlock(&a->lock);
    if (!mine && got != NULL)
        got->gone(got, false);
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
    tn_spinlock_unlock(&a->lock);
    for (struct tn_got *next; got != NULL; got = next) {
        next = got->next;
        got->gone(got, false);
    }
    return receives;
}

/* How the poller is asked. receive: an errno value, where it does not. */
struct tn_receives {
    tn_take *take;
    int (*receive)(void *poller, struct tn_ahead *a, uint64_t key, struct tn_request *rq, tn_time deadline);
    void *poller;
};

/* What the call has returned; or, negative, an errno value: -EAGAIN, the fibre is to make it itself. */
static inline int64_t tn_ahead_do(struct tn_way *w, uint32_t generation, struct tn_ahead *a, uint64_t key,
                                  struct tn_request *rq, tn_time deadline, tn_token *token,
                                  const struct tn_receives *by)
{
    for (int late = 0;;) {
        int64_t result = 0;
        enum tn_asked asked = tn_ahead_ask(a, key, rq, by->take, &result);
        if (asked == TN_ASKED_OVER)
            return result;
        if (late != 0) /* what there is at that moment it has */
            return -late;
        int rc = asked == TN_ASKED_REFUSED ? ENOSYS : 0;
        if (asked == TN_ASKED_RECEIVE) {
            struct tn_waitlist *l = tn_waitlist_lock(&w->waits);
            rc = tn_way_generation(w) == generation ? by->receive(by->poller, a, key, rq, deadline) : ECANCELED;
            tn_waitlist_unlock(l);
        }
        if (rc != 0)
            return rc == ECANCELED ? -rc : -EAGAIN;
        late = tn_way_wait(w, generation, true, deadline, token);
        if (late != 0 && late != ETIMEDOUT)
            return -late;
    }
}

#endif
