/* SPDX-License-Identifier: MIT
 *
 * The worker poller (004 §3.3.5): there is no thread for it. A worker looks into the instance of its cluster when it looks
 * up from its work, and one that has nothing to do waits there in place of parking: while something is armed, or always
 * (park=source).
 */
#define TN_KNOB_OWNER worker
#include "epoll.h"

#define WORKER_KNOBS(K)                                                                                          \
    TN_EPOLL_KNOBS(K)                                                                                            \
    K(batch, NULL, 64, 1, 64, "events", "how many one look takes, and unblocks together, at most", "000 §3.4.2") \
    K(park, "word|source", 0, 0, 1, "",                                                                          \
      "where an idle worker sleeps while no descriptor is armed: on its word, or in the poller as it does else", \
      "000 §3.4")

enum { WORKER_KNOBS(TN_KNOB_ENUM) };
static const struct tn_knob worker_knobs[] = {WORKER_KNOBS(TN_KNOB_ROW)};

struct worker_poller {
    struct tn_epoll epoll; /* first */
    bool always;
};

static int worker_poller_open(struct tn_cluster *cl, void *state, const int64_t *knobs)
{
    struct worker_poller *p = state;
    p->epoll.cl = cl;
    p->epoll.lazy = TN_KNOB(knobs, worker, lazy) == 1;
    p->epoll.batch = (int)TN_KNOB(knobs, worker, batch);
    p->always = TN_KNOB(knobs, worker, park) == 1;
    int rc = tn_epoll_open(&p->epoll);
    return p->always ? rc : 0; /* a program without a descriptor left may need none; else who arms is told */
}

static void worker_poller_close(struct tn_cluster *cl, void *state)
{
    (void)cl;
    tn_epoll_close(state);
}

static int worker_poller_arm(void *state, struct tn_worker *me, int fd, uint64_t key, void **place)
{
    (void)me;
    int rc = tn_epoll_arm(*place = state, fd, key);
    if (rc == 0)
        tn_notify(((struct tn_epoll *)state)->cl); /* if nobody waits in the poller, one of the idle ones is to */
    return rc;
}

static void worker_poller_disarm(void *place, uint64_t key)
{
    tn_epoll_disarm(place, key);
}

static bool worker_poller_eager(const void *state)
{
    return !((const struct tn_epoll *)state)->lazy;
}

static bool worker_poller_pending(void *state)
{
    return tn_epoll_pending(state);
}

static unsigned worker_poller_poll(void *state, struct tn_worker *me, struct tn_list *ready, tn_time deadline)
{
    (void)me;
    if (deadline != 0 || worker_poller_pending(state))
        tn_epoll_collect(state, deadline, ready);
    return (unsigned)ready->count;
}

static enum tn_waits_where worker_poller_idle(void *state, struct tn_worker *me)
{
    (void)me;
    bool polls = ((struct worker_poller *)state)->always || worker_poller_pending(state);
    return polls ? TN_WAITS_IN_TURN : TN_WAITS_PARKED;
}

static void worker_poller_wake(void *state, struct tn_worker *who)
{
    (void)who;
    tn_epoll_wake(state);
}

const struct tn_poller tn_poller_worker = {
    .name = "worker",
    .summary = "workers poll between fibres, and wait in the poller when they are idle",
    .cluster_size = sizeof(struct worker_poller),
    .knobs = worker_knobs,
    .n_knobs = sizeof worker_knobs / sizeof worker_knobs[0],
    .open = worker_poller_open,
    .close = worker_poller_close,
    .arm = worker_poller_arm,
    .disarm = worker_poller_disarm,
    .eager = worker_poller_eager,
    .every = 1,
    .poll = worker_poller_poll,
    .pending = worker_poller_pending,
    .wants = worker_poller_pending,
    .idle = worker_poller_idle,
    .wake = worker_poller_wake,
};
