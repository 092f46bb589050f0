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

/* A call that was to read has just said that it would block. Again, since what came meanwhile comes before the end. */
static __attribute__((noinline)) bool shut(int fd, io_call *call, void *arg, const struct tn_request *rq, ssize_t *n)
{
    if (rq == NULL || !sys_shut(fd, rq)) {
        errno = EAGAIN;
        return false;
    }
    *n = attempt(fd, call, arg);
    if (*n < 0 && would_block())
        *n = sys_shut_says(rq);
    return true;
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
                                                   io_call *call, void *arg, const struct tn_request *rq,
                                                   tn_time deadline, tn_token *token)
{
    ssize_t n;
    for (bool again = false; (n = attempt(fd, call, arg)) < 0 && would_block(); again = true) {
        if (again && way == TN_WAY_IN && shut(fd, call, arg, rq, &n)) /* else it would find it ready for ever */
            return n;
        int rc = thread_wait(w, fd, way, generation, deadline, token);
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

/* What waits has a frame of its own, as all that is seldom needed has: the stack of each fibre that waits for input is to be
 * few lines of the cache, since with many of them it has to come into it each time. */
static __attribute__((noinline)) int turn_take(struct tn_way *w, uint32_t generation, tn_time deadline,
                                               tn_token *token)
{
    return tn_way_take(w, generation, deadline, token);
}

static __attribute__((noinline)) int turn_wait(struct descriptor *d, unsigned way, uint32_t generation,
                                               tn_time deadline, tn_token *token)
{
    const struct worker *self = tn_self();
    if (way == TN_WAY_IN)
        descriptor_sleeps(d, self->current, __builtin_frame_address(0));
    return tn_way_wait(&d->way[way], generation, deadline, token);
}

static __attribute__((noinline)) void turn_pass(struct tn_way *w, uint32_t generation)
{
    struct tn_claims next = {NULL, NULL};
    tn_way_pass(w, generation, &next);
    tn_claims_let_go(next);
}

/* What the call has returned. */
static inline ssize_t turn_done(struct tn_way *w, uint32_t generation, ssize_t n)
{
    struct tn_claims next = {NULL, NULL};
    int err = n < 0 ? errno : 0;
    tn_way_done(w, generation, &next);
    if (__builtin_expect(next.first != NULL, 0))
        tn_claims_let_go(next);
    return n < 0 ? failed(err) : n;
}

/* By the fibre whose turn it is, and that has begun: the call. False: it would have blocked. */
static inline bool turn_call(struct descriptor *d, int fd, unsigned way, uint32_t generation, io_call *call,
                             void *arg, const struct tn_request *rq, size_t asked, ssize_t *n)
{
    bool armed = descriptor_armed(d);
    *n = attempt(fd, call, arg);
    tn_way_dries(&d->way[way], generation, armed && *n > 0 && (size_t)*n < asked);
    if (*n >= 0 && !armed)
        descriptor_arm_early(d, fd, way, generation);
    if (*n >= 0 || !would_block())
        return true;
    bool may = way == TN_WAY_IN && asked == 0 && (!armed || tn_way_ended(&d->way[way])); /* TCP says it itself */
    return may && shut(fd, call, arg, rq, n);
}

/* By the fibre whose turn it is; `dry`: the call would block. Only one that wants bytes waits because the last one
 * has taken all there was: others do not block for that. */
static ssize_t turn_do(struct descriptor *d, int fd, unsigned way, uint32_t generation, io_call *call, void *arg,
                       const struct tn_request *rq, size_t asked, bool dry, tn_time deadline, tn_token *token)
{
    struct tn_way *w = &d->way[way];
    for (bool waits = dry || (asked != 0 && tn_way_dry(w, generation)), called = dry, late = false;; waits = true) {
        if (waits) {
            int rc = descriptor_tells(d, way) ? 0 : descriptor_arm(d, fd, way, generation);
            if (rc == 0)
                rc = turn_wait(d, way, generation, deadline, token);
            late = rc == ETIMEDOUT && !called; /* what can be done at once is done */
            if (rc != 0 && !late)
                return failed(rc);
        }
        ssize_t n;
        if (!tn_way_begin(w, generation))
            return failed(ECANCELED);
        bool over = turn_call(d, fd, way, generation, call, arg, rq, asked, &n);
        tn_way_called(w);
        if (over)
            return n;
        called = true;
        if (late)
            return failed(ETIMEDOUT);
    }
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

/* May the call have what was received before it? By TCP alone; `asked`: so many bytes. */
static bool comes_ahead(enum io_kind kind, const struct tn_request *rq, size_t asked)
{
    bool bytes = rq->kind == TN_REQUEST_RECV && rq->flags == 0; /* nothing, when something is there */
    return asked != 0 || (kind == IO_STREAM && ((rq->kind == TN_REQUEST_ACCEPT && rq->data == NULL) || bytes));
}

ssize_t io_do(int fd, unsigned way, io_call *call, void *arg, struct tn_request *rq, size_t asked, tn_time deadline,
              tn_token *token)
{
    enum io_kind kind;
    uint32_t generation;
    struct descriptor *d = descriptor_and_generation(fd, way, &kind, &generation);
    if (d == NULL)
        return -1;
    if (kind == IO_FILE)
        return file_do(fd, call, arg);
    struct worker *self = tn_self();
    if (self == NULL)
        return thread_do(&d->way[way], generation, fd, way, call, arg, rq, deadline, token);
    struct cluster *cl = cluster_of(self->pub.cluster);
    if (!descriptor_owned(d, cl->rt))
        return failed(EBUSY);
    if (way == TN_WAY_IN && (poller_calls(cl) & TN_CALLS_YIELD) != 0)
        tn_yield();
    ssize_t n = -1;
    bool dry = false, asks = rq != NULL && rq->kind != TN_REQUEST_NOTHING && binding_poller->perform != NULL;
    asked = kind == IO_STREAM ? asked : 0;
    if (!asks && (asked == 0 || !tn_way_dry(&d->way[way], generation)) && tn_way_try(&d->way[way], generation)) {
        if (turn_call(d, fd, way, generation, call, arg, rq, asked, &n))
            return turn_done(&d->way[way], generation, n);
        tn_way_called(&d->way[way]);
        dry = true;
    } else {
        int rc = turn_take(&d->way[way], generation, deadline, token);
        if (rc != 0)
            return failed(rc);
    }
    errno = EAGAIN;
    if (asks) {
        rq->ahead = way == TN_WAY_IN && comes_ahead(kind, rq, asked) ? &d->ahead : NULL;
        rq->key = (uint64_t)generation << 32 | (uint32_t)fd;
        n = request_do(&d->way[way], generation, rq, deadline, token);
    }
    if (n < 0 && (would_block() || errno == EALREADY || errno == EINPROGRESS))
        n = turn_do(d, fd, way, generation, call, arg, rq, asked, dry, deadline, token);
    int err = errno;
    turn_pass(&d->way[way], generation);
    errno = err;
    return n;
}

TN_API ssize_t tn_io(int fd, int way, io_call *call, void *arg, tn_time deadline, tn_token *token)
{
    if (way != TN_IO_IN && way != TN_IO_OUT)
        return failed(EINVAL);
    return io_do(fd, (unsigned)way, call, arg, NULL, 0, deadline, token);
}

/* ---- arms of tn_select ---- */

static struct descriptor no_descriptor;

TN_API void *tn_io_object(int fd, int way)
{
    enum io_kind kind;
    struct descriptor *d = descriptor_of(fd, &kind);
    return &(d != NULL ? d : &no_descriptor)->way[way == TN_IO_OUT];
}

/* It is armed before it is looked at, so what comes behind the look is an event. */
static bool take(struct tn_arm *arm, unsigned way)
{
    struct tn_way *w = arm->object;
    struct descriptor *d = (struct descriptor *)(void *)((char *)(w - way) - offsetof(struct descriptor, way));
    struct worker *self = tn_self();
    int fd = (int)(intptr_t)arm->item;
    if (d == &no_descriptor || self == NULL || !descriptor_owned(d, cluster_of(self->pub.cluster)->rt)) {
        arm->rc = d == &no_descriptor ? EBADF : self == NULL ? EPERM : EBUSY;
        return true;
    }
    bool file = descriptor_is_file(d);
    arm->rc = file ? 0 : descriptor_arm(d, fd, way, tn_way_generation(w));
    if (arm->rc == EPERM && sys_ready(fd, way, 0)) /* no poller takes what is always ready, such as /dev/null */
        arm->rc = 0;
    return file || arm->rc != 0 || sys_ready(fd, way, 0);
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
