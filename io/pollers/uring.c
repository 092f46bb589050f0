/* SPDX-License-Identifier: MIT
 *
 * The uring poller: calls are made by the kernel (io_uring), and it tells when they are over. Each worker has a ring of its
 * own, made when its first fibre needs it. What fibres ask for is put into it and is given to the kernel when their worker
 * looks up from its work, or when it has none, in the same call in which it waits. Who has to be told that a descriptor is
 * ready (tn_select, tn_io) has that from the ring too.
 *
 * Only its worker puts anything into a ring, and takes anything out. Any thread may give the kernel what is in it, and have
 * it cancel what it has: so who closes a descriptor or gives up needs nobody else.
 *
 * Where the kernel has no io_uring, not all of it, or forbids it, the cluster is polled as under `worker`, and says so.
 */
#include "worker.c"

#undef TN_KNOB_OWNER
#include <fcntl.h>
#include <liburing.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/ahead.h"
#include "io/tenter_io.h"

#define TN_KNOB_OWNER uring
#define URING_KNOBS(K)                                                                                            \
    K(ahead, "off|on", 0, 0, 1, "",                                                                               \
      "connections, and what comes on them by TCP, are received before a call asks for it: others that have the " \
      "same "                                                                                                     \
      "descriptor do not see it",                                                                                 \
      "io_uring_prep_recv_multishot(3)")

enum { URING_KNOBS(TN_KNOB_ENUM) };
static const struct tn_knob uring_knobs[] = {URING_KNOBS(TN_KNOB_ROW)};

struct uring {
    struct tn_cluster *cl;
    struct tn_epoll *epoll; /* in place of it, where there can be none */
    struct io_uring ring;
    bool open, listens;        /* listens: to `wakes` */
    int wakes;                 /* an event source that ends a wait */
    _Atomic(uint32_t) pending; /* written by its worker: calls and descriptors that the kernel has */
    bool ahead;
    struct tn_spinlock lock; /* over buffers that are given to the kernel */
    struct io_uring_buf_ring *given;
    char *buffers;
};

struct uring_poller {
    struct worker_poller epoll; /* in place of rings, where there can be none */
    bool falls_back;
    char by[96];
    uint32_t n;
    struct uring *rings; /* of each worker */
};

enum { URING_CALLS = 256, URING_RESULTS = 4096, URING_WAITS = 1000000 };

/* Of what a result tells: what ends a wait, a descriptor's key (of what it has received ahead), a request. */
enum { URING_WAKES = 0, URING_REQUEST = 0, URING_KEY = 1, URING_ACCEPTS = 2, URING_RECEIVES = 3, URING_TAGS = 3 };

static uint64_t uring_of_key(uint64_t key, unsigned tag)
{
    return (key >> 32 << 32) | (uint32_t)key << 2 | tag; /* a descriptor has 30 bits (fs.nr_open) */
}

static uint64_t uring_key(uint64_t data)
{
    return (data >> 32 << 32) | (uint32_t)data >> 2;
}

/* ---- the ring ---- */

static int uring_open_ring(struct io_uring *ring)
{
    struct io_uring_params p = {.flags = IORING_SETUP_CQSIZE | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
                                .cq_entries = URING_RESULTS};
    int rc = -io_uring_queue_init_params(URING_CALLS, ring, &p);
    if (rc == 0) {
        fcntl(ring->ring_fd, F_SETFD, FD_CLOEXEC);
        for (unsigned i = 0; i < URING_CALLS; i++)
            ring->sq.array[i] = i;
    }
    return rc;
}

static int uring_open_buffers(struct uring *r);
static void uring_close_buffers(struct uring *r);

/* Unless it is open already. */
static int uring_open_one(struct uring *r)
{
    if (r->open)
        return 0;
    r->wakes = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = r->wakes < 0 ? errno : uring_open_ring(&r->ring);
    if (rc == 0 && r->ahead && (rc = uring_open_buffers(r)) != 0)
        io_uring_queue_exit(&r->ring);
    if (rc != 0 && r->wakes >= 0)
        close(r->wakes);
    r->open = rc == 0;
    return rc;
}

/* NULL, with an errno value: there is none. */
static struct uring *uring_of(void *state, struct tn_worker *me, int *rc)
{
    struct uring *r = ((struct uring_poller *)state)->rings + me->index;
    *rc = uring_open_one(r);
    return *rc == 0 ? r : NULL;
}

static unsigned uring_unsubmitted(struct uring *r)
{
    return io_uring_smp_load_acquire(r->ring.sq.ktail) - io_uring_smp_load_acquire(r->ring.sq.khead);
}

