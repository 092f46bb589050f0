/* SPDX-License-Identifier: MIT
 *
 * forgets: a module with a fault, for test_nodeadlock. It runs the first fibre that it is given; any that is new after that
 * it keeps, and says that there is no work: ready for ever, while all workers are idle.
 */
#include "scheduler.h"
#include "queues/locked.h"

struct forgets {
    struct tn_locked_queue queue, forgotten;
    bool begun; /* under no lock: with one worker */
};

static int forgets_init(struct tn_cluster *cl)
{
    struct forgets *s = cl->sched;
    tn_locked_queue_init(&s->queue);
    tn_locked_queue_init(&s->forgotten);
    return 0;
}

static int forgets_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    struct forgets *s = f->cluster->sched;
    (void)me;
    tn_locked_queue_push_back(why == TN_SPAWNED && s->begun ? &s->forgotten : &s->queue, &f->link);
    s->begun = true;
    return 0;
}

static struct tn_fibre *forgets_next(struct tn_worker *me, bool fair)
{
    (void)fair;
    return tn_fibre_of(tn_locked_queue_pop_front(&((struct forgets *)me->cluster->sched)->queue));
}

static enum tn_work forgets_may_have_work(struct tn_worker *me)
{
    struct forgets *s = me->cluster->sched;
    return tn_locked_queue_length(&s->queue) != 0 ? TN_WORK_SOME : TN_WORK_NONE;
}

static void forgets_drain(struct tn_cluster *cl, struct tn_list *out)
{
    struct forgets *s = cl->sched;
    tn_locked_queue_pop_n(&s->queue, SIZE_MAX, out);
    tn_locked_queue_pop_n(&s->forgotten, SIZE_MAX, out);
}

TN_SCHEDULER(forgets) = {
    .name = "forgets",
    .summary = "runs the first fibre only, for a test",
    .cluster_size = sizeof(struct forgets),
    .cluster_init = forgets_init,
    .ready = forgets_ready,
    .next = forgets_next,
    .may_have_work = forgets_may_have_work,
    .drain = forgets_drain,
};
