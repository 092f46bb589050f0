/* SPDX-License-Identifier: MIT */
/*
 * How a call waits for a descriptor (descriptor.h), or until a poller has made it (request.h).
 */
#include "descriptors.h"

#include "sync/select.h"

#include <stdlib.h>

static bool would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK;
}

static ssize_t attempt(int fd, io_call *call, void *arg)
{
    ssize_t n;
    do
        n = call(fd, arg);
    while (n < 0 && errno == EINTR);
    return n;
}

static ssize_t failed(int err)
{
    errno = err;
    return -1;
}

/* A call that was to read has just said that it would block. Again, since what came meanwhile comes before the end: what it
 * returns then; or that it would block. */
static __attribute__((noinline)) ssize_t unless_shut(int fd, const struct io_how *how)
{
    if (how->rq == NULL || !sys_shut(fd, how->rq))
        return failed(EAGAIN);
    ssize_t n = attempt(fd, how->call, how->arg);
    return n < 0 && would_block() ? sys_shut_says(how->rq) : n;
}

int io_pause(tn_time until, tn_token *token)
{
    if (tn_self() != NULL)
        return tn_sleep_until(until, token);
    _Atomic(uint32_t) word = 0;
    for (tn_time now; (now = tn_now()) < until;) {
        if (token != NULL && tn_token_fired(token))
            return ECANCELED;
        tn_park(&word, 0, token == NULL || until - now < TN_LOOK_NS ? until : now + TN_LOOK_NS);
    }
    return 0;
}

/* By a plain thread: 0 when it is to call again; it waits in the system, with a look around now and then. */
static int thread_wait(struct tn_way *w, int fd, unsigned way, uint32_t generation, tn_time deadline, tn_token *token)
{
    for (bool ready = false;;) {
        if (tn_way_closed(w, generation))
            return ECANCELED;
        if (ready)
            return 0;
        tn_time now = tn_now(), step = token != NULL ? TN_LOOK_NS : 10 * TN_LOOK_NS;
        if (token != NULL && tn_token_fired(token))
            return ECANCELED;
        if (now >= deadline)
            return ETIMEDOUT;
        ready = sys_ready(fd, way, deadline - now < step ? deadline : now + step);
    }
}

static __attribute__((noinline)) ssize_t thread_do(struct tn_way *w, uint32_t generation, int fd, unsigned way,
                                                   const struct io_how *how)
{
    ssize_t n;
    for (bool again = false; (n = attempt(fd, how->call, how->arg)) < 0 && would_block(); again = true) {
        if (again && way == TN_WAY_IN) { /* else it would find it ready for ever */
            n = unless_shut(fd, how);
            if (n >= 0 || !would_block())
                return n;
        }
        int rc = thread_wait(w, fd, way, generation, how->deadline, how->token);
        if (rc != 0)
            return failed(rc);
    }
    return n;
}

static __attribute__((noinline)) int perform(void *unused, struct tn_request *rq, void **place)
{
    struct worker *self = tn_self();
    (void)unused;
    return binding_poller->perform(cluster_of(self->pub.cluster)->poller, &self->pub, rq, place);
}

static void withdraw(void *place, const struct tn_request *rq)
{
    binding_poller->withdraw(place, rq);
}

static tn_time again(void)
{
    return tn_now() + TN_LOOK_NS;
}

static const struct tn_performs performs = {.perform = perform, .withdraw = withdraw, .again = again};

/* By the fibre whose turn it is: the poller makes the call. EAGAIN: it does not, and the fibre is to make it. */
static __attribute__((noinline)) ssize_t request_do(struct tn_way *w, uint32_t generation, struct tn_request *rq,
                                                    tn_time deadline, tn_token *token)
{
    int64_t n = tn_request_do(w, generation, rq, deadline, token, &performs);
    return n >= 0 ? n : failed((int)-n);
}

/* What is seldom needed has a frame of its own: the stack of each fibre that waits for input is to be few lines of the cache, since
 * with many of them it has to come into it each time. */
