/* SPDX-License-Identifier: MIT
 *
 * What thieves do: how much they take, from whom (003 §4.4.1, §7.1.1; 000 §3.2.2), and what they leave alone. Part of
 * local.h's queues; the owner's side is there.
 */
#ifndef TN_PARTS_STEAL_H
#define TN_PARTS_STEAL_H

#include "local.h"
#include "pool.h"
#include "request.h"
#include "resize.h"

#ifndef LEAST_RARELY /* the explorer has it smaller */
#define LEAST_RARELY 16
#endif

/* How many fibres lie with a worker. A hint. */
static inline size_t local_length(struct tn_worker *w)
{
    struct local_worker *l = local_of(w);
    return OPEN(length)(local_shown(l)) + tn_locked_queue_length(&l->inbox) + chain_length(l) +
           atomic_load_explicit(&l->held, memory_order_relaxed); /* relaxed: a hint */
}

/* Who steals a few makes their owner steal soon: rather look for another victim. But never to take them would starve
 * what lies behind a hog, so every LEAST_RARELY-th such victim is robbed after all. */
static bool local_leaves_alone(struct tn_worker *me, size_t length)
{
    if (length == 0 || length >= (size_t)KNOB(me->cluster, least) || ++local_of(me)->passed % LEAST_RARELY == 0)
        return false;
    TN_COUNT_ADD(me, LOCAL_LEFT, 1);
    return true;
}

/* place=owner: what has been stolen stays its former owner's, or becomes the thief's (000 §3.2.2). */
static void local_own(struct tn_worker *me, struct tn_fibre *f)
{
    *tn_fibre_word(f) = me;
}

/* Has the victim reached no scheduling point for HOG_NS? All thieves share one observation. */
static bool local_hogged(struct local_worker *v)
{
    uint32_t seq = atomic_load_explicit(&v->lock.seq, memory_order_relaxed); /* relaxed: compared only */
    return tn_stuck_at(&v->seen, seq, HOG_NS);
}

/* Take what a hog holds: the older half of its private part, or of its soft yields. */
static __attribute__((noinline, cold)) size_t local_take_held(struct tn_worker *me, struct local_worker *v,
                                                              size_t max, void *out[])
{
    size_t n = 0;
    if (!tn_biased_revoke(&v->lock, PATIENCE))
        return 0;
    uint32_t half = (v->tail - v->head + 1) / 2;
    while (n < half && n < max)
        out[n++] = v->slot[v->head++ & (v->limit - 1)];
    size_t soft = (v->soft.count + 1) / 2;
    while (half == 0 && n < soft && n < max)
        out[n++] = tn_list_pop_front(&v->soft);
    local_publish(v);
    tn_biased_restore(&v->lock);
    if (n != 0)
        atomic_store_explicit(&v->caught, CAUGHT, memory_order_relaxed); /* relaxed: a hint */
    TN_COUNT_ADD(me, LOCAL_REVOKED, n != 0);
    return n;
}

static unsigned local_steal(struct tn_worker *me, struct tn_worker *victim)
{
    struct local_worker *l = local_of(me), *v = local_of(victim);
    void *got[STEAL_MAX];
    size_t max = KNOB(me->cluster, steal) == STEAL_ONE ? 1 : STEAL_MAX;
    int64_t sticky = KNOB(me->cluster, place) == PLACE_OWNER ? KNOB(me->cluster, sticky) : 0;
    size_t length = KNOB(me->cluster, least) > 1 || sticky != 0 ? local_length(victim) : 0;
    bool own = sticky != 0 && length >= (size_t)sticky;
    if (KNOB(me->cluster, least) > 1 && local_leaves_alone(me, length))
        return 0;
    local_open *open = local_shown(v);
    size_t n = OPEN(length)(open) != 0 ? OPEN(steal)(open, max, got) : 0;
    if (n == 0)
        n = chain_steal(v, max, got, (uint32_t)me->index);
    if (n == 0) {
        struct tn_list some = {0};
        tn_locked_queue_pop_n(&v->inbox, max == 1 ? 1 : (tn_locked_queue_length(&v->inbox) + 1) / 2, &some);
        unsigned count = (unsigned)some.count;
        for (struct tn_link *f = own ? some.head : NULL; f != NULL; f = f->next)
            local_own(me, tn_fibre_of(f));
        tn_locked_queue_push_list(&l->inbox, &some);
        if (count != 0) {
            TN_COUNT_ADD(me, LOCAL_NEAR, l->near.nearest);
            return count;
        }
    }
    uint32_t held = atomic_load_explicit(&v->held, memory_order_relaxed); /* relaxed: a hint */
    if (n == 0 && held != 0) {
        if (local_hogged(v))
            n = local_take_held(me, v, max, got);
        else if (held > 1)
            atomic_store_explicit(&v->asked, 1, memory_order_relaxed); /* relaxed: a hint */
    }
    for (size_t i = 0; i < n; i++) {
        if (own)
            local_own(me, got[i]);
        if (!OPEN(push)(l->open, got[i]))
            tn_locked_queue_push_back(&l->inbox, got[i]);
    }
    TN_COUNT_ADD(me, LOCAL_NEAR, n != 0 && l->near.nearest);
    return (unsigned)n;
}

