/* SPDX-License-Identifier: MIT
 *
 * What the other values of the knobs add to a local queue: before, after and around the plain ready() and next() of
 * local.h. A worker comes here if one of them is chosen (choices.h, WAY_MORE), and for none pays otherwise.
 */
#ifndef TN_PARTS_MORE_H
#define TN_PARTS_MORE_H

#include "local.h"
#include "pool.h"
#include "request.h"
#include "resize.h"

enum { BEYOND_EVERY = 4 };

/* ---- ready ---- */

static __attribute__((noinline)) int more_push(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    return local_push(me, f, why, true);
}

static void more_pool(struct tn_worker *me, struct tn_fibre *f)
{
    pool_put(me->cluster->sched, f);
    TN_COUNT_ADD(me, LOCAL_POOLED, 1);
}

/* The queue is full. Only a spawn may be refused. */
static __attribute__((noinline, cold)) int more_full(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    struct local_worker *l = local_of(me);
    int64_t full = KNOB(me->cluster, full);
    if (full == FULL_REFUSE && why == TN_SPAWNED)
        return EAGAIN;
    if (full == FULL_GLOBAL) {
        more_pool(me, f);
        return 0;
    }
    if (full == FULL_GROW && local_grow(l)) {
        TN_COUNT_ADD(me, LOCAL_GROWN, 1);
        return more_push(me, f, why);
    }
    if (full == FULL_CHAIN && chain_push(me, f))
        return 0;
    local_overflow(me, f);
    return 0;
}

/* Where a woken fibre belongs; NULL: with its waker. */
static struct tn_worker *more_home(struct tn_fibre *f)
{
    struct tn_worker *w = KNOB(f->cluster, place) == PLACE_OWNER ? *tn_fibre_word(f) : NULL;
    if (w == NULL && KNOB(f->cluster, place) != PLACE_WAKER && f->home != NULL && f->home->cluster == f->cluster)
        w = f->home;
    return w;
}

static __attribute__((noinline)) int more_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    struct tn_cluster *cl = f->cluster;
    (void)cl; /* where the build fixes all */
    if (KNOB(cl, place) == PLACE_OWNER && (why == TN_SPAWNED || why == TN_MIGRATED))
        *tn_fibre_word(f) = me;
    struct tn_worker *home = why == TN_WOKEN ? more_home(f) : NULL;
    if (home != NULL && home != me) {
        tn_locked_queue_push_back(&local_of(home)->inbox, &f->link);
        return TN_FOR(home->index);
    }
    if (me == NULL || why == TN_YIELDED || why == TN_YIELDED_HARD)
        return local_ready(me, f, why);
    if (why == TN_SPAWNED && KNOB(cl, spawn) == SPAWN_CHILD)
        return TN_RUN_NOW;
    if (why == TN_SPAWNED && KNOB(cl, chance) != 0 && (int64_t)(tn_random(me) % 1000) < KNOB(cl, chance)) {
        more_pool(me, f);
        return 0;
    }
    int placed = more_push(me, f, why);
    if (placed == TN_HELD && (why == TN_SPAWNED || why == TN_WOKEN))
        local_of(me)->fresh = true;
    return KNOB(cl, request) != REQUEST_NONE && placed != EAGAIN ? request_make(me, placed) : placed;
}

/* ---- next ---- */

/* slot: the newest one first, so often in a row, then the oldest. NULL: as the module would choose. The newest of fifo is
 * the last one in the private part, if it has come since the last choice: while anybody wants work there is none. lifo
 * takes the newest anyway, and must be told when to take the oldest; hybrid must be told either. */
static struct tn_fibre *more_slot(struct tn_worker *me)
{
    struct local_worker *l = local_of(me);
    const int64_t most = KNOB(me->cluster, slot);
    /* Of lifo there is a newest one where any waits. relaxed: a hint; what thieves take meanwhile ends a row early, or late */
    bool newest = LOCAL_LIFO ? OPEN(length)(l->open) != 0 || atomic_load_explicit(&l->held, memory_order_relaxed) != 0
                             : l->fresh;
    bool bound = newest && l->in_row >= most;
    void *f = NULL;
    l->fresh = false;
    l->in_row = newest && !bound ? l->in_row + 1 : 0;
    TN_COUNT_ADD(me, LOCAL_BOUND, bound);
    if (bound && !LOCAL_FIFO && OPEN(steal)(l->open, 1, &f) == 0) /* the owner as one thief among others */
        f = NULL;
    if (f == NULL && newest && !(bound ? LOCAL_FIFO : LOCAL_LIFO)) {
        uint32_t turn = tn_biased_enter(&l->lock);
        if (l->head != l->tail)
            f = l->slot[(bound ? l->head++ : --l->tail) & (l->limit - 1)];
        local_publish(l);
        tn_biased_leave(&l->lock, turn);
    }
    TN_COUNT_ADD(me, LOCAL_SLOT, f != NULL && !bound);
    return f;
}

/* What lies beyond the own queue: chained ones, the global one. */
static __attribute__((noinline)) struct tn_fibre *more_beyond(struct tn_worker *me)
{
    struct local_worker *l = local_of(me);
    void *got[STEAL_MAX];
    size_t n = chain_steal(l, STEAL_MAX, got, 0);
    for (size_t i = 1; i < n; i++)
        if (!OPEN(push)(l->open, got[i]))
            tn_locked_queue_push_back(&l->inbox, got[i]);
    if (n > 1)
        tn_notify(me->cluster); /* what it took was nowhere for a moment */
    return n != 0 ? got[0] : tn_fibre_of(pool_pop(me->cluster->sched, l->fairs++));
}

static __attribute__((noinline)) struct tn_fibre *more_next(struct tn_worker *me, bool fair)
{
    struct tn_fibre *f = NULL;
    int64_t request = KNOB(me->cluster, request);
    if (request == REQUEST_ONCE || request == REQUEST_STICKY)
        request_serve(me);
    if (fair && ++local_of(me)->fairs % BEYOND_EVERY == 0)
        f = more_beyond(me);
    if (f == NULL && !fair && KNOB(me->cluster, slot) != 0)
        f = more_slot(me);
    if (f == NULL)
        f = local_next(me, fair);
    return f != NULL ? f : more_beyond(me);
}

#endif
