/* SPDX-License-Identifier: MIT
 *
 * The thread poller (000 §3.4.3): a thread for each cluster waits for events and makes the fibres ready that they wake. How
 * often it does so is its mode. A worker looks only so seldom that it matters where the thread has not come for long: while
 * all of them are busy (opportunistic), or the system does not run it.
 */
#define TN_KNOB_OWNER thread
#include "epoll.h"
#include "opportunity.h"

#define THREAD_KNOBS(K)                                                                                             \
    TN_EPOLL_KNOBS(K)                                                                                               \
    K(mode, "loop|loop-sleep|opportunistic|opportunistic-timeout", 0, 0, 3, "",                                     \
      "when its thread polls: always; not for so long after each time; while a worker is idle; then, and at least " \
      "so often",                                                                                                   \
      "000 §3.4.3")                                                                                                 \
    K(us, NULL, 1000, 1, 10000000, "us", "how long, in the modes loop-sleep and opportunistic-timeout", "000 §3.4.3")

enum { THREAD_KNOBS(TN_KNOB_ENUM) };
static const struct tn_knob thread_knobs[] = {THREAD_KNOBS(TN_KNOB_ROW)};

enum { THREAD_LOOP, THREAD_LOOP_SLEEP, THREAD_OPPORTUNISTIC, THREAD_OPPORTUNISTIC_TIMEOUT };

struct thread_poller {
    struct tn_epoll epoll;
    struct tn_opportunity opportunity;
    struct tn_thread thread;
    int64_t mode;
    tn_time pause;
    _Atomic(uint32_t) ending;
};

static bool thread_ending(struct thread_poller *p)
{
    return atomic_load_explicit(&p->ending, memory_order_relaxed) != 0; /* relaxed: it reads nothing else */
}

static void *thread_main(void *state)
{
    struct thread_poller *p = state;
    diagnose_own_begins();
    while (!thread_ending(p)) {
        struct tn_list ready = {0};
        tn_time until = TN_FOREVER;
        if (p->mode == THREAD_LOOP_SLEEP)
            tn_park(&p->ending, 0, tn_now() + p->pause);
        else if (p->mode >= THREAD_OPPORTUNISTIC) {
            bool limited = p->mode == THREAD_OPPORTUNISTIC_TIMEOUT;
            if (!tn_opportunity_await(&p->opportunity, limited ? tn_now() + p->pause : TN_FOREVER))
                until = 0; /* all are busy: it only looks */
        }
        tn_epoll_collect(&p->epoll, until, &ready);
        tn_ready_all(p->epoll.cl, &ready);
    }
    diagnose_own_ends();
    return NULL;
}

static int thread_open(struct tn_cluster *cl, void *state, const int64_t *knobs)
{
    struct thread_poller *p = state;
    p->mode = TN_KNOB(knobs, thread, mode);
    p->pause = (tn_time)TN_KNOB(knobs, thread, us) * 1000;
    p->epoll.cl = cl;
    TN_EPOLL_SET(&p->epoll, thread, knobs);
    int rc = tn_epoll_open(&p->epoll);
    if (rc != 0)
        return rc;
    rc = tn_thread_create(&p->thread, thread_main, p);
    if (rc != 0)
        tn_epoll_close(&p->epoll);
    return rc;
}

static void thread_stop(void *state)
{
    struct thread_poller *p = state;
    atomic_store_explicit(&p->ending, 1, memory_order_relaxed); /* relaxed: it reads nothing else */
    tn_unpark(&p->ending, 1);
    tn_opportunity_idle(&p->opportunity);
    tn_epoll_wake(&p->epoll);
    tn_thread_join(&p->thread);
}

static void thread_close(struct tn_cluster *cl, void *state)
{
    (void)cl;
    tn_epoll_close(&((struct thread_poller *)state)->epoll);
}

static int thread_arm(void *state, struct tn_worker *me, int fd, uint64_t key, unsigned *ways, void **place)
{
    (void)me;
    return tn_epoll_arm(&((struct thread_poller *)state)->epoll, fd, key, ways, place);
}

static void thread_disarm(void *place, uint64_t key)
{
    tn_epoll_disarm(place, key);
}

static unsigned thread_calls(const void *state)
{
    return ((const struct thread_poller *)state)->epoll.calls;
}

static unsigned thread_poll(void *state, struct tn_worker *me, struct tn_list *ready, tn_time deadline)
{
    (void)me;
    struct thread_poller *p = state;
    if (tn_epoll_pending(&p->epoll))
        tn_epoll_collect(&p->epoll, deadline, ready);
    return (unsigned)ready->count;
}

static bool thread_pending(void *state)
{
    return tn_epoll_pending(&((struct thread_poller *)state)->epoll);
}

static enum tn_waits_where thread_idle(void *state, struct tn_worker *me)
{
    struct thread_poller *p = state;
    (void)me;
    if (p->mode >= THREAD_OPPORTUNISTIC)
        tn_opportunity_idle(&p->opportunity);
    return TN_WAITS_PARKED;
}

static void thread_busy(void *state, struct tn_worker *me)
{
    struct thread_poller *p = state;
    (void)me;
    if (p->mode >= THREAD_OPPORTUNISTIC)
        tn_opportunity_busy(&p->opportunity);
}

const struct tn_poller tn_poller_thread = {
    .name = "thread",
    .summary = "a thread for each cluster polls",
    .cluster_size = sizeof(struct thread_poller),
    .knobs = thread_knobs,
    .n_knobs = sizeof thread_knobs / sizeof thread_knobs[0],
    .open = thread_open,
    .close = thread_close,
    .stop = thread_stop,
    .arm = thread_arm,
    .disarm = thread_disarm,
    .calls = thread_calls,
    .every = 64,
    .poll = thread_poll,
    .pending = thread_pending,
    .idle = thread_idle,
    .busy = thread_busy,
};