static __attribute__((noinline)) int turn_take(struct tn_way *w, uint32_t generation, const struct io_how *how)
{
    return tn_way_take(w, generation, how->deadline, how->token);
}

/* `mine`: whose turn it is; else EBUSY: it is to be taken. */
static inline int turn_wait(struct descriptor *d, unsigned way, uint32_t generation, bool mine,
                            const struct io_how *how)
{
    const struct worker *self = tn_self();
    if (way == TN_WAY_IN)
        descriptor_sleeps(d, self->current, __builtin_frame_address(0), how->rq != NULL ? how->rq->data : NULL);
    return tn_way_wait(way_of(d, way), generation, mine, how->deadline, how->token);
}

/* The turn is over, with that. */
static __attribute__((noinline)) ssize_t turn_pass(struct tn_way *w, uint32_t generation, ssize_t n, int err)
{
    struct tn_claims next = {NULL, NULL};
    tn_way_pass(w, generation, &next);
    tn_claims_let_go(next);
    return n < 0 ? failed(err) : n;
}

/* So is the call, and that with what it has returned. */
static inline ssize_t turn_done(struct tn_way *w, uint32_t generation, ssize_t n)
{
    struct tn_claims next = {NULL, NULL};
    int err = n < 0 ? errno : 0;
    tn_way_done(w, generation, &next);
    if (__builtin_expect(next.first != NULL, 0))
        tn_claims_let_go(next);
    return n < 0 ? failed(err) : n;
}

/* By the fibre whose turn it is, and that has begun. */
static inline ssize_t turn_call(struct descriptor *d, int fd, unsigned way, uint32_t generation,
                                const struct io_how *how, size_t asked)
{
    bool armed = descriptor_armed(d);
    ssize_t n = attempt(fd, how->call, how->arg);
    tn_way_dries(way_of(d, way), generation, armed && n > 0 && (size_t)n < asked);
    if (n >= 0 && !armed)
        descriptor_arm_early(d, fd, way, generation);
    if (n < 0 && way == TN_WAY_IN && asked == 0 && would_block() && (!armed || tn_way_ended(way_of(d, way))))
        return unless_shut(fd, how); /* TCP says it itself */
    return n;
}

/* From here on there is a copy for each direction, in which all of a way's places are known beforehand. */
#define FOR_EACH_WAY static inline __attribute__((always_inline))

/* By a fibre whose turn it is (`mine`), or is to be; `called`: the call would block. Only one that wants bytes waits because the
 * last one has taken all there was: others do not block for that. */
FOR_EACH_WAY ssize_t turn_do(struct descriptor *d, int fd, unsigned way, uint32_t generation,
                             const struct io_how *how, bool mine, bool called)
{
    struct tn_way *w = way_of(d, way);
    size_t asked = descriptor_streams(d) ? how->asked : 0;
    for (;;) {
        bool late = false;
        if (called || (asked != 0 && tn_way_dry(w, generation))) {
            int rc = descriptor_tells(d, way) ? 0 : descriptor_arm(d, fd, way, generation);
            rc = rc == 0 ? turn_wait(d, way, generation, mine, how) : mine ? rc : EBUSY;
            late = rc == ETIMEDOUT && !called; /* what can be done at once is done */
            mine |= rc != EBUSY;
            if (mine && rc != 0 && !late)
                return turn_pass(w, generation, -1, rc);
        }
        if (!mine) {
            int rc = turn_take(w, generation, how);
            if (rc != 0)
                return failed(rc);
            mine = true;
            continue; /* by whose turn it was all may have been taken */
        }
        if (!tn_way_begin(w, generation))
            return failed(ECANCELED);
        ssize_t n = turn_call(d, fd, way, generation, how, asked);
        if (n >= 0 || !would_block())
            return turn_done(w, generation, n);
        tn_way_called(w);
        if (late)
            return turn_pass(w, generation, -1, ETIMEDOUT);
        called = true;
    }
}

static __attribute__((noinline)) ssize_t turn_in(struct descriptor *d, int fd, uint32_t generation,
                                                 const struct io_how *how, bool mine, bool called)
{
    return turn_do(d, fd, TN_WAY_IN, generation, how, mine, called);
}

