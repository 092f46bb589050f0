/* SPDX-License-Identifier: MIT
 *
 * layout=global: one queue for the whole cluster (003 §4.3 starts from it). fifo: the FAD+CAS ring or what pool.h has in
 * its place, and behind it a locked list for what does not fit in; lifo: a locked stack. Every yield goes to the cluster's yield queue, which
 * comes before the main one every YIELD_EVERY-th time, and every other time that next() is asked to be fair. With
 * full=refuse there is room for `capacity` fibres that have not yet begun (admit.h), five times that with five rings.
 *
 * Order of fifo: what lies in the list is newer than all in the ring, because nothing enters the ring while the
 * list holds anything (up to the races of several workers that look at the same time).
 */
#ifndef TN_PARTS_GLOBAL_H
#define TN_PARTS_GLOBAL_H

#include "local.h"
#include "pool.h"

enum { YIELD_EVERY = 8 };

static __attribute__((noinline)) int global_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    struct local_cluster *c = f->cluster->sched;
    size_t capacity = (size_t)KNOB(f->cluster, capacity);
    if (why == TN_SPAWNED && me != NULL && KNOB(f->cluster, spawn) == SPAWN_CHILD)
        return TN_RUN_NOW;
    if (KNOB(f->cluster, full) == FULL_REFUSE &&
        !tn_admit(&c->admit, f, why, capacity * (c->rings > 1 ? c->rings : 1)))
        return EAGAIN;
    if (why == TN_YIELDED || why == TN_YIELDED_HARD) {
        tn_locked_queue_push_back(&c->yields, &f->link);
        return 0;
    }
    bool list = c->rings == 0; /* all of it */
    bool room = list ? tn_locked_queue_length(&c->shared) < capacity
                     : tn_locked_queue_length(&c->shared) == 0 && pool_push(c, f);
    if (LOCAL_LIFO)
        tn_locked_queue_push_front(&c->shared, &f->link);
    else if (list || !room)
        tn_locked_queue_push_back(&c->shared, &f->link);
    if (!room && me != NULL)
        TN_COUNT_ADD(me, LOCAL_OVERFLOW, 1);
    return 0;
}

static __attribute__((noinline)) struct tn_fibre *global_next(struct tn_worker *me, bool fair)
{
    struct local_cluster *c = me->cluster->sched;
    struct local_worker *l = local_of(me);
    struct tn_link *f = NULL;
    if ((fair && (l->was_fair = !l->was_fair)) || ++l->ticks % YIELD_EVERY == 0)
        f = tn_locked_queue_pop_front(&c->yields);
    if (f == NULL)
        f = pool_pop(c, l->ticks);
    if (f == NULL)
        f = tn_locked_queue_pop_front(&c->shared);
    if (f == NULL)
        f = tn_locked_queue_pop_front(&c->yields);
    if (KNOB(me->cluster, full) == FULL_REFUSE)
        tn_admit_begins(&c->admit, tn_fibre_of(f));
    return tn_fibre_of(f);
}

static enum tn_work global_may_have_work(struct tn_worker *me)
{
    struct local_cluster *c = me->cluster->sched;
    return pool_length(c) != 0 || tn_locked_queue_length(&c->shared) != 0 || tn_locked_queue_length(&c->yields) != 0
               ? TN_WORK_SOME
               : TN_WORK_NONE;
}

#endif
