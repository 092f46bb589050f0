/* SPDX-License-Identifier: MIT
 *
 * skeleton: the smallest correct module, one locked queue for the cluster. Copy this directory to begin your own;
 * docs/modules.md walks through it.
 */
#include "scheduler.h"
#include "queues/locked.h"

static int skeleton_init(struct tn_cluster *cl)
{
    tn_locked_queue_init(cl->sched);
    return 0;
}

/* Wherever it comes from, it goes to the end: whoever yields lets all others run first. */
static int skeleton_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    (void)me, (void)why;
    tn_locked_queue_push_back(f->cluster->sched, &f->link);
    return 0;
}

static struct tn_fibre *skeleton_next(struct tn_worker *me, bool fair)
{
    (void)fair;
    return tn_fibre_of(tn_locked_queue_pop_front(me->cluster->sched));
}

static enum tn_work skeleton_may_have_work(struct tn_worker *me)
{
    return tn_locked_queue_length(me->cluster->sched) != 0 ? TN_WORK_SOME : TN_WORK_NONE;
}

static size_t skeleton_queued(struct tn_cluster *cl, struct tn_worker *w)
{
    return w == NULL ? tn_locked_queue_length(cl->sched) : 0;
}

static void skeleton_drain(struct tn_cluster *cl, struct tn_list *out)
{
    tn_locked_queue_pop_n(cl->sched, SIZE_MAX, out);
}

TN_SCHEDULER(skeleton) = {
    .name = "skeleton",
    .summary = "one locked queue, oldest first: the smallest correct module",
    .cluster_size = sizeof(struct tn_locked_queue),
    .cluster_init = skeleton_init,
    .ready = skeleton_ready,
    .next = skeleton_next,
    .may_have_work = skeleton_may_have_work,
    .queued = skeleton_queued,
    .drain = skeleton_drain,
};