static __attribute__((noinline)) ssize_t turn_out(struct descriptor *d, int fd, uint32_t generation,
                                                  const struct io_how *how, bool mine, bool called)
{
    return turn_do(d, fd, TN_WAY_OUT, generation, how, mine, called);
}

FOR_EACH_WAY ssize_t turn_of(struct descriptor *d, int fd, unsigned way, uint32_t generation,
                             const struct io_how *how, bool mine, bool called)
{
    return way == TN_WAY_IN ? turn_in(d, fd, generation, how, mine, called)
                            : turn_out(d, fd, generation, how, mine, called);
}

/* May the call have what was received before it? By TCP alone; `asked`: so many bytes. */
static bool comes_ahead(enum io_kind kind, const struct io_how *how)
{
    bool bytes = how->rq->kind == TN_REQUEST_RECV && how->rq->flags == 0; /* nothing, when something is there */
    return kind == IO_STREAM &&
           (how->asked != 0 || (how->rq->kind == TN_REQUEST_ACCEPT && how->rq->data == NULL) || bytes);
}

/* With the lock of the way. Who does not wait has what is there now, which is still to be received. */
static __attribute__((noinline)) int receive(void *unused, struct tn_ahead *a, uint64_t key, struct tn_request *rq,
                                             tn_time deadline)
{
    struct worker *self = tn_self();
    (void)unused;
    if (deadline != TN_FOREVER && deadline <= tn_now())
        return ENOSYS;
    return binding_poller->receive(cluster_of(self->pub.cluster)->poller, &self->pub, a, key, rq);
}

static int64_t take_ahead(struct tn_request *rq, int64_t before, struct tn_got *got)
{
    return binding_poller->take(rq, before, got);
}

static const struct tn_receives receives = {.take = take_ahead, .receive = receive};

/* A poller may have received it; and where it does not, the fibre makes the call. */
static __attribute__((noinline)) ssize_t ahead_in(struct descriptor *d, int fd, uint32_t generation,
                                                  const struct io_how *how)
{
    struct tn_way *w = &d->in;
    int rc = turn_take(w, generation, how);
    if (rc != 0)
        return failed(rc);
    int64_t n = tn_ahead_do(w, generation, &d->ahead, (uint64_t)generation << 32 | (uint32_t)fd, how->rq,
                            how->deadline, how->token, &receives);
    if (n != -EAGAIN)
        return turn_pass(w, generation, n, (int)-n);
    /* It would wait for an event that may have been told of something received. */
    tn_way_dries(w, generation, false);
    return turn_in(d, fd, generation, how, true, false);
}

/* A poller makes it; and where it does not, the fibre. */
static __attribute__((noinline)) ssize_t asks_do(struct descriptor *d, int fd, unsigned way, uint32_t generation,
                                                 const struct io_how *how)
{
    struct tn_way *w = way_of(d, way);
    struct tn_request *rq = how->rq;
    int rc = turn_take(w, generation, how);
    if (rc != 0)
        return failed(rc);
    ssize_t n = request_do(w, generation, rq, how->deadline, how->token);
    if (n < 0 && (would_block() || errno == EALREADY || errno == EINPROGRESS))
        return turn_of(d, fd, way, generation, how, true, false);
    return turn_pass(w, generation, n, errno);
}

/* A call on a thread that may block. */
struct blocks {
    io_call *call;
    void *arg;
    int fd;
    ssize_t n;
};

static void *blocks(void *arg)
{
    struct blocks *b = arg;
    b->n = attempt(b->fd, b->call, b->arg);
    return NULL;
}

static __attribute__((noinline)) ssize_t file_do(int fd, io_call *call, void *arg)
{
    struct blocks b = {call, arg, fd, -1};
    int rc = tn_blocking(blocks, &b, NULL);
    return rc == 0 ? b.n : failed(rc);
}

