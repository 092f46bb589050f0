/* SPDX-License-Identifier: MIT
 *
 * plainlifo: a stack without more thought. What yields is put back on top, and so is the next to run: two
 * fibres that wait for a third by yielding starve it for ever (003 §4.4.4). Kept outside the tree of modules
 * on purpose: it serves the tests as a module given by its directory (-Dschedulers=tests/modules/plainlifo),
 * as a plug-in (compiled with -DTN_PLUGIN), and as the bad example.
 */
#include "scheduler.h"
#include "queues/locked.h"

static int plainlifo_init(struct tn_cluster *cl)
{
    tn_locked_queue_init(cl->sched);
    return 0;
}

static int plainlifo_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    (void)me, (void)why;
    tn_locked_queue_push_front(f->cluster->sched, &f->link);
    return 0;
}

static struct tn_fibre *plainlifo_next(struct tn_worker *me, bool hard)
{
    (void)hard;
    return tn_fibre_of(tn_locked_queue_pop_front(me->cluster->sched));
}

static enum tn_work plainlifo_may_have_work(struct tn_worker *me)
{
    return tn_locked_queue_length(me->cluster->sched) != 0 ? TN_WORK_SOME : TN_WORK_NONE;
}

static void plainlifo_drain(struct tn_cluster *cl, struct tn_list *out)
{
    tn_locked_queue_pop_n(cl->sched, SIZE_MAX, out);
}

TN_SCHEDULER(plainlifo) = {
    .name = "plainlifo",
    .summary = "one locked stack, yields included: starves",
    .cluster_size = sizeof(struct tn_locked_queue),
    .cluster_init = plainlifo_init,
    .ready = plainlifo_ready,
    .next = plainlifo_next,
    .may_have_work = plainlifo_may_have_work,
    .drain = plainlifo_drain,
};
