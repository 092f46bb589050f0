/* SPDX-License-Identifier: MIT */
/*
 * Descriptors: the vector of them, and how a call waits for one (descriptor.h). The vector is the process's, as the numbers
 * are; it grows by parts twice as large as the one before, none of which ever moves or goes.
 */
#include "io.h"

#include "sync/select.h"

#include <stdlib.h>

struct descriptor {
    struct tn_way way[TN_WAYS];
    struct tn_tokenlock lock; /* over becoming known, being armed, being closed; its process is that of all of it */
    _Atomic(uint32_t) known;  /* written under the lock: IO_KINDS * tn_process() + an io_kind */
    _Atomic(struct runtime *) owner; /* whose fibres may wait; NULL: nobody's has yet */
    _Atomic(struct cluster *) armed; /* written under the lock: its poller tells events of it; NULL: none does */
};

/* ---- the vector ---- */

enum { FIRST_PART = 1024, PARTS = 22 };

static _Atomic(struct descriptor *) parts[PARTS];

static struct descriptor *part_at(unsigned i)
{
    struct descriptor *part = atomic_load_explicit(&parts[i], memory_order_acquire); /* V0 acquire */
    if (__builtin_expect(part == NULL, 0)) {
        size_t bytes = ((size_t)FIRST_PART << i) * sizeof *part;
        struct descriptor *mine = tn_map(bytes);
        if (mine == NULL)
            return NULL;
        /* V0: it is zero */
        if (atomic_compare_exchange_strong_explicit(&parts[i], &part, mine, memory_order_acq_rel,
                                                    memory_order_acquire))
            return mine;
        tn_unmap(mine, bytes);
    }
    return part;
}

static struct descriptor *descriptor_at(int fd)
{
    unsigned block = (unsigned)fd / FIRST_PART + 1, i = 31 - (unsigned)__builtin_clz(block);
    struct descriptor *part = part_at(i);
    return part != NULL ? part + ((size_t)fd - ((size_t)FIRST_PART << i) + FIRST_PART) : NULL;
}

/* ---- becoming known, and unknown ---- */

static uint32_t known_as(enum io_kind kind)
{
    return IO_KINDS * tn_process() + (uint32_t)kind;
}

static void let_go(struct tn_claims claims, struct tn_cluster *cl, struct tn_list *ready)
{
    for (struct tn_node *node = claims.first, *next; node != NULL; node = next) {
        struct tn_claimed claimed = node->claimed;
        next = node->next;
        atomic_store_explicit(&node->let_go, true, memory_order_release); /* L0 */
        if (claimed.fibre != NULL && claimed.fibre->cluster == cl)
            tn_list_push_back(ready, &claimed.fibre->link);
        else
            tn_resume(claimed);
    }
}

/* Under the lock: nothing is left of its former life. Who waits is no more, or belongs to a parent. */
static void descriptor_clear(struct descriptor *d)
{
    for (unsigned i = 0; i < TN_WAYS; i++) {
        struct tn_way *w = &d->way[i];
        uint32_t generation = tn_way_generation(w) + 1;
        memset(w, 0, sizeof *w);
        atomic_store_explicit(&w->generation, generation, memory_order_relaxed); /* relaxed: under the lock */
        tn_mutex_init(&w->turn, &(struct tn_mutex_attr){TN_MUTEX_BATON, TN_MUTEX_NORMAL});
    }
    atomic_store_explicit(&d->owner, NULL, memory_order_relaxed); /* relaxed: under the lock */
    atomic_store_explicit(&d->armed, NULL, memory_order_relaxed); /* relaxed: so too */
}

/* What it is, which is looked at if nobody knows. IO_UNKNOWN, with errno: there is no such descriptor. */
static __attribute__((noinline)) enum io_kind descriptor_look(struct descriptor *d, int fd)
{
    for (unsigned spins = 0;; tn_spin_wait(&spins)) {
        tn_tokenlock_lock(&d->lock, tn_process());
        uint32_t known = atomic_load_explicit(&d->known, memory_order_relaxed); /* relaxed: under the lock */
        enum io_kind kind = known / IO_KINDS == tn_process() ? (enum io_kind)(known % IO_KINDS) : IO_UNKNOWN;
        if (kind == IO_UNKNOWN && (kind = sys_kind(fd)) != IO_UNKNOWN) {
            descriptor_clear(d);
            atomic_store_explicit(&d->known, known_as(kind), memory_order_release); /* KN0 release: all of it */
        }
        tn_tokenlock_unlock(&d->lock);
        if (kind != IO_CLOSING) /* else it will soon be nobody's, or somebody else's */
            return kind;
    }
}