/* What was put in is given to the kernel; waits for `n` results at most until `until`. Any thread, with n = 0. */
static void uring_enter(struct uring *r, unsigned n, tn_time until)
{
    tn_time now = n != 0 && until != UINT64_MAX ? tn_now() : 0, left = until > now ? until - now : 0;
    struct __kernel_timespec ts = {(int64_t)(left / 1000000000), (int64_t)(left % 1000000000)};
    struct io_uring_getevents_arg arg = {.sigmask_sz = _NSIG / 8,
                                         .ts = n != 0 && until != UINT64_MAX ? (uintptr_t)&ts : 0};
    /* As many as there are: with fewer than it was promised it does not wait. */
    io_uring_enter2((unsigned)r->ring.ring_fd, uring_unsubmitted(r), n, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
                    (void *)&arg, sizeof arg);
}

/* Room for a call, which uring_put publishes; NULL: the kernel takes none just now. */
static struct io_uring_sqe *uring_room(struct uring *r)
{
    if (uring_unsubmitted(r) == URING_CALLS)
        uring_enter(r, 0, 0);
    return uring_unsubmitted(r) < URING_CALLS ? &r->ring.sq.sqes[*r->ring.sq.ktail % URING_CALLS] : NULL;
}

static void uring_put(struct uring *r, struct io_uring_sqe *sqe, uint64_t data)
{
    sqe->user_data = data;
    io_uring_smp_store_release(r->ring.sq.ktail, *r->ring.sq.ktail + 1);
}

static void uring_pending(struct uring *r, int more)
{
    /* relaxed, both: its worker alone writes it; others only want to know whether it is 0 */
    uint32_t n = atomic_load_explicit(&r->pending, memory_order_relaxed);
    atomic_store_explicit(&r->pending, n + (uint32_t)more, memory_order_relaxed);
}

/* By any thread: the kernel has what was put in before, and ends what is of `data`. Either may fail for a moment. */
static void uring_cancel(struct uring *r, uint64_t data, unsigned flags)
{
    int rc;
    unsigned times = 0;
    do {
        struct io_uring_sync_cancel_reg reg = {.addr = data, .fd = -1, .flags = flags, .timeout = {-1, -1}};
        uring_enter(r, 0, 0);
        rc = io_uring_register_sync_cancel(&r->ring, &reg);
    } while (((rc < 0 && rc != -ENOENT) || uring_unsubmitted(r) != 0) && ++times < 16);
}

/* ---- what fibres ask for ---- */

static void uring_prepare(struct io_uring_sqe *sqe, const struct tn_request *rq)
{
    unsigned n = rq->n < INT32_MAX ? (unsigned)rq->n : INT32_MAX;
    switch (rq->kind) {
    case TN_REQUEST_READ:
        io_uring_prep_read(sqe, rq->fd, rq->data, n, (uint64_t)-1);
        break;
    case TN_REQUEST_WRITE:
        io_uring_prep_write(sqe, rq->fd, rq->data, n, (uint64_t)-1);
        break;
    case TN_REQUEST_READV:
        io_uring_prep_readv(sqe, rq->fd, rq->data, n, (uint64_t)-1);
        break;
    case TN_REQUEST_WRITEV:
        io_uring_prep_writev(sqe, rq->fd, rq->data, n, (uint64_t)-1);
        break;
    case TN_REQUEST_RECV:
        io_uring_prep_recv(sqe, rq->fd, rq->data, n, rq->flags);
        break;
    case TN_REQUEST_SEND:
        io_uring_prep_send(sqe, rq->fd, rq->data, n, rq->flags);
        break;
    case TN_REQUEST_RECVMSG:
        io_uring_prep_recvmsg(sqe, rq->fd, rq->data, (unsigned)rq->flags);
        break;
    case TN_REQUEST_SENDMSG:
        io_uring_prep_sendmsg(sqe, rq->fd, rq->data, (unsigned)rq->flags);
        break;
    case TN_REQUEST_ACCEPT:
        io_uring_prep_accept(sqe, rq->fd, rq->data, rq->length, rq->flags);
        break;
    case TN_REQUEST_CONNECT:
        io_uring_prep_connect(sqe, rq->fd, rq->data, (socklen_t)rq->n);
        break;
    case TN_REQUEST_NOTHING:
        break;
    }
}

#include "uring_ahead.h"

static int uring_perform(void *state, struct tn_worker *me, struct tn_request *rq, void **place)
{
    int rc;
    struct uring_poller *p = state;
    struct uring *r = p->falls_back ? NULL : uring_of(p, me, &rc);
    struct io_uring_sqe *sqe = r != NULL ? uring_room(r) : NULL;
    if (sqe == NULL)
        return ENOSYS;
    uring_prepare(sqe, rq);
    uring_put(r, sqe, (uintptr_t)rq);
    uring_pending(r, 1);
    *place = r;
    return 0;
}

