/* SPDX-License-Identifier: MIT
 *
 * How fibres wait for a descriptor, and how events reach them (000 §3.4.2): for each direction a turn, which one of those
 * that call has, and a binary semaphore, on which that one waits. Nothing in here calls the operating system or switches, so
 * that the explorer takes this file as it is.
 *
 *   take    (who would call)    its turn has come
 *   begin, called (whose turn it is)  around a call; would it block: wait, and begin again
 *   pass    (whose turn it is)  who waits for it next has it
 *   try, done                   take and begin, called and pass, in one step each, where nobody is to wait
 *   event   (a poller)          all that wait are woken; if none of them is to use it, the semaphore keeps it: once
 *   end     (who closes)        the next generation; all that wait are told ECANCELED
 *   await   (who closes)        whose turn it was is in no call: only now the number may be somebody else's
 *
 * Proof. The kernel tells each change from not ready to ready once, behind that change (edge-triggered). 1. No event is
 * lost: who was told by a call that it would block waits only if the semaphore is down, looked at under the lock. An event
 * behind that call either finds it in the ring, or leaves the semaphore up for it. 2. begin() puts it down before a call,
 * which sees whatever that event told of. 3. Events that tell nothing new cost a call in vain, and never more than one,
 * however many they were: the semaphore is binary. 4. An event of a former generation does nothing, since the generation is
 * looked at under the lock, and so is it by who waits: so nobody waits for what is closed, nor is woken on behalf of the
 * number's former owner. 5. Who only wants to know (tn_select) is woken, but leaves the event to who uses it. 6. No call
 * reaches the number's next owner: begin() looks at the generation and says that there is a call in one step under the lock,
 * so who ends the generation either has it refused, or sees it and waits for its end. 7. A turn is of one generation: end()
 * takes it from whoever has it, and who has lost it that way changes nothing in here any more, since all that it does looks
 * at the generation first. So the number's next owner waits for nobody who has only been told.
 */
#ifndef TN_IO_DESCRIPTOR_H
#define TN_IO_DESCRIPTOR_H

#include "sync/waitlist.h"

enum { TN_WAY_IN, TN_WAY_OUT, TN_WAYS };

/* What a node wants of an event. */
enum { TN_WAY_KNOWS, TN_WAY_USES };

/* What its poller does for whose turn it is (request.h), and where. */
struct tn_under_way {
    const struct tn_request *request;
    void *place;
};

struct tn_way {
    struct tn_waits waits;                /* first, as select.h asks; state: the semaphore */
    struct tn_node *turns;                /* under the lock: who waits for its turn */
    const struct tn_under_way *under_way; /* written under the lock, by whose turn it is; NULL: nothing */
    bool taken;                           /* under the lock: it is somebody's */
    _Atomic(bool) calls; /* set under the lock: whose turn it is makes a call, in whatever generation that was */
    _Atomic(bool) ended; /* under the lock: no edge may follow any more (the peer is gone, an error) */
    _Atomic(uint32_t) generation; /* written under the lock */
    _Atomic(uint32_t)
        dry; /* whose turn it is: in generation dry - 1 the last call has taken all there was; 0: in none */
};

static inline uint32_t tn_way_generation(const struct tn_way *w)
{
    return atomic_load_explicit(&w->generation, memory_order_relaxed); /* relaxed: looked at again under the lock */
}

/* By who looks behind it whether the number is still what it was taken for. */
static inline uint32_t tn_way_generation_first(const struct tn_way *w)
{
    return atomic_load_explicit(&w->generation, memory_order_acquire); /* GN0 acquire */
}

/* By who takes no turn, between its calls. */
static inline bool tn_way_closed(struct tn_way *w, uint32_t generation)
{
    struct tn_waitlist *l = tn_waitlist_lock(&w->waits);
    bool closed = tn_way_generation(w) != generation;
    tn_waitlist_unlock(l);
    return closed;
}

