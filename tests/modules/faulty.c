/* SPDX-License-Identifier: MIT
 *
 * faulty: one locked queue, with one fault (FAULT), which conformance must find.
 */
#include "scheduler.h"
#include "queues/locked.h"

enum {
    LOOKS_AWAY = 1,
    SECOND_LOOKS_AWAY,
    KEEPS_ONE_OF_MANY,
    LOSES_MIGRATED,
    STARVES_WOKEN,
    NEWEST_OF_MANY,
    ASKS_NOBODY,
    FAIR_EACH_TIME
};
enum { MANY = 250 };

struct faulty {
    struct tn_locked_queue ready, last;
};

static int faulty_init(struct tn_cluster *cl)
{
    struct faulty *c = cl->sched;
    tn_locked_queue_init(&c->ready);
    tn_locked_queue_init(&c->last);
    return 0;
}

static int faulty_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    struct faulty *c = f->cluster->sched;
    (void)me;
    if (FAULT == LOSES_MIGRATED && why == TN_MIGRATED)
        return 0;
    if ((FAULT == STARVES_WOKEN && why == TN_WOKEN) || (FAULT == FAIR_EACH_TIME && why == TN_YIELDED_HARD))
        tn_locked_queue_push_back(&c->last, &f->link);
    else if (FAULT == NEWEST_OF_MANY && tn_locked_queue_length(&c->ready) > MANY)
        tn_locked_queue_push_front(&c->ready, &f->link);
    else
        tn_locked_queue_push_back(&c->ready, &f->link);
    return 0;
}

static struct tn_fibre *faulty_next(struct tn_worker *me, bool fair)
{
    struct faulty *c = me->cluster->sched;
    bool last_first = FAULT == FAIR_EACH_TIME && fair;
    struct tn_link *f = tn_locked_queue_pop_front(last_first ? &c->last : &c->ready);
    return tn_fibre_of(f != NULL ? f : tn_locked_queue_pop_front(last_first ? &c->ready : &c->last));
}

static enum tn_work faulty_may_have_work(struct tn_worker *me)
{
    struct faulty *c = me->cluster->sched;
    if (FAULT == LOOKS_AWAY || (FAULT == SECOND_LOOKS_AWAY && me->index != 0))
        return TN_WORK_NONE;
    return tn_locked_queue_length(&c->ready) + tn_locked_queue_length(&c->last) != 0 ? TN_WORK_SOME : TN_WORK_NONE;
}

static size_t faulty_queued(struct tn_cluster *cl, struct tn_worker *w)
{
    struct faulty *c = cl->sched;
    if (FAULT == ASKS_NOBODY)
        return w->index; /* NULL: those that no worker has */
    return w != NULL ? 0 : tn_locked_queue_length(&c->ready) + tn_locked_queue_length(&c->last);
}

static void faulty_drain(struct tn_cluster *cl, struct tn_list *out)
{
    struct faulty *c = cl->sched;
    bool many = tn_locked_queue_length(&c->ready) > MANY;
    tn_locked_queue_pop_n(&c->ready, FAULT == KEEPS_ONE_OF_MANY && many ? MANY : SIZE_MAX, out);
    tn_locked_queue_pop_n(&c->last, SIZE_MAX, out);
}

TN_SCHEDULER(faulty) = {
    .name = "faulty",
    .summary = "for the conformance suite, which must refuse it",
    .cluster_size = sizeof(struct faulty),
    .cluster_init = faulty_init,
    .ready = faulty_ready,
    .next = faulty_next,
    .may_have_work = faulty_may_have_work,
    .queued = faulty_queued,
    .drain = faulty_drain,
};