/* ---- victims ---- */

static struct tn_worker *local_order(struct tn_worker *me, uint32_t used, unsigned attempt)
{
    if (KNOB(me->cluster, victims) == VICTIMS_NEAREST)
        return tn_victim_nearest(me, used, attempt, (unsigned)KNOB(me->cluster, nearest));
    if (KNOB(me->cluster, victims) == VICTIMS_BUSY)
        return tn_victim_busy(me, used, attempt, &local_of(me)->walk);
    if (KNOB(me->cluster, victims) == VICTIMS_LISTED)
        return tn_victim_listed(me, used, attempt, &local_of(me)->walk);
    if (KNOB(me->cluster, victims) == VICTIMS_BUSIEST)
        return tn_victim_busiest(me, used, attempt, &local_of(me)->start, local_length);
    if (KNOB(me->cluster, victims) == VICTIMS_TOPOLOGY)
        return tn_victim_near(me, used, attempt, &local_of(me)->near);
    return tn_victim_random(me, used, attempt, &local_of(me)->start);
}

/* Who has asked comes before the usual ones. Of those, who waits for tickets tries one at random: what nobody has asked
 * for, behind a hog, must be found as well. */
static struct tn_worker *local_victim(struct tn_worker *me, unsigned attempt)
{
    struct local_worker *l = local_of(me);
    uint32_t used = atomic_load_explicit(&me->cluster->used, memory_order_acquire); /* U0 acquire */
    if (KNOB(me->cluster, request) == REQUEST_NONE || KNOB(me->cluster, request) == REQUEST_ONCE)
        return local_order(me, used, attempt);
    if (attempt == 0) {
        struct tn_worker *asks = request_of(me);
        l->shift = asks != NULL;
        if (asks != NULL)
            return asks;
    }
    attempt -= l->shift;
    if (KNOB(me->cluster, request) == REQUEST_TICKET)
        return attempt == 0 ? tn_victim_random(me, used, 0, &l->start) : NULL;
    return local_order(me, used, attempt);
}

static enum tn_work local_may_have_work(struct tn_worker *me)
{
    struct local_cluster *c = me->cluster->sched;
    if (tn_locked_queue_length(&c->shared) != 0 || tn_locked_queue_length(&c->yields) != 0 || pool_length(c) != 0)
        return TN_WORK_SOME;
    enum tn_work work = TN_WORK_NONE;
    uint32_t used = atomic_load_explicit(&me->cluster->used, memory_order_acquire); /* U0 acquire */
    for (uint32_t i = 0; i < used; i++) {
        struct local_worker *v = local_of(me->cluster->workers[i]);
        if (OPEN(length)(local_shown(v)) != 0 || tn_locked_queue_length(&v->inbox) != 0 || chain_length(v) != 0)
            return TN_WORK_SOME;
        if (atomic_load_explicit(&v->held, memory_order_relaxed) != 0) { /* relaxed: behind the heavy fence */
            if (i == me->index)
                return TN_WORK_SOME;
            work = TN_WORK_HELD;
        }
    }
    return work;
}

#endif