/* NULL, with errno: there is no such descriptor, or no memory. */
static inline struct descriptor *descriptor_of(int fd, enum io_kind *kind)
{
    struct descriptor *d = fd >= 0 ? descriptor_at(fd) : NULL;
    if (d == NULL) {
        errno = fd >= 0 ? ENOMEM : EBADF;
        return NULL;
    }
    uint32_t known = atomic_load_explicit(&d->known, memory_order_acquire); /* KN0 acquire */
    *kind = known / IO_KINDS == tn_process() ? (enum io_kind)(known % IO_KINDS) : IO_UNKNOWN;
    if (__builtin_expect(*kind <= IO_CLOSING, 0))
        *kind = descriptor_look(d, fd);
    return *kind != IO_UNKNOWN ? d : NULL;
}

void io_fresh(int fd, int like)
{
    struct descriptor *d = descriptor_at(fd);
    enum io_kind kind = IO_UNKNOWN;
    if (d == NULL)
        return; /* whoever uses it is told */
    if (like >= 0)
        descriptor_of(like, &kind);
    for (unsigned spins = 0;; tn_spin_wait(&spins)) { /* the number's former owner may not have returned yet */
        tn_tokenlock_lock(&d->lock, tn_process());
        uint32_t known = atomic_load_explicit(&d->known, memory_order_relaxed); /* relaxed: under the lock */
        bool closing = known == known_as(IO_CLOSING);
        if (!closing) {
            if (known != known_as(IO_UNKNOWN)) { /* it was closed behind our back */
                struct tn_claims claims = {NULL, NULL};
                for (unsigned i = 0; i < TN_WAYS; i++)
                    tn_way_end(&d->way[i], &claims);
                tn_claims_let_go(claims);
            }
            if (kind != IO_UNKNOWN)
                descriptor_clear(d);
            atomic_store_explicit(&d->known, known_as(kind), memory_order_release); /* KN0 release */
        }
        tn_tokenlock_unlock(&d->lock);
        if (!closing)
            return;
    }
}

int io_close(int fd, int (*close)(int fd))
{
    struct descriptor *d = fd >= 0 ? descriptor_at(fd) : NULL;
    if (d == NULL)
        return close(fd);
    tn_tokenlock_lock(&d->lock, tn_process());
    uint32_t known = atomic_load_explicit(&d->known, memory_order_relaxed); /* relaxed: under the lock */
    bool used = known / IO_KINDS == tn_process() && known % IO_KINDS > IO_CLOSING;
    if (used) {
        atomic_store_explicit(&d->known, known_as(IO_CLOSING), memory_order_relaxed); /* relaxed: under the lock */
        struct cluster *cl = atomic_load_explicit(&d->armed, memory_order_relaxed);   /* relaxed: so too */
        if (cl != NULL)
            binding_poller->disarm(cl->poller, fd);
    }
    tn_tokenlock_unlock(&d->lock);
    if (!used)
        return close(fd);
    struct tn_claims claims = {NULL, NULL};
    for (unsigned i = 0; i < TN_WAYS; i++)
        tn_way_end(&d->way[i], &claims);
    tn_claims_let_go(claims);
    int rc = close(fd), err = errno;
    tn_tokenlock_lock(&d->lock, tn_process());
    atomic_store_explicit(&d->known, known_as(IO_UNKNOWN), memory_order_relaxed); /* relaxed: under the lock */
    tn_tokenlock_unlock(&d->lock);
    errno = err;
    return rc;
}

/* A runtime ends, and no fibre of it runs any more. */
void io_forget(struct runtime *rt)
{
    for (unsigned i = 0; i < PARTS; i++) {
        struct descriptor *part = atomic_load_explicit(&parts[i], memory_order_acquire); /* V0 acquire */
        for (size_t n = 0; part != NULL && n < (size_t)FIRST_PART << i; n++) {
            struct descriptor *d = &part[n];
            if (atomic_load_explicit(&d->owner, memory_order_relaxed) != rt) /* relaxed: set by what has ended */
                continue;
            tn_tokenlock_lock(&d->lock, tn_process());
            descriptor_clear(d);
            tn_tokenlock_unlock(&d->lock);
        }
    }
}

/* ---- events ---- */

static uint64_t key_of(const struct tn_way *w, int fd)
{
    return (uint64_t)tn_way_generation(w) << 32 | (uint32_t)fd;
}

void tn_io_event(struct tn_cluster *cl, uint64_t key, unsigned ways, unsigned ended, struct tn_list *ready)
{
    struct descriptor *d = descriptor_at((int)(uint32_t)key);
    struct tn_claims claims = {NULL, NULL};
    for (unsigned i = 0; i < TN_WAYS; i++)
        if ((ways >> i & 1) != 0)
            tn_way_event(&d->way[i], (uint32_t)(key >> 32), (ended >> i & 1) != 0, &claims);
    let_go(claims, cl, ready);
}