/* 0: it is the caller's turn. ECANCELED also where it is closed, or was since `generation`. */
static inline int tn_way_take(struct tn_way *w, uint32_t generation, tn_time deadline, tn_token *token)
{
    struct tn_waitlist *l = tn_waitlist_lock(&w->waits);
    if (tn_way_generation(w) != generation || !w->taken) {
        int rc = tn_way_generation(w) != generation ? ECANCELED : 0;
        w->taken |= rc == 0;
        tn_waitlist_unlock(l);
        return rc;
    }
    struct tn_node node;
    tn_node_open(&node);
    tn_waitlist_put(&w->turns, &node);
    tn_waitlist_unlock(l);
    int rc = tn_waitlist_wait(l, &node, "descriptor", deadline, token);
    if (rc == 0)
        return node.told;
    tn_waitlist_unlock(l);
    return rc;
}

/* With the lock held. */
static inline void tn_way_pass_(struct tn_way *w, uint32_t generation, struct tn_claims *claims)
{
    if (tn_way_generation(w) != generation)
        return;
    w->taken = false;
    while (w->turns != NULL && !w->taken)
        w->taken = tn_waitlist_grant(w->turns, claims);
}

/* Whom it wakes is claimed, and let go by the caller. */
static inline void tn_way_pass(struct tn_way *w, uint32_t generation, struct tn_claims *claims)
{
    struct tn_waitlist *l = tn_waitlist_lock(&w->waits);
    tn_way_pass_(w, generation, claims);
    tn_waitlist_unlock(l);
}

/* With the lock held. */
static inline bool tn_way_begin_(struct tn_way *w, uint32_t generation)
{
    if (tn_way_generation(w) != generation)
        return false;
    tn_waitlist_of(&w->waits)->state = 0;
    atomic_store_explicit(&w->calls, true, memory_order_relaxed); /* relaxed: under the lock */
    return true;
}

/* Before a call: false, it is closed. What was told before is told: the call sees it. */
static inline bool tn_way_begin(struct tn_way *w, uint32_t generation)
{
    struct tn_waitlist *l = tn_waitlist_lock(&w->waits);
    bool open = tn_way_begin_(w, generation);
    tn_waitlist_unlock(l);
    return open;
}

static inline void tn_way_called(struct tn_way *w)
{
    atomic_store_explicit(&w->calls, false, memory_order_release); /* CA0 release: the call was before it */
}

/* False: neither was done, and it is to be taken. */
static inline bool tn_way_try(struct tn_way *w, uint32_t generation)
{
    struct tn_waitlist *l = tn_waitlist_lock(&w->waits);
    bool mine = !w->taken && tn_way_begin_(w, generation);
    w->taken |= mine;
    tn_waitlist_unlock(l);
    return mine;
}

/* By who has begun. Whom it wakes is claimed, and let go by the caller. */
static inline void tn_way_done(struct tn_way *w, uint32_t generation, struct tn_claims *claims)
{
    struct tn_waitlist *l = tn_waitlist_lock(&w->waits);
    tn_way_called(w);
    tn_way_pass_(w, generation, claims);
    tn_waitlist_unlock(l);
}

/* A hint: may no edge follow any more? */
static inline bool tn_way_ended(const struct tn_way *w)
{
    return atomic_load_explicit(&w->ended,
                                memory_order_relaxed); /* relaxed: who waits for an event finds it behind that */
}

/* Does the next call wait for an edge before it is made? A hint, but for whose turn it is, and under the lock where it is
 * nobody's. */
static inline bool tn_way_dry(const struct tn_way *w, uint32_t generation)
{
    /* relaxed: see tn_way_wait; who has lost its turn may write it */
    return atomic_load_explicit(&w->dry, memory_order_relaxed) == (uint32_t)(generation + 1) &&
           generation != UINT32_MAX && !tn_way_ended(w);
}

/* By who knows that a call would block. `mine`: it is the caller's turn, and has just been told so; else it is taken too, if all has
 * been taken that there was (dry). It stays the caller's where the wait has failed. 0: call. EBUSY: it is somebody else's
 * turn, or something may be there, so it is to be taken. ECANCELED also where it is closed, or was since `generation`. */
