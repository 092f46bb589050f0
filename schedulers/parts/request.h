/* SPDX-License-Identifier: MIT
 *
 * Work-requesting: who has too much tells others, where thieves look blindly (003 §7.1.1).
 *
 * once, sticky  Every REQUEST_EVERY-th fibre that a worker with REQUEST_FROM of them makes ready, it names itself to another
 *               one drawn at random; that one steals from it at its next scheduling point, whatever it has itself. Sticky: and
 *               goes on to try it first, until another worker names itself there.
 * ticket        A worker whose queue holds two or more while others are hungry publishes a ticket with its name in a
 *               lock-free ring, one at a time; who looks for work takes a ticket and steals from whom it names. While nobody
 *               is hungry that costs the busy worker no store.
 *
 * At most one ticket of a worker is in the ring: `ticket` is set by the owner alone, before it pushes, and cleared by who
 * has taken the ticket out. So the ring, with a place for each worker, is never full. A ticket is a hint: its owner may
 * have nothing left, and who has asked for nothing is found by the order of victims.
 */
#ifndef TN_PARTS_REQUEST_H
#define TN_PARTS_REQUEST_H

#include "local.h"

enum { REQUEST_EVERY = 16, REQUEST_FROM = 10, TICKET_FROM = 2 };
#define REQUEST_NEW UINT32_C(0x80000000)

static size_t local_length(struct tn_worker *w);
static unsigned local_steal(struct tn_worker *me, struct tn_worker *victim);

/* ---- tickets ---- */

static inline void ticket_publish(struct tn_mpmc_ring *tickets, struct tn_worker *me, _Atomic(uint32_t) *out)
{
    atomic_store_explicit(out, 1, memory_order_relaxed); /* relaxed: the push orders it before the taker's store */
    bool room = tn_mpmc_push(tickets, me);
    assert(room);
    (void)room;
}

/* Whom the next ticket names; NULL: there is none. */
static inline struct tn_worker *ticket_take(struct tn_mpmc_ring *tickets)
{
    struct tn_worker *w = tn_mpmc_pop(tickets);
    if (w != NULL)
        atomic_store_explicit(&local_of(w)->ticket, 0,
                              memory_order_relaxed); /* relaxed: seen late, it costs a ticket */
    return w;
}

/* ---- the busy one; after it has made a fibre ready, which went where `placed` says ---- */

static int request_make(struct tn_worker *me, int placed)
{
    struct local_worker *l = local_of(me);
    struct tn_cluster *cl = me->cluster;
    if (KNOB(cl, request) == REQUEST_TICKET) {
        if (tn_hungry(cl) && atomic_load_explicit(&l->ticket, memory_order_relaxed) == 0 && /* relaxed: a hint */
            local_length(me) >= TICKET_FROM) {
            ticket_publish(((struct local_cluster *)cl->sched)->tickets, me, &l->ticket);
            TN_COUNT_ADD(me, LOCAL_TICKET, 1);
        }
        return placed;
    }
    if (++l->pushes < REQUEST_EVERY || local_length(me) < REQUEST_FROM)
        return placed;
    uint32_t start, used = atomic_load_explicit(&cl->used, memory_order_acquire); /* U0 acquire */
    struct tn_worker *other = tn_victim_random(me, used, 0, &start);
    if (other == NULL)
        return placed;
    l->pushes = 0;
    /* relaxed: a hint */
    atomic_store_explicit(&local_of(other)->target, REQUEST_NEW | (me->index + 1), memory_order_relaxed);
    TN_COUNT_ADD(me, LOCAL_REQUEST, 1);
    return TN_FOR(other->index);
}

/* ---- the others ---- */

/* Has another worker named itself here? Then steal from it, before anything else. */
static void request_serve(struct tn_worker *me)
{
    struct local_worker *l = local_of(me);
    uint32_t target = atomic_load_explicit(&l->target, memory_order_relaxed); /* relaxed: a hint */
    if ((target & REQUEST_NEW) == 0)
        return;
    /* relaxed: one that comes just now takes the place of this one, or is lost with it, as one that is overridden */
    atomic_store_explicit(&l->target, KNOB(me->cluster, request) == REQUEST_STICKY ? target & ~REQUEST_NEW : 0,
                          memory_order_relaxed);
    if (local_steal(me, me->cluster->workers[(target & ~REQUEST_NEW) - 1]) != 0) {
        TN_COUNT_ADD(me, LOCAL_FORCED, 1);
        tn_notify(me->cluster); /* what it took was nowhere for a moment */
    }
}

/* Whom to try before the usual victims; NULL: nobody. */
static struct tn_worker *request_of(struct tn_worker *me)
{
    if (KNOB(me->cluster, request) == REQUEST_TICKET) {
        struct tn_worker *w = ticket_take(((struct local_cluster *)me->cluster->sched)->tickets);
        return w != me ? w : NULL;
    }
    uint32_t target = atomic_load_explicit(&local_of(me)->target, memory_order_relaxed); /* relaxed: a hint */
    return target != 0 ? me->cluster->workers[(target & ~REQUEST_NEW) - 1] : NULL;
}

static int request_init(struct tn_cluster *cl)
{
    struct local_cluster *c = cl->sched;
    size_t places = local_round((int64_t)cl->slots + 1);
    if (KNOB(cl, request) != REQUEST_TICKET)
        return 0;
    c->tickets = tn_sched_alloc(tn_mpmc_bytes(places));
    if (c->tickets == NULL)
        return ENOMEM;
    tn_mpmc_init(c->tickets, places);
    return 0;
}

static void request_fini(struct local_cluster *c)
{
    if (c->tickets != NULL)
        tn_sched_free(c->tickets, tn_mpmc_bytes(tn_mpmc_capacity(c->tickets)));
}

#endif
