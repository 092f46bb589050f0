/* SPDX-License-Identifier: MIT
 *
 * A call that a poller makes on behalf of a fibre, and how that one waits until it is over. Nothing in here calls the
 * operating system or switches, so that the explorer takes this file as it is.
 *
 *   begin   (whose turn it is)  if the descriptor is not closed: the poller has it
 *   over    (the poller)        once, with the result
 *   wait    (whose turn it is)  until it is over; who gives up has it withdrawn, and waits again
 *   end     (whose turn it is)  it is over: who closes looks for it no more
 *   do      (whose turn it is)  all of that
 *
 * Proof. The request, and the buffer of its call, lie on the fibre's stack; the poller has them from begin() until over().
 * 1. A fibre does not return before it is over: wait() tells 0 only then, and whatever else it tells, the fibre waits again.
 * 2. over() touches nothing of it when its lock is open, but the node that it has claimed, whose fibre does not go on before
 * it is let go (waitlist.h, 3): so a fibre that returns takes nothing away from it. 3. No wake-up is lost: who waits has
 * looked under the lock that over() takes. 4. Who closes ends the way's generation, and looks where its request is, in one
 * step under the way's lock, and begin() looks at the generation and says where in one step too: so either begin() refuses,
 * or who closes finds it and has it withdrawn before it gives the number back. No request of a number's former owner is made
 * on the next one's behalf, and nobody but its own fibre is told of it.
 */
#ifndef TN_IO_REQUEST_H
#define TN_IO_REQUEST_H

#include "descriptor.h"

enum tn_request_kind {
    TN_REQUEST_READ,
    TN_REQUEST_WRITE,
    TN_REQUEST_READV,
    TN_REQUEST_WRITEV,
    TN_REQUEST_RECV,
    TN_REQUEST_SEND,
    TN_REQUEST_RECVMSG,
    TN_REQUEST_SENDMSG,
    TN_REQUEST_ACCEPT,
    TN_REQUEST_CONNECT,
    TN_REQUEST_NOTHING /* one that a poller does not make */
};

/* By who asks, and all that is looked at where a call is made without a poller: */
struct tn_request {
    enum tn_request_kind kind;
    int fd, flags;
    void *data;   /* bytes, vectors, a message, an address */
    size_t n;     /* bytes or vectors */
    void *length; /* of an address that is told: accept alone */

    struct tn_waits waits;         /* state: it is over */
    int64_t result;                /* when it is over: or a negative errno value */
    struct tn_under_way under_way; /* as who closes finds it */
};

/* 0, and where it is; or an errno value: it is not made. */
static inline int tn_request_begin(struct tn_way *w, uint32_t generation, struct tn_request *rq,
                                   int (*perform)(void *poller, struct tn_request *rq, void **place), void *poller,
                                   void **place)
{
    *place = NULL;
    memset(&rq->waits, 0, sizeof rq->waits);
    struct tn_waitlist *l = tn_waitlist_lock(&w->waits);
    int rc = tn_way_generation(w) == generation ? perform(poller, rq, place) : ECANCELED;
    if (rc == 0) {
        rq->under_way = (struct tn_under_way){rq, *place};
        w->under_way = &rq->under_way;
    }
    tn_waitlist_unlock(l);
    return rc;
}

/* By the poller, once. Whom it wakes is claimed, and let go by the caller. */
static inline void tn_request_over(struct tn_request *rq, int64_t result, struct tn_claims *claims)
{
    struct tn_waitlist *l = tn_waitlist_lock(&rq->waits);
    rq->result = result;
    l->state = 1;
    tn_waitlist_grant_all(l, claims);
    tn_waitlist_unlock(l);
}

/* 0: it is over. Else why the fibre waits no more, and it is not. */
static inline int tn_request_wait(struct tn_request *rq, tn_time deadline, tn_token *token)
{
    struct tn_waitlist *l = tn_waitlist_lock(&rq->waits);
    int rc = 0;
    if (l->state == 0) {
        struct tn_node node;
        tn_waitlist_enter(l, &node);
        tn_waitlist_unlock(l);
        rc = tn_waitlist_wait(l, &node, "descriptor", deadline, token);
        if (rc == 0)
            return 0;
        rc = l->state == 0 ? rc : 0;
    }
    tn_waitlist_unlock(l);
    return rc;
}

/* It is over. True: the way was closed meanwhile, and what is under way there is somebody else's. */
static inline bool tn_request_end(struct tn_way *w, uint32_t generation)
{
    struct tn_waitlist *l = tn_waitlist_lock(&w->waits);
    bool closed = tn_way_generation(w) != generation;
    if (!closed)
        w->under_way = NULL;
    tn_waitlist_unlock(l);
    return closed;
}

/* How the poller is asked. */
struct tn_performs {
    int (*perform)(void *poller, struct tn_request *rq, void **place);
    void (*withdraw)(void *place, const struct tn_request *rq);
    tn_time (*again)(void); /* until when who has withdrawn it waits before it does so again */
    void *poller;
};

/* The fibre waits no more, but until it is over: the request and its buffer are here. A function of its own, as others wait in fewer
 * lines of their stacks then. */
static __attribute__((noinline, unused)) void tn_request_withdraw_(struct tn_request *rq, void *place,
                                                                   const struct tn_performs *by)
{
    bool masked = tn_cancel_mask(true);
    do
        by->withdraw(place, rq);
    while (tn_request_wait(rq, by->again(), NULL) != 0);
    tn_cancel_mask(masked);
}

/* What the call has returned; or, negative, an errno value: -EAGAIN, the poller does not make it. */
static inline int64_t tn_request_do(struct tn_way *w, uint32_t generation, struct tn_request *rq, tn_time deadline,
                                    tn_token *token, const struct tn_performs *by)
{
    for (;;) {
        void *place;
        int rc = tn_request_begin(w, generation, rq, by->perform, by->poller, &place);
        if (rc != 0)
            return rc == ECANCELED ? -rc : -EAGAIN;
        rc = tn_request_wait(rq, deadline, token);
        if (rc != 0)
            tn_request_withdraw_(rq, place, by);
        bool closed = tn_request_end(w, generation);
        if (rq->result != -ECANCELED && rq->result != -EINTR)
            return rq->result;
        if (closed || rc != 0) /* else its worker has left, say */
            return closed ? -ECANCELED : -rc;
    }
}

#endif