static void uring_withdraw(void *place, const struct tn_request *rq)
{
    uring_cancel(place, (uintptr_t)rq, 0);
}

static int uring_arm(void *state, struct tn_worker *me, int fd, uint64_t key, unsigned *ways, void **place)
{
    int rc;
    if (((struct uring_poller *)state)->falls_back) {
        rc = worker_poller_arm(state, me, fd, key, ways, place);
        *place = ((struct uring_poller *)state)->rings;
        return rc;
    }
    struct uring *r = uring_of(state, me, &rc);
    struct io_uring_sqe *sqe = r != NULL ? uring_room(r) : NULL;
    if (sqe == NULL)
        return r == NULL ? rc : ENOMEM;
    io_uring_prep_poll_multishot(sqe, fd, EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP); /* each change, as EPOLLET */
    uring_put(r, sqe, uring_of_key(key, URING_KEY));
    uring_pending(r, 1);
    *ways = 3;
    *place = r;
    return 0;
}

static void uring_disarm(void *place, uint64_t key)
{
    struct uring *r = place;
    if (r->epoll != NULL)
        worker_poller_disarm(r->epoll, key);
    else
        uring_cancel(r, uring_of_key(key, URING_KEY), 0);
}

/* ---- what the kernel tells ---- */

static void uring_tell(struct uring *r, const struct io_uring_cqe *cqe, struct tn_list *ready)
{
    bool over = (cqe->flags & IORING_CQE_F_MORE) == 0;
    if (cqe->user_data == URING_WAKES) {
        r->listens &= !over;
        return;
    }
    uring_pending(r, over ? -1 : 0);
    if ((cqe->user_data & URING_TAGS) == URING_REQUEST)
        tn_io_over(r->cl, (struct tn_request *)(uintptr_t)cqe->user_data, cqe->res, ready);
    else if ((cqe->user_data & URING_TAGS) != URING_KEY)
        uring_received(r, cqe, ready);
    else if (over)
        tn_io_unarmed(r->cl, uring_key(cqe->user_data), 3, 0, ready, NULL);
    else {
        unsigned ended, ways = tn_epoll_ways((uint32_t)cqe->res, &ended);
        tn_io_event(r->cl, uring_key(cqe->user_data), ways, ended, ready);
    }
}

/* What the kernel has no room for it keeps, and gives when it is asked for more. */
static void uring_collect(struct uring *r, struct tn_list *ready)
{
    for (;;) {
        struct io_uring_cqe *cqe;
        unsigned head, n = 0;
        io_uring_for_each_cqe(&r->ring, head, cqe)
        {
            struct io_uring_cqe one = *cqe;
            uring_tell(r, &one, ready);
            n++;
        }
        io_uring_cq_advance(&r->ring, n);
        if ((io_uring_smp_load_acquire(r->ring.sq.kflags) & IORING_SQ_CQ_OVERFLOW) == 0)
            return;
        uring_enter(r, 0, 0);
    }
}

static unsigned uring_poll(void *state, struct tn_worker *me, struct tn_list *ready, tn_time deadline)
{
    struct uring_poller *p = state;
    struct uring *r = p->rings + me->index;
    if (p->falls_back)
        return worker_poller_poll(state, me, ready, deadline);
    if (!r->open)
        return 0;
    if (deadline != 0 && !r->listens) {
        struct io_uring_sqe *sqe = uring_room(r);
        if (sqe != NULL) {
            io_uring_prep_poll_multishot(sqe, r->wakes, EPOLLIN); /* each write is told, and nobody reads */
            uring_put(r, sqe, URING_WAKES);
        }
        r->listens = sqe != NULL;
        deadline = sqe != NULL ? deadline : 0;
    }
    if (deadline != 0)
        uring_enter(r, 1, deadline);
    else if (uring_unsubmitted(r) != 0 || (io_uring_smp_load_acquire(r->ring.sq.kflags) & IORING_SQ_TASKRUN) != 0)
        uring_enter(r, 0, 0);
    uring_collect(r, ready);
    return (unsigned)ready->count;
}

static void uring_join(void *state, struct tn_worker *me)
{
    if (!((struct uring_poller *)state)->falls_back)
        uring_open_one(((struct uring_poller *)state)->rings + me->index);
}