FOR_EACH_WAY ssize_t way_do(int fd, unsigned way, const struct io_how *how)
{
    enum io_kind kind;
    uint32_t generation;
    struct descriptor *d = descriptor_of(fd, way, &kind, &generation);
    if (d == NULL)
        return -1;
    if (kind == IO_FILE)
        return file_do(fd, how->call, how->arg);
    struct worker *self = tn_self();
    if (self == NULL)
        return thread_do(way_of(d, way), generation, fd, way, how);
    struct cluster *cl = cluster_of(self->pub.cluster);
    if (!descriptor_owned(d, way, generation, cl->rt))
        return failed(EBUSY);
    if (__builtin_expect(cl->calls != 0, 0)) {
        if (way == TN_WAY_IN && (cl->calls & TN_CALLS_YIELD) != 0)
            tn_yield();
        if (way == TN_WAY_IN && (cl->calls & TN_CALLS_AHEAD) != 0 && how->rq != NULL && comes_ahead(kind, how))
            return ahead_in(d, fd, generation, how);
        if ((cl->calls & TN_CALLS_PERFORMS) != 0 && how->rq != NULL && how->rq->kind != TN_REQUEST_NOTHING)
            return asks_do(d, fd, way, generation, how);
    }
    struct tn_way *w = way_of(d, way);
    size_t asked = kind == IO_STREAM ? how->asked : 0;
    if ((asked != 0 && tn_way_dry(w, generation)) || !tn_way_try(w, generation))
        return turn_of(d, fd, way, generation, how, false, false);
    ssize_t n = turn_call(d, fd, way, generation, how, asked);
    if (n >= 0 || !would_block())
        return turn_done(w, generation, n);
    tn_way_called(w);
    return turn_of(d, fd, way, generation, how, true, true);
}

ssize_t io_in(int fd, const struct io_how *how)
{
    return way_do(fd, TN_WAY_IN, how);
}

ssize_t io_out(int fd, const struct io_how *how)
{
    return way_do(fd, TN_WAY_OUT, how);
}

TN_API ssize_t tn_io(int fd, int way, io_call *call, void *arg, tn_time deadline, tn_token *token)
{
    if (way != TN_IO_IN && way != TN_IO_OUT)
        return failed(EINVAL);
    return io_do(fd, (unsigned)way, &(struct io_how){call, arg, NULL, 0, deadline, token});
}

/* ---- for diagnoses ---- */

_Static_assert(offsetof(struct tn_request, kind) == 0 && offsetof(struct tn_request, fd) == sizeof(int),
               "as it begins");

/* A way of a descriptor; or a request, whose fibre waits. */
int tn_io_number(const void *object, bool own, bool *writes)
{
    uintptr_t at = (uintptr_t)object;
    for (unsigned i = 0; i < DESCRIPTOR_PARTS; i++) {
        size_t n = (size_t)DESCRIPTOR_FIRST << i;
        struct descriptor *part = atomic_load_explicit(&descriptor_parts[i], memory_order_acquire); /* V0 acquire */
        if (part == NULL || at < (uintptr_t)part || at >= (uintptr_t)(part + n))
            continue;
        size_t k = (at - (uintptr_t)part) / sizeof *part;
        *writes = at - (uintptr_t)(part + k) >= offsetof(struct descriptor, out);
        return (int)(k + n) - DESCRIPTOR_FIRST;
    }
    struct {
        enum tn_request_kind kind;
        int fd;
    } request; /* as it begins */
    if (!own || !tn_peek(at - offsetof(struct tn_request, waits), &request, sizeof request))
        return -1;
    *writes = request.kind == TN_REQUEST_WRITE || request.kind == TN_REQUEST_WRITEV ||
              request.kind == TN_REQUEST_SEND || request.kind == TN_REQUEST_SENDMSG ||
              request.kind == TN_REQUEST_CONNECT;
    return request.fd;
}

/* ---- arms of tn_select ---- */

static struct descriptor no_descriptor;

TN_API void *tn_io_object(int fd, int way)
{
    enum io_kind kind;
    uint32_t generation;
    struct descriptor *d = descriptor_of(fd, TN_WAY_IN, &kind, &generation);
    return way_of(d != NULL ? d : &no_descriptor, way == TN_IO_OUT ? TN_WAY_OUT : TN_WAY_IN);
}

