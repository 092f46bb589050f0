/* SPDX-License-Identifier: MIT
 *
 * faulty: one locked queue, with one of two faults (FAULT), which conformance must find.
 */
#include "scheduler.h"
#include "queues/locked.h"

enum { LOOKS_AWAY = 1, KEEPS_SOME };

static int faulty_init(struct tn_cluster *cl)
{
    tn_locked_queue_init(cl->sched);
    return 0;
}

static int faulty_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    (void)me, (void)why;
    tn_locked_queue_push_back(f->cluster->sched, &f->link);
    return 0;
}

static struct tn_fibre *faulty_next(struct tn_worker *me, bool fair)
{
    (void)fair;
    return tn_fibre_of(tn_locked_queue_pop_front(me->cluster->sched));
}

static enum tn_work faulty_may_have_work(struct tn_worker *me)
{
    bool some = tn_locked_queue_length(me->cluster->sched) != 0;
    return some && FAULT != LOOKS_AWAY ? TN_WORK_SOME : TN_WORK_NONE;
}

static void faulty_drain(struct tn_cluster *cl, struct tn_list *out)
{
    tn_locked_queue_pop_n(cl->sched, FAULT == KEEPS_SOME ? 1 : SIZE_MAX, out);
}

TN_SCHEDULER(faulty) = {
    .name = "faulty",
    .summary = "for the conformance suite, which must refuse it",
    .cluster_size = sizeof(struct tn_locked_queue),
    .cluster_init = faulty_init,
    .ready = faulty_ready,
    .next = faulty_next,
    .may_have_work = faulty_may_have_work,
    .drain = faulty_drain,
};