/* By a fibre: from here on its runtime's events reach the descriptor. An errno value. */
static int descriptor_arm(struct descriptor *d, int fd, unsigned way, uint32_t generation)
{
    struct cluster *cl = cluster_of(tn_cluster_self());
    int rc = 0;
    if (binding_poller->arm == NULL)
        return ENOSYS;
    tn_tokenlock_lock(&d->lock, tn_process());
    if (tn_way_generation(&d->way[way]) != generation ||
        atomic_load_explicit(&d->known, memory_order_relaxed) <= known_as(IO_CLOSING)) /* relaxed: under the lock */
        rc = ECANCELED;
    else if (atomic_load_explicit(&d->armed, memory_order_relaxed) == NULL) { /* relaxed: so too */
        rc = binding_poller->arm(cl->poller, fd, key_of(&d->way[way], fd));
        if (rc == 0)
            atomic_store_explicit(&d->armed, cl, memory_order_relaxed); /* relaxed: so too */
    }
    tn_tokenlock_unlock(&d->lock);
    return rc;
}

static inline bool descriptor_armed(struct descriptor *d)
{
    return atomic_load_explicit(&d->armed, memory_order_relaxed) !=
           NULL; /* relaxed: it stays so until it is closed */
}

/* Do the fibres of rt wait for it, and no other's? */
static bool descriptor_owned(struct descriptor *d, struct runtime *rt)
{
    struct runtime *owner = atomic_load_explicit(&d->owner, memory_order_relaxed); /* relaxed: compared only */
    return owner == rt || (owner == NULL && (atomic_compare_exchange_strong_explicit(
                                                 &d->owner, &owner, rt, memory_order_relaxed, memory_order_relaxed) ||
                                             owner == rt));
}

/* ---- calls ---- */

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

static ssize_t thread_do(struct tn_way *w, int fd, unsigned way, io_call *call, void *arg, tn_time deadline,
                         tn_token *token)
{
    uint32_t generation = tn_way_generation(w);
    ssize_t n;
    while ((n = attempt(fd, call, arg)) < 0 && would_block()) {
        int rc = thread_wait(w, fd, way, generation, deadline, token);
        if (rc != 0)
            return failed(rc);
    }
    return n;
}

/* By the fibre whose turn it is. */
static ssize_t turn_do(struct descriptor *d, int fd, unsigned way, uint32_t generation, io_call *call, void *arg,
                       size_t asked, tn_time deadline, tn_token *token)
{
    struct tn_way *w = &d->way[way];
    bool waits = tn_way_dry(w), called = false, late = false;
    if (tn_way_generation(w) != generation)
        return failed(ECANCELED);
    if (!waits)
        tn_way_begin(w);
    for (;; waits = true) {
        if (waits) {
            int rc = descriptor_arm(d, fd, way, generation);
            if (rc == 0)
                rc = tn_way_wait(w, generation, deadline, token);
            late = rc == ETIMEDOUT && !called; /* what can be done at once is done */
            if (rc != 0 && !late)
                return failed(rc);
        }
        bool armed = descriptor_armed(d);
        ssize_t n = attempt(fd, call, arg);
        called = true;
        w->dry = armed && n > 0 && (size_t)n < asked;
        if (n >= 0 || !would_block())
            return n;
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

static ssize_t file_do(int fd, io_call *call, void *arg)
{
    struct blocks b = {call, arg, fd, -1};
    int rc = tn_blocking(blocks, &b, NULL);
    return rc == 0 ? b.n : failed(rc);
}

ssize_t io_do(int fd, unsigned way, io_call *call, void *arg, size_t asked, tn_time deadline, tn_token *token)
{
    enum io_kind kind;
    struct descriptor *d = descriptor_of(fd, &kind);
    if (d == NULL)
        return -1;
    if (kind == IO_FILE)
        return file_do(fd, call, arg);
    struct worker *self = tn_self();
    if (self == NULL)
        return thread_do(&d->way[way], fd, way, call, arg, deadline, token);
    uint32_t generation = tn_way_generation(&d->way[way]);
    if (!descriptor_owned(d, cluster_of(self->pub.cluster)->rt))
        return failed(EBUSY);
    int rc = tn_mutex_lock_until(&d->way[way].turn, deadline, token);
    if (rc != 0)
        return failed(rc);
    ssize_t n = turn_do(d, fd, way, generation, call, arg, kind == IO_STREAM ? asked : 0, deadline, token);
    tn_mutex_unlock(&d->way[way].turn);
    return n;
}

TN_API ssize_t tn_io(int fd, int way, io_call *call, void *arg, tn_time deadline, tn_token *token)
{
    if (way != TN_IO_IN && way != TN_IO_OUT)
        return failed(EINVAL);
    return io_do(fd, (unsigned)way, call, arg, 0, deadline, token);
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
    struct descriptor *d = (struct descriptor *)(void *)(w - way);
    struct worker *self = tn_self();
    int fd = (int)(intptr_t)arm->item;
    if (d == &no_descriptor || self == NULL || !descriptor_owned(d, cluster_of(self->pub.cluster)->rt)) {
        arm->rc = d == &no_descriptor ? EBADF : self == NULL ? EPERM : EBUSY;
        return true;
    }
    /* relaxed: a file stays one until it is closed */
    bool file = atomic_load_explicit(&d->known, memory_order_relaxed) == known_as(IO_FILE);
    arm->rc = file ? 0 : descriptor_arm(d, fd, way, tn_way_generation(w));
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
