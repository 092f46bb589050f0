/* SPDX-License-Identifier: MIT */
/*
 * Descriptors: the vector of them, how they become known and are closed, and how events reach them. The vector is the
 * process's, as the numbers are.
 */
#include "descriptors.h"

/* ---- the vector ---- */

_Atomic(struct descriptor *) descriptor_parts[DESCRIPTOR_PARTS];

/* NULL, with errno. What is no descriptor has no part made for it, which might be a hundred million long. */
static __attribute__((noinline)) struct descriptor *part_make(unsigned i, int fd)
{
    size_t bytes = ((size_t)DESCRIPTOR_FIRST << i) * sizeof(struct descriptor);
    bool exists = sys_exists(fd);
    struct descriptor *part = NULL, *mine = exists ? tn_map(bytes) : NULL;
    if (mine == NULL) {
        errno = exists ? ENOMEM : EBADF;
        return NULL;
    }
    /* V0: it is zero */
    if (atomic_compare_exchange_strong_explicit(&descriptor_parts[i], &part, mine, memory_order_acq_rel,
                                                memory_order_acquire))
        return mine;
    tn_unmap(mine, bytes);
    return part;
}

static inline struct descriptor *descriptor_at(int fd)
{
    unsigned i = descriptor_part((unsigned)fd);
    struct descriptor *part = atomic_load_explicit(&descriptor_parts[i], memory_order_acquire); /* V0 acquire */
    if (__builtin_expect(part == NULL, 0))
        part = part_make(i, fd);
    return part != NULL ? descriptor_in(part, i, (unsigned)fd) : NULL;
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

/* Under the lock: nothing is left of what a parent's fibres, and its threads, did with it. */
static void descriptor_clear(struct descriptor *d)
{
    for (unsigned i = 0; i < TN_WAYS; i++) {
        struct tn_way *w = way_of(d, i);
        uint32_t generation = tn_way_generation(w) + 1;
        memset(w, 0, sizeof *w);
        atomic_store_explicit(&w->generation, generation, memory_order_relaxed); /* relaxed: under the lock */
    }
    memset(&d->ahead, 0, sizeof d->ahead);
}

/* Under the lock. */
static void descriptor_unarmed(struct descriptor *d)
{
    atomic_store_explicit(&d->armed, NULL, memory_order_relaxed); /* relaxed, both: under the lock, or a hint */
    atomic_store_explicit(&d->told, 0, memory_order_relaxed);
}

/* Under the lock: no runtime waits for it. */
static void descriptor_disowned(struct descriptor *d)
{
    atomic_store_explicit(&d->owner, NULL, memory_order_relaxed); /* relaxed: under the lock */
    descriptor_unarmed(d);
}

/* Under the lock: the number is somebody else's from now on. */
static void descriptor_renew(struct descriptor *d, uint32_t known)
{
    if (known / IO_KINDS != tn_process())
        descriptor_clear(d);
    descriptor_disowned(d);
}

static uint64_t key_of(const struct tn_way *w, int fd)
{
    return (uint64_t)tn_way_generation(w) << 32 | (uint32_t)fd;
}

/* Under the lock, before its ways are ended. */
static void descriptor_disarm(struct descriptor *d, int fd)
{
    void *place = atomic_load_explicit(&d->armed, memory_order_relaxed); /* relaxed: under the lock */
    if (place != NULL)
        binding_poller->disarm(place, key_of(&d->in, fd));
    descriptor_unarmed(d);
}

static void ways_end(struct descriptor *d)
{
    struct tn_claims claims = {NULL, NULL};
    for (unsigned i = 0; i < TN_WAYS; i++) {
        struct tn_under_way under_way = tn_way_end(way_of(d, i), &claims);
        if (under_way.request != NULL)
            binding_poller->withdraw(under_way.place, under_way.request);
    }
    tn_claims_let_go(claims);
    if (binding_poller->drop != NULL)
        binding_poller->drop(&d->ahead);
}

/* With the lock, what it is known as. Where somebody is closing it, and has not returned, it will soon be nobody's, or somebody
 * else's: that is waited for. */
static uint32_t lock_known(struct descriptor *d)
{
    for (unsigned spins = 0;;) {
        tn_tokenlock_lock(&d->lock, tn_process());
        uint32_t known = atomic_load_explicit(&d->known, memory_order_relaxed); /* relaxed: under the lock */
        if (known != known_as(IO_CLOSING))
            return known;
        tn_tokenlock_unlock(&d->lock);
        while (atomic_load_explicit(&d->known, memory_order_relaxed) == known) /* relaxed: looked at under it again */
            tn_spin_wait(&spins);
    }
}

/* What it is, which is looked at if nobody knows. IO_UNKNOWN, with errno: there is no such descriptor. */
static __attribute__((noinline)) enum io_kind descriptor_look(struct descriptor *d, int fd)
{
    uint32_t known = lock_known(d);
    enum io_kind kind = known / IO_KINDS == tn_process() ? (enum io_kind)(known % IO_KINDS) : IO_UNKNOWN;
    if (kind == IO_UNKNOWN && (kind = sys_kind(fd)) != IO_UNKNOWN) {
        descriptor_renew(d, known);
        atomic_store_explicit(&d->known, known_as(kind), memory_order_release); /* KN0 release: all of it */
    }
    tn_tokenlock_unlock(&d->lock);
    return kind;
}

struct descriptor *descriptor_find(int fd)
{
    struct descriptor *d = fd >= 0 ? descriptor_at(fd) : NULL;
    if (d == NULL) {
        errno = fd >= 0 ? errno : EBADF;
        return NULL;
    }
    return descriptor_look(d, fd) != IO_UNKNOWN ? d : NULL;
}

uint32_t io_generation(int fd)
{
    struct descriptor *d = fd >= 0 ? descriptor_at(fd) : NULL;
    return d != NULL ? tn_way_generation(&d->in) : 0;
}

/* Of the number that was `like`'s in that generation; IO_UNKNOWN: it is no more. */
static enum io_kind kind_of(int like, uint32_t generation)
{
    struct descriptor *d = descriptor_at(like);
    if (d == NULL)
        return IO_UNKNOWN;
    uint32_t known = atomic_load_explicit(&d->known, memory_order_acquire); /* KN0 acquire */
    return known / IO_KINDS == tn_process() && known % IO_KINDS > IO_CLOSING && io_generation(like) == generation
               ? (enum io_kind)(known % IO_KINDS)
               : IO_UNKNOWN;
}

void io_fresh(int fd, int like, uint32_t generation_like)
{
    struct descriptor *d = descriptor_at(fd);
    enum io_kind kind = like >= 0 ? kind_of(like, generation_like) : IO_UNKNOWN;
    if (d == NULL)
        return; /* whoever uses it is told */
    uint32_t known = lock_known(d);
    if (known / IO_KINDS == tn_process() && known != known_as(IO_UNKNOWN)) {
        /* It was closed behind our back, or somebody had the number too early. Not with the lock: tn_select takes it last. */
        descriptor_disarm(d, fd);
        /* relaxed: under the lock */
        atomic_store_explicit(&d->known, known_as(IO_CLOSING), memory_order_relaxed);
        tn_tokenlock_unlock(&d->lock);
        ways_end(d);
        tn_tokenlock_lock(&d->lock, tn_process());
    }
    descriptor_renew(d, known);
    atomic_store_explicit(&d->known, known_as(kind), memory_order_release); /* KN0 release */
    uint32_t generation = tn_way_generation(&d->in);
    tn_tokenlock_unlock(&d->lock);
    if (kind > IO_FILE)
        descriptor_arm_early(d, fd, TN_WAY_IN, generation);
}

int io_close(int fd, int (*close)(int fd))
{
    struct descriptor *d = fd >= 0 ? descriptor_at(fd) : NULL;
    if (d == NULL)
        return close(fd);
    uint32_t known = lock_known(d);
    bool used = known / IO_KINDS == tn_process() && known % IO_KINDS > IO_CLOSING;
    if (used)
        descriptor_disarm(d, fd);
    else
        descriptor_renew(d, known);
    /* relaxed: under the lock. Also if nobody has used it: who begins to just now would know it, and the next owner's not */
    atomic_store_explicit(&d->known, known_as(IO_CLOSING), memory_order_relaxed);
    tn_tokenlock_unlock(&d->lock);
    if (used) {
        ways_end(d);
        for (unsigned i = 0; i < TN_WAYS; i++)
            tn_way_await(way_of(d, i));
    }
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
    for (unsigned i = 0; i < DESCRIPTOR_PARTS; i++) {
        struct descriptor *part = atomic_load_explicit(&descriptor_parts[i], memory_order_acquire); /* V0 acquire */
        for (size_t n = 0; part != NULL && n < (size_t)DESCRIPTOR_FIRST << i; n++) {
            struct descriptor *d = &part[n];
            /* relaxed: set by what has ended; a parent's descriptors, or nobody's */
            if (atomic_load_explicit(&d->known, memory_order_relaxed) / IO_KINDS != tn_process())
                continue;
            tn_tokenlock_lock(&d->lock, tn_process());
            /* relaxed: it alone could make it another one's. A thread may be at it, and goes on. */
            if (atomic_load_explicit(&d->owner, memory_order_relaxed) == rt) {
                for (unsigned way = 0; way < TN_WAYS; way++)
                    tn_way_forget(way_of(d, way));
                if (binding_poller->drop != NULL)
                    binding_poller->drop(&d->ahead);
                descriptor_disowned(d);
            }
            tn_tokenlock_unlock(&d->lock);
        }
    }
}

/* ---- events ---- */

void tn_io_expect(uint64_t key)
{
    if (tn_self() == NULL) /* a poller's own thread: it would take them away from the fibre's worker */
        return;
    struct descriptor *d = descriptor_at((int)(uint32_t)key);
    __builtin_prefetch(&d->in, 1);
    __builtin_prefetch(&d->out, 1); /* who has read writes next, as a rule */
}

/* Of a fibre that waits in tn_recv these are the lines that it has used since it was woken last, and will use again: from the
 * switch to the caller's variables. And where the kernel will write. */
enum { SLEEPER_BELOW = 6, SLEEPER_ABOVE = 5 };

void tn_io_expect_sleeper(uint64_t key)
{
    if (tn_self() == NULL)
        return;
    struct descriptor *d = descriptor_at((int)(uint32_t)key);
    /* relaxed, both: hints, which are fetched and not looked at */
    uint64_t hint = atomic_load_explicit(&d->sleeper, memory_order_relaxed);
    const char *buffer = atomic_load_explicit(&d->buffer, memory_order_relaxed);
    uintptr_t f = (uintptr_t)(hint >> 16), frame = f - (hint & 0xffff) * TN_CACHE_LINE;
    __builtin_prefetch((const void *)f, 1);
    __builtin_prefetch((const void *)(f + TN_CACHE_LINE), 1);
    __builtin_prefetch(buffer, 1);
    __builtin_prefetch(buffer + TN_CACHE_LINE, 1);
    for (uintptr_t i = 0; i < SLEEPER_BELOW + SLEEPER_ABOVE; i++)
        __builtin_prefetch((const void *)(frame + (i - SLEEPER_BELOW) * TN_CACHE_LINE), 1);
}

void tn_io_event(struct tn_cluster *cl, uint64_t key, unsigned ways, unsigned ended, struct tn_list *ready)
{
    struct descriptor *d = descriptor_at((int)(uint32_t)key);
    struct tn_claims claims = {NULL, NULL};
    if ((ways >> TN_WAY_IN & 1) != 0)
        tn_way_event(&d->in, (uint32_t)(key >> 32), (ended >> TN_WAY_IN & 1) != 0, &claims);
    if ((ways >> TN_WAY_OUT & 1) != 0)
        tn_way_event(&d->out, (uint32_t)(key >> 32), (ended >> TN_WAY_OUT & 1) != 0, &claims);
    let_go(claims, cl, ready);
}

enum { BOTH_WAYS = 1 << TN_WAY_IN | 1 << TN_WAY_OUT };

bool tn_io_unarmed(struct tn_cluster *cl, uint64_t key, unsigned ways, unsigned ended, struct tn_list *ready,
                   int (*again)(void *place, int fd, uint64_t key, unsigned ways))
{
    int fd = (int)(uint32_t)key;
    struct descriptor *d = descriptor_at(fd);
    tn_tokenlock_lock(&d->lock, tn_process());
    bool was = tn_way_generation(&d->in) == (uint32_t)(key >> 32) && descriptor_armed(d);
    /* relaxed, all: under the lock */
    unsigned left = was ? atomic_load_explicit(&d->told, memory_order_relaxed) & ~ways : 0;
    if (left != 0 && again(atomic_load_explicit(&d->armed, memory_order_relaxed), fd, key, left) != 0) {
        left = 0;
        ways = BOTH_WAYS; /* who waits is told when it asks */
    }
    if (was && left != 0)
        atomic_store_explicit(&d->told, left, memory_order_relaxed);
    else if (was)
        descriptor_unarmed(d);
    tn_tokenlock_unlock(&d->lock);
    tn_io_event(cl, key, ways, ended, ready);
    return was && left == 0;
}

void tn_io_unarmed_all(struct tn_cluster *cl, void *place, struct tn_list *ready)
{
    for (unsigned i = 0; i < DESCRIPTOR_PARTS; i++) {
        struct descriptor *part = atomic_load_explicit(&descriptor_parts[i], memory_order_acquire); /* V0 acquire */
        for (size_t n = 0; part != NULL && n < (size_t)DESCRIPTOR_FIRST << i; n++) {
            struct descriptor *d = &part[n];
            /* relaxed, both: it was armed by who asks; or by a parent, or is not now */
            if (atomic_load_explicit(&d->known, memory_order_relaxed) / IO_KINDS != tn_process() ||
                atomic_load_explicit(&d->armed, memory_order_relaxed) != place)
                continue;
            int fd = (int)(n + ((size_t)DESCRIPTOR_FIRST << i)) - DESCRIPTOR_FIRST;
            uint64_t key = key_of(&d->in, fd);
            tn_tokenlock_lock(&d->lock, tn_process());
            if (atomic_load_explicit(&d->armed, memory_order_relaxed) == place) /* relaxed: under the lock */
                descriptor_disarm(d, fd);
            tn_tokenlock_unlock(&d->lock);
            tn_io_event(cl, key, BOTH_WAYS, 0, ready);
        }
    }
}

struct tn_ahead *tn_io_ahead(uint64_t key)
{
    return &descriptor_at((int)(uint32_t)key)->ahead;
}

void tn_io_over(struct tn_cluster *cl, struct tn_request *request, int64_t result, struct tn_list *ready)
{
    struct tn_claims claims = {NULL, NULL};
    tn_request_over(request, result, &claims);
    let_go(claims, cl, ready);
}

bool descriptor_claim(struct descriptor *d, unsigned way, uint32_t generation, struct runtime *rt)
{
    tn_tokenlock_lock(&d->lock, tn_process());
    struct runtime *owner = atomic_load_explicit(&d->owner, memory_order_relaxed); /* relaxed, both: under the lock */
    bool over = tn_way_generation(way_of(d, way)) != generation;
    if (owner == NULL && !over)
        atomic_store_explicit(&d->owner, rt, memory_order_relaxed);
    tn_tokenlock_unlock(&d->lock);
    return owner == NULL || owner == rt || over;
}

bool descriptor_is_file(struct descriptor *d)
{
    return atomic_load_explicit(&d->known, memory_order_relaxed) == known_as(IO_FILE); /* relaxed: a constant */
}

int descriptor_arm(struct descriptor *d, int fd, unsigned way, uint32_t generation)
{
    struct worker *self = tn_self();
    int rc = 0;
    if (binding_poller->arm == NULL)
        return ENOSYS;
    tn_tokenlock_lock(&d->lock, tn_process());
    void *place = atomic_load_explicit(&d->armed, memory_order_relaxed); /* relaxed: under the lock */
    unsigned told = atomic_load_explicit(&d->told, memory_order_relaxed),
             ways = told | 1u << way; /* relaxed: so too */
    if (tn_way_generation(way_of(d, way)) != generation ||
        atomic_load_explicit(&d->known, memory_order_relaxed) <= known_as(IO_CLOSING)) /* relaxed: so too */
        rc = ECANCELED;
    else if (ways != told) {
        rc = binding_poller->arm(cluster_of(self->pub.cluster)->poller, &self->pub, fd, key_of(way_of(d, way), fd),
                                 &ways, &place);
        if (rc == 0) {
            atomic_store_explicit(&d->armed, place, memory_order_relaxed); /* relaxed, both: so too */
            atomic_store_explicit(&d->told, ways, memory_order_relaxed);
        }
    }
    tn_tokenlock_unlock(&d->lock);
    return rc;
}

void descriptor_arm_early(struct descriptor *d, int fd, unsigned way, uint32_t generation)
{
    struct worker *self = tn_self();
    struct cluster *cl = self != NULL ? cluster_of(self->pub.cluster) : NULL;
    if (cl != NULL && !descriptor_armed(d) && (cl->calls & TN_CALLS_EAGER) != 0 &&
        descriptor_owned(d, way, generation, cl->rt))
        descriptor_arm(d, fd, way, generation);
}