/* What its thread has asked for would end with it, and nobody would hear of it. */
static void uring_leave(void *state, struct tn_worker *me, struct tn_list *ready)
{
    struct uring *r = ((struct uring_poller *)state)->rings + me->index;
    if (((struct uring_poller *)state)->falls_back || !r->open)
        return;
    do {
        uring_cancel(r, 0, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
        uring_enter(r, atomic_load_explicit(&r->pending, memory_order_relaxed) != 0 || r->listens, /* relaxed: own */
                    tn_now() + URING_WAITS);
        uring_collect(r, ready);
    } while (atomic_load_explicit(&r->pending, memory_order_relaxed) != 0 || r->listens); /* relaxed: own */
}

/* ---- waiting ---- */

static bool uring_wants(void *state)
{
    return ((struct uring_poller *)state)->falls_back && worker_poller_pending(state);
}

static bool uring_is_pending(void *state)
{
    struct uring_poller *p = state;
    bool pending = uring_wants(state);
    for (uint32_t i = 0; i < p->n && !pending; i++) /* relaxed: a hint, or its worker has been seen to be idle */
        pending = atomic_load_explicit(&p->rings[i].pending, memory_order_relaxed) != 0;
    return pending;
}

static enum tn_waits_where uring_idle(void *state, struct tn_worker *me)
{
    struct uring *r = ((struct uring_poller *)state)->rings + me->index;
    if (((struct uring_poller *)state)->falls_back)
        return worker_poller_idle(state, me);
    /* relaxed: own */
    return atomic_load_explicit(&r->pending, memory_order_relaxed) != 0 ? TN_WAITS_APART : TN_WAITS_PARKED;
}

static void uring_wake(void *state, struct tn_worker *who)
{
    struct uring_poller *p = state;
    uint64_t one = 1;
    if (p->falls_back)
        worker_poller_wake(state, who);
    else
        (void)!write(p->rings[who->index].wakes, &one, sizeof one);
}

/* ---- life ---- */

static void uring_close_one(struct uring *r)
{
    if (r->open) {
        io_uring_queue_exit(&r->ring);
        close(r->wakes);
        uring_close_buffers(r);
    }
    r->open = false;
}

/* 0, or why this kernel cannot do it. That there is no descriptor or memory left may change. */
static int uring_lacks(struct uring *r)
{
    struct io_uring_sync_cancel_reg none = {.addr = 1, .fd = -1, .timeout = {-1, -1}};
    int rc = uring_open_one(r);
    if (rc == EMFILE || rc == ENFILE || rc == ENOMEM)
        return 0;
    if (rc == 0 &&
        io_uring_register_sync_cancel(&r->ring, &none) != -ENOENT) { /* Linux 6.0, and so all that is used */
        uring_close_one(r);
        rc = EOPNOTSUPP;
    }
    return rc;
}

static int uring_open(struct tn_cluster *cl, void *state, const int64_t *knobs)
{
    struct uring_poller *p = state;
    p->epoll.epoll.cl = cl;
    p->n = cl->slots;
    p->rings = tn_sched_alloc(p->n * sizeof *p->rings);
    if (p->rings == NULL)
        return ENOMEM;
    for (uint32_t i = 0; i < p->n; i++) {
        p->rings[i].cl = cl;
        p->rings[i].ahead = TN_KNOB(knobs, uring, ahead) == 1;
    }
    int rc = uring_lacks(p->rings);
    p->falls_back = rc != 0;
    p->rings->epoll = p->falls_back ? &p->epoll.epoll : NULL;
    snprintf(p->by, sizeof p->by, rc == 0 ? "io_uring" : "epoll: io_uring says: %s", strerror(rc));
    return 0;
}

static void uring_close(struct tn_cluster *cl, void *state)
{
    struct uring_poller *p = state;
    for (uint32_t i = 0; i < p->n; i++)
        uring_close_one(&p->rings[i]);
    tn_sched_free(p->rings, p->n * sizeof *p->rings);
    worker_poller_close(cl, state);
}

static unsigned uring_calls(const void *state)
{
    const struct uring_poller *p = state;
    return p->rings->ahead && !p->falls_back ? TN_CALLS_AHEAD : 0;
}

static const char *uring_by(const void *state)
{
    return ((const struct uring_poller *)state)->by;
}

const struct tn_poller tn_poller_uring = {
    .name = "uring",
    .summary =
        "the kernel makes the calls, by a ring of each worker, which looks into it when it looks up or is idle",
    .cluster_size = sizeof(struct uring_poller),
    .knobs = uring_knobs,
    .n_knobs = sizeof uring_knobs / sizeof uring_knobs[0],
    .open = uring_open,
    .close = uring_close,
    .join = uring_join,
    .leave = uring_leave,
    .arm = uring_arm,
    .disarm = uring_disarm,
    .calls = uring_calls,
    .perform = uring_perform,
    .withdraw = uring_withdraw,
    .receive = uring_receive,
    .take = uring_take,
    .drop = uring_drop,
    .every = 1,
    .poll = uring_poll,
    .pending = uring_is_pending,
    .wants = uring_wants,
    .idle = uring_idle,
    .wake = uring_wake,
    .by = uring_by,
};