static inline int tn_way_wait(struct tn_way *w, uint32_t generation, bool mine, tn_time deadline, tn_token *token)
{
    struct tn_waitlist *l = tn_waitlist_lock(&w->waits);
    bool open = tn_way_generation(w) == generation,
         busy = open && !mine &&
                (w->taken || !tn_way_dry(w, generation)); /* it may be long ago that the caller looked */
    if (open && !mine && !busy)
        w->taken = true;
    if (!open || busy || l->state != 0) {
        l->state = open && !busy ? 0 : l->state; /* else it is the next owner's, or whose turn it is */
        tn_waitlist_unlock(l);
        return !open ? ECANCELED : busy ? EBUSY : 0;
    }
    struct tn_node node; /* not cleared, which would cost as much as all the rest (tn_node_fresh) */
    node.wants = TN_WAY_USES;
    tn_waitlist_enter(l, &node);
    tn_waitlist_unlock(l);
    int rc = tn_waitlist_wait(l, &node, "descriptor", deadline, token);
    if (rc == 0)
        return node.told;
    tn_waitlist_unlock(l);
    return rc;
}

/* Whom it wakes is claimed, and let go by the caller. */
static inline void tn_way_event(struct tn_way *w, uint32_t generation, bool ends, struct tn_claims *claims)
{
    struct tn_waitlist *l = tn_waitlist_lock(&w->waits);
    if (tn_way_generation(w) == generation) {
        bool used = false;
        if (ends)
            atomic_store_explicit(&w->ended, true, memory_order_relaxed); /* relaxed: under the lock */
        while (l->ring != NULL) {
            bool uses = l->ring->wants == TN_WAY_USES;
            used |= tn_waitlist_grant(l->ring, claims) && uses;
        }
        l->state = !used;
    }
    tn_waitlist_unlock(l);
}

/* What is under way is to be withdrawn by the caller. */
static inline struct tn_under_way tn_way_end(struct tn_way *w, struct tn_claims *claims)
{
    struct tn_waitlist *l = tn_waitlist_lock(&w->waits);
    atomic_store_explicit(&w->generation, tn_way_generation(w) + 1,
                          memory_order_release);                   /* GN0 release: who ends it said so */
    atomic_store_explicit(&w->ended, false, memory_order_relaxed); /* relaxed: so too */
    while (l->ring != NULL) {
        l->ring->told = ECANCELED;
        tn_waitlist_grant(l->ring, claims);
    }
    while (w->turns != NULL) {
        w->turns->told = ECANCELED;
        tn_waitlist_grant(w->turns, claims);
    }
    l->state = 0;
    w->taken = false;
    struct tn_under_way under_way = {NULL, NULL};
    if (w->under_way != NULL)
        under_way = *w->under_way;
    w->under_way = NULL;
    tn_waitlist_unlock(l);
    return under_way;
}

/* Behind it, before the number is given back. */
static inline void tn_way_await(struct tn_way *w)
{
    unsigned spins = 0;
    while (atomic_load_explicit(&w->calls, memory_order_acquire)) /* CA0 acquire */
        tn_spin_wait(&spins);
}

/* None of those that waited, or had the turn, will run again. */
static inline void tn_way_forget(struct tn_way *w)
{
    struct tn_waitlist *l = tn_waitlist_lock(&w->waits);
    l->ring = w->turns = NULL;
    l->state = 0;
    w->taken = false;
    w->under_way = NULL;
    atomic_store_explicit(&w->ended, false, memory_order_relaxed); /* relaxed, both: under the lock */
    atomic_store_explicit(&w->dry, 0, memory_order_relaxed);
    tn_waitlist_unlock(l);
}

static inline void tn_way_dries(struct tn_way *w, uint32_t generation, bool dry)
{
    /* relaxed: whose turn it is alone reads it, and what it says is of a generation */
    atomic_store_explicit(&w->dry, dry ? generation + 1 : 0, memory_order_relaxed);
}

#endif
