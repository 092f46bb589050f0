/* SPDX-License-Identifier: MIT
 *
 * The fibre poller (000 §3.4.3): a fibre of each cluster polls without blocking, in the background where the module has one.
 * It is there only while there is something to find: a thread, the runtime's master, waits for the instances of all clusters
 * and spawns it (turns.h). So with all workers asleep that thread wakes one, and with all of them busy the fibre has to wait
 * until one is not; or until a worker looks itself, which it does seldom.
 */
#define TN_KNOB_OWNER fibre
#include "epoll.h"
#include "turns.h"

enum { TN_EPOLL_KNOBS(TN_KNOB_ENUM) };
static const struct tn_knob fibre_knobs[] = {TN_EPOLL_KNOBS(TN_KNOB_ROW)};

struct fibre_poller {
    struct tn_epoll epoll;       /* of the cluster */
    struct fibre_poller *master; /* the first cluster's */
    struct fibre_poller *next;   /* under the master's lock: the next cluster that it waits for */

    /* The first cluster's: */
    struct tn_epoll all; /* instances of clusters, each told once */
    struct tn_spinlock lock;
    struct fibre_poller *clusters; /* under the lock */
    struct tn_thread thread;
    _Atomic(bool) ending;
};

/* ---- the fibre ---- */

static bool fibre_polls(void *state)
{
    struct fibre_poller *p = state;
    struct tn_list ready = {0};
    int n = tn_epoll_collect(&p->epoll, 0, &ready);
    tn_ready_soon(p->epoll.cl, &ready);
    return n == TN_EPOLL_EVENTS;
}

static void fibre_asks(void *state)
{
    struct fibre_poller *p = state;
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = p};
    epoll_ctl(p->master->all.fd, EPOLL_CTL_MOD, p->epoll.fd, &event);
}

static void *fibre_main(void *state)
{
    tn_turns(state, fibre_polls, tn_yield, fibre_asks);
    return NULL;
}

/* ---- the master ---- */

/* Under its lock. Where there is no memory for a fibre it does that one's work. */
static void master_told(struct fibre_poller *master, void *state)
{
    struct fibre_poller *p = master->clusters;
    while (p != NULL && p != state)
        p = p->next;
    if (p == NULL)
        return; /* it has stopped since */
    const struct tn_attr attr = {
        .cluster = p->epoll.cl, .name = "poller", .background = true, .full = TN_FULL_OVERFLOW};
    if (tn_spawn(NULL, &attr, fibre_main, p) != 0)
        tn_turns(p, fibre_polls, tn_yield, fibre_asks);
}

static void *master_main(void *state)
{
    struct fibre_poller *p = state;
    diagnose_own_begins();
    while (!atomic_load_explicit(&p->ending, memory_order_relaxed)) { /* relaxed: nothing else is read by it */
        struct epoll_event events[TN_EPOLL_EVENTS];
        int n = epoll_wait(p->all.fd, events, TN_EPOLL_EVENTS, -1);
        tn_spinlock_lock(&p->lock);
        for (int i = 0; i < n; i++)
            if (events[i].data.u64 != TN_EPOLL_WAKES)
                master_told(p, events[i].data.ptr);
        tn_spinlock_unlock(&p->lock);
    }
    diagnose_own_ends();
    return NULL;
}

/* ---- life ---- */

static int master_waits_for(struct fibre_poller *master, struct fibre_poller *p)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = p};
    tn_spinlock_lock(&master->lock);
    int rc = epoll_ctl(master->all.fd, EPOLL_CTL_ADD, p->epoll.fd, &event) != 0 ? errno : 0;
    if (rc == 0) {
        p->next = master->clusters;
        master->clusters = p;
    }
    tn_spinlock_unlock(&master->lock);
    return rc;
}

static int fibre_open(struct tn_cluster *cl, void *state, const int64_t *knobs)
{
    struct fibre_poller *p = state;
    struct cluster *first = cluster_of(cl)->rt->first; /* NULL: it is this one */
    p->epoll.cl = cl;
    TN_EPOLL_SET(&p->epoll, fibre, knobs);
    p->master = first != NULL ? first->poller : p;
    int rc = tn_epoll_open(&p->epoll);
    if (rc == 0 && p->master == p)
        rc = tn_epoll_open(&p->all);
    if (rc == 0)
        rc = master_waits_for(p->master, p);
    if (rc == 0 && p->master == p)
        rc = tn_thread_create(&p->thread, master_main, p);
    if (rc != 0) {
        tn_epoll_close(&p->epoll);
        tn_epoll_close(&p->all);
    }
    return rc;
}

static void fibre_stop(void *state)
{
    struct fibre_poller *p = state, **at = &p->master->clusters;
    tn_spinlock_lock(&p->master->lock);
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    tn_spinlock_unlock(&p->master->lock);
    if (p->master == p) {
        atomic_store_explicit(&p->ending, true, memory_order_relaxed); /* relaxed: nothing else is read by it */
        tn_epoll_wake(&p->all);
        tn_thread_join(&p->thread);
    }
}

static void fibre_close(struct tn_cluster *cl, void *state)
{
    (void)cl;
    tn_epoll_close(&((struct fibre_poller *)state)->epoll);
    tn_epoll_close(&((struct fibre_poller *)state)->all);
}

/* ---- descriptors ---- */

static int fibre_arm(void *state, struct tn_worker *me, int fd, uint64_t key, unsigned *ways, void **place)
{
    (void)me;
    return tn_epoll_arm(&((struct fibre_poller *)state)->epoll, fd, key, ways, place);
}

static void fibre_disarm(void *place, uint64_t key)
{
    tn_epoll_disarm(place, key);
}

static unsigned fibre_calls(const void *state)
{
    return ((const struct fibre_poller *)state)->epoll.calls;
}

static bool fibre_pending(void *state)
{
    return tn_epoll_pending(&((struct fibre_poller *)state)->epoll);
}

static unsigned fibre_poll(void *state, struct tn_worker *me, struct tn_list *ready, tn_time deadline)
{
    (void)me;
    struct fibre_poller *p = state;
    if (tn_epoll_pending(&p->epoll))
        tn_epoll_collect(&p->epoll, deadline, ready);
    return (unsigned)ready->count;
}

const struct tn_poller tn_poller_fibre = {
    .name = "fibre",
    .summary = "a fibre of each cluster polls, in the background; a thread waits for all clusters",
    .cluster_size = sizeof(struct fibre_poller),
    .knobs = fibre_knobs,
    .n_knobs = sizeof fibre_knobs / sizeof fibre_knobs[0],
    .open = fibre_open,
    .close = fibre_close,
    .stop = fibre_stop,
    .arm = fibre_arm,
    .disarm = fibre_disarm,
    .calls = fibre_calls,
    .pending = fibre_pending,
    .every = 64,
    .poll = fibre_poll,
};