/* Has a poller received there what a call would have, so that the system says nothing of it? */
static bool came_ahead(struct descriptor *d, int fd, uint32_t generation)
{
    return binding_poller->drop != NULL && tn_ahead_has(&d->ahead, (uint64_t)generation << 32 | (uint32_t)fd);
}

static bool number_came_ahead(int fd)
{
    unsigned i = fd >= 0 ? descriptor_part((unsigned)fd) : 0;
    struct descriptor *d = atomic_load_explicit(&descriptor_parts[i], memory_order_acquire); /* V0 acquire */
    if (d == NULL || fd < 0 || tn_self() == NULL)
        return false;
    d = descriptor_in(d, i, (unsigned)fd);
    return atomic_load_explicit(&d->known, memory_order_acquire) / IO_KINDS == tn_process() && /* KN0 acquire */
           came_ahead(d, fd, tn_way_generation_first(&d->in));
}

int io_polled(struct pollfd *fds, nfds_t n, int ready)
{
    for (nfds_t i = 0; binding_poller->drop != NULL && ready >= 0 && i < n; i++) {
        short input = fds[i].events & (POLLIN | POLLRDNORM);
        if (input == 0 || !number_came_ahead(fds[i].fd))
            continue;
        ready += fds[i].revents == 0;
        fds[i].revents |= input;
    }
    return ready;
}

/* It is armed before it is looked at, so what comes behind the look is an event. */
static bool take(struct tn_arm *arm, unsigned way)
{
    struct tn_way *w = arm->object;
    size_t at = way == TN_WAY_IN ? offsetof(struct descriptor, in) : offsetof(struct descriptor, out);
    struct descriptor *d = (struct descriptor *)(void *)((char *)w - at);
    struct worker *self = tn_self();
    int fd = (int)(intptr_t)arm->item;
    uint32_t generation = tn_way_generation_first(w);
    if (d == &no_descriptor || self == NULL ||
        !descriptor_owned(d, way, generation, cluster_of(self->pub.cluster)->rt)) {
        arm->rc = d == &no_descriptor ? EBADF : self == NULL ? EPERM : EBUSY;
        return true;
    }
    bool file = descriptor_is_file(d);
    arm->rc = file ? 0 : descriptor_arm(d, fd, way, generation);
    if (arm->rc == EPERM && sys_ready(fd, way, 0)) /* no poller takes what is always ready, such as /dev/null */
        arm->rc = 0;
    return file || arm->rc != 0 || sys_ready(fd, way, 0) || (way == TN_WAY_IN && came_ahead(d, fd, generation));
}

static bool take_readable(struct tn_arm *arm, struct tn_claims *claims)
{
    (void)claims;
    return take(arm, TN_WAY_IN);
}

static bool take_writable(struct tn_arm *arm, struct tn_claims *claims)
{
    (void)claims;
    return take(arm, TN_WAY_OUT);
}

static struct tn_node **ring(struct tn_arm *arm)
{
    ((struct tn_arm_wait *)(void *)arm->room)->node.wants = TN_WAY_KNOWS;
    return &tn_waitlist_of(arm->object)->ring;
}

const struct tn_arm_kind tn_arm_readable = {"descriptor to read", take_readable, ring};
const struct tn_arm_kind tn_arm_writable = {"descriptor to write", take_writable, ring};

int io_select(struct io_interest *interest, unsigned n, tn_time deadline, tn_token *token)
{
    unsigned which;
    struct tn_arm *arms = malloc(n * sizeof *arms);
    if (arms == NULL)
        return ENOMEM;
    for (unsigned i = 0; i < n; i++)
        arms[i] = (struct tn_arm){.kind = interest[i].way == TN_WAY_IN ? &tn_arm_readable : &tn_arm_writable,
                                  .object = tn_io_object(interest[i].fd, (int)interest[i].way),
                                  .item = (void *)(intptr_t)interest[i].fd};
    int rc = tn_select(arms, n, &which, deadline, token);
    if (rc == 0 && arms[which].rc != EBADF)
        rc = arms[which].rc;
    free(arms);
    return rc;
}
