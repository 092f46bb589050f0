/* SPDX-License-Identifier: MIT
 *
 * The worker poller (004 §3.3.5): there is no thread for it. A worker looks into the instance of its cluster, or its own, when
 * it looks up from its work, and one that has nothing to do waits there in place of parking: while something is armed, or
 * always (park=source).
 */
#define TN_KNOB_OWNER worker
#include "epoll.h"

#define WORKER_KNOBS(K)                                                                                          \
    TN_EPOLL_KNOBS(K)                                                                                            \
    K(instance, "cluster|worker", 0, 0, 1, "",                                                                   \
      "who shares an instance: then whoever is there takes an event; or the worker on which a descriptor was "   \
      "registered",                                                                                              \
      "000 §3.4.3")                                                                                              \
    K(batch, NULL, 64, 1, 64, "events", "how many one look takes, and unblocks together, at most", "000 §3.4.2") \
    K(park, "word|source", 0, 0, 1, "",                                                                          \
      "where an idle worker sleeps while no descriptor is armed: on its word, or in the poller as it does else", \
      "000 §3.4")

enum { WORKER_KNOBS(TN_KNOB_ENUM) };
static const struct tn_knob worker_knobs[] = {WORKER_KNOBS(TN_KNOB_ROW)};

struct worker_poller {
    struct tn_epoll epoll; /* first: the cluster's */
    struct tn_epoll *own;  /* each worker's; NULL: they share that one */
    uint32_t n;
    bool always;
};

static struct tn_epoll *worker_poller_of(void *state, struct tn_worker *me)
{
    struct worker_poller *p = state;
    return p->own != NULL ? p->own + me->index : &p->epoll;
}

static int worker_poller_open(struct tn_cluster *cl, void *state, const int64_t *knobs)
{
    struct worker_poller *p = state;
    p->epoll.cl = cl;
    TN_EPOLL_SET(&p->epoll, worker, knobs);
    p->epoll.batch = (int)TN_KNOB(knobs, worker, batch);
    p->always = TN_KNOB(knobs, worker, park) == 1;
    if (TN_KNOB(knobs, worker, instance) ==
        0) /* a program without a descriptor left may need none; else who arms is told */
        return p->always ? tn_epoll_open(&p->epoll) : 0;
    p->own = tn_sched_alloc(cl->slots * sizeof *p->own);
    p->n = p->own != NULL ? cl->slots : 0;
    for (uint32_t i = 0; i < p->n; i++)
        p->own[i] = p->epoll;
    return p->own != NULL ? 0 : ENOMEM;
}

static void worker_poller_close(struct tn_cluster *cl, void *state)
{
    struct worker_poller *p = state;
    (void)cl;
    tn_epoll_close(&p->epoll);
    for (uint32_t i = 0; i < p->n; i++)
        tn_epoll_close(&p->own[i]);
    tn_sched_free(p->own, p->n * sizeof *p->own);
}

static void worker_poller_join(void *state, struct tn_worker *me)
{
    struct worker_poller *p = state;
    if (p->own != NULL && p->always)
        tn_epoll_open(&p->own[me->index]);
}

static void worker_poller_leave(void *state, struct tn_worker *me, struct tn_list *ready)
{
    struct worker_poller *p = state;
    if (p->own != NULL)
        tn_io_unarmed_all(p->epoll.cl, &p->own[me->index], ready);
}

static int worker_poller_arm(void *state, struct tn_worker *me, int fd, uint64_t key, unsigned *ways, void **place)
{
    struct worker_poller *p = state;
    int rc = tn_epoll_arm(worker_poller_of(state, me), fd, key, ways, place);
    if (rc == 0 && p->own == NULL)
        tn_notify(p->epoll.cl); /* if nobody waits in the poller, one of the idle ones is to */
    return rc;
}

static void worker_poller_disarm(void *place, uint64_t key)
{
    tn_epoll_disarm(place, key);
}

static unsigned worker_poller_calls(const void *state)
{
    return ((const struct tn_epoll *)state)->calls;
}

static bool worker_poller_pending(void *state)
{
    struct worker_poller *p = state;
    bool pending = tn_epoll_pending(&p->epoll);
    for (uint32_t i = 0; i < p->n && !pending; i++)
        pending = tn_epoll_pending(&p->own[i]);
    return pending;
}

static bool worker_poller_wants(void *state)
{
    return tn_epoll_pending(state);
}

static unsigned worker_poller_poll(void *state, struct tn_worker *me, struct tn_list *ready, tn_time deadline)
{
    struct tn_epoll *e = worker_poller_of(state, me);
    if (deadline != 0 || tn_epoll_pending(e))
        tn_epoll_collect(e, deadline, ready);
    return (unsigned)ready->count;
}

static enum tn_waits_where worker_poller_idle(void *state, struct tn_worker *me)
{
    struct worker_poller *p = state;
    struct tn_epoll *e = worker_poller_of(state, me);
    bool polls = tn_epoll_pending(e) || (p->always && e->open);
    return !polls ? TN_WAITS_PARKED : p->own != NULL ? TN_WAITS_APART : TN_WAITS_IN_TURN;
}

static void worker_poller_wake(void *state, struct tn_worker *who)
{
    tn_epoll_wake(worker_poller_of(state, who));
}

const struct tn_poller tn_poller_worker = {
    .name = "worker",
    .summary = "workers poll between fibres, and wait in the poller when they are idle",
    .cluster_size = sizeof(struct worker_poller),
    .knobs = worker_knobs,
    .n_knobs = sizeof worker_knobs / sizeof worker_knobs[0],
    .open = worker_poller_open,
    .close = worker_poller_close,
    .join = worker_poller_join,
    .leave = worker_poller_leave,
    .arm = worker_poller_arm,
    .disarm = worker_poller_disarm,
    .calls = worker_poller_calls,
    .every = 1,
    .poll = worker_poller_poll,
    .pending = worker_poller_pending,
    .wants = worker_poller_wants,
    .idle = worker_poller_idle,
    .wake = worker_poller_wake,
};
