/* SPDX-License-Identifier: MIT */
/*
 * What the cases on trigger=level share: a descriptor as io/descriptors.c has it, the registration of io/pollers/epoll.h, and in
 * place of the kernel one word that says what is ready and what is registered for its next event.
 */
#ifndef LEVEL_CASE_H
#define LEVEL_CASE_H

#include "list-case.h"

/* ---- of core/internal.h, what these files need ---- */

#define TN_INTERNAL_H
#include "poller.h"
#include "scheduler.h"
#include "tokenlock.h"

struct runtime {
    int unused;
};

struct cluster {
    struct tn_cluster pub; /* first */
    void *poller;
    unsigned calls;
    struct runtime *rt;
};

struct worker {
    struct tn_worker pub; /* first */
};

struct fibre {
    struct tn_link link;
    struct tn_cluster *cluster;
};

static struct runtime the_runtime;
static struct cluster the_cluster;
static struct worker the_worker;
extern const struct tn_poller *const binding_poller;

void *tn_self(void)
{
    return &the_worker;
}

static inline struct cluster *cluster_of(struct tn_cluster *cl)
{
    return (struct cluster *)(void *)cl;
}

int *tn_errno(void)
{
    static _Thread_local int err;
    return &err;
}

unsigned tn_process(void)
{
    return 1;
}

/* ---- the kernel ---- */

enum {
    IN = 1 << 0, /* what is asked for, times ASKED, and OUT also by itself: it can be written */
    OUT = 1 << 1,
    ASKED = 1 << 2,
    ADDED = 1 << 4,
    NEXT = 1 << 5,   /* by the number's next owner */
    CLOSED = 1 << 6, /* once */
    ENDED = 1 << 7,  /* so many threads that waited, 3 at most */
    BYTE = 1 << 9    /* so many that can be read */
};
static _Atomic(uint32_t) kernel; /* relaxed: the order of all else goes by locks */

static inline uint32_t kernel_ready(uint32_t k)
{
    return (k & OUT) | (k >= BYTE ? IN : 0u);
}

static inline void kernel_tells(uint32_t more)
{
    atomic_fetch_add_explicit(&kernel, more, memory_order_relaxed);
}

struct epoll_event;
static int case_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event);

/* The instance is open from the start. */
static inline int case_never(void)
{
    assert(false);
    return -1;
}

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#define epoll_ctl            case_epoll_ctl
#define epoll_create1(flags) case_never()
#define eventfd(n, flags)    case_never()
#define close(fd)            case_never()
#include "io/pollers/epoll.h"
#undef close
#include "io/descriptors.c"

static int case_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event)
{
    uint32_t k = atomic_load_explicit(&kernel, memory_order_relaxed), next;
    (void)epoll;
    do {
        if ((what == EPOLL_CTL_ADD) == ((k & ADDED) != 0)) {
            errno = what == EPOLL_CTL_ADD ? EEXIST : ENOENT;
            return -1;
        }
        assert(what == EPOLL_CTL_DEL || (event->events & EPOLLONESHOT) != 0);
        next = k & ~(uint32_t)(NEXT | ADDED | 3 * ASKED);
        if (what != EPOLL_CTL_DEL) {
            assert((uint32_t)event->data.u64 == (uint32_t)fd);
            next |= ADDED | (event->data.u64 >> 32 != 0 ? NEXT : 0u) |
                    ((event->events & EPOLLIN) != 0 ? IN * ASKED : 0u) |
                    ((event->events & EPOLLOUT) != 0 ? OUT * ASKED : 0u);
        }
    } while (!atomic_compare_exchange_strong_explicit(&kernel, &k, next, memory_order_relaxed, memory_order_relaxed));
    return 0;
}

/* ---- the poller, and calls ---- */

enum { FD = 5 };
static struct tn_epoll the_epoll;
static struct descriptor first_part[DESCRIPTOR_FIRST];
static struct descriptor *const the_descriptor = &first_part[FD];

static int arms(void *state, struct tn_worker *me, int fd, uint64_t key, unsigned *ways, void **place)
{
    (void)me;
    return tn_epoll_arm(state, fd, key, ways, place);
}

static void disarms(void *place, uint64_t key)
{
    tn_epoll_disarm(place, key);
}

static const struct tn_poller the_poller = {.arm = arms, .disarm = disarms};
const struct tn_poller *const binding_poller = &the_poller;

void *tn_map(size_t bytes)
{
    (void)bytes;
    return NULL;
}

void tn_unmap(void *at, size_t bytes)
{
    (void)at, (void)bytes;
}

bool sys_exists(int fd)
{
    return fd == FD;
}

static _Atomic(bool) blocks; /* the file that has the number: until somebody looks at it. relaxed: see kernel */

enum io_kind sys_kind(int fd)
{
    (void)fd;
    atomic_store_explicit(&blocks, false, memory_order_relaxed);
    return IO_POLLED;
}

/* As who is about to call on it finds it. */
static inline bool is_known(void)
{
    enum io_kind kind;
    uint32_t generation;
    return descriptor_of(FD, TN_WAY_IN, &kind, &generation) == the_descriptor && kind == IO_POLLED;
}

static inline void open_descriptor(void)
{
    memset(the_descriptor, 0, sizeof *the_descriptor);
    memset(&the_epoll, 0, sizeof the_epoll);
    the_epoll.level = the_epoll.open = true;
    the_worker.pub.cluster = &the_cluster.pub;
    the_cluster.poller = &the_epoll;
    the_cluster.rt = &the_runtime;
    atomic_init(&kernel, 0);
    atomic_init(&descriptor_parts[0], first_part);
    tn_tokenlock_init(&the_descriptor->lock, tn_process());
    atomic_init(&the_descriptor->known, known_as(IO_POLLED));
}

/* It tells an event that there is, and whether there was. Where nothing is known to be armed pollers do not look. */
static inline bool polls(void)
{
    struct tn_list ready = {NULL};
    uint32_t k = atomic_load_explicit(&kernel, memory_order_relaxed), some;
    while ((some = k / ASKED & kernel_ready(k)) != 0 && tn_epoll_pending(&the_epoll))
        if (atomic_compare_exchange_strong_explicit(&kernel, &k, k & ~(uint32_t)(3 * ASKED), memory_order_relaxed,
                                                    memory_order_relaxed)) {
            tn_epoll_tell(&the_epoll, ((k & NEXT) != 0 ? (uint64_t)1 << 32 : 0) | FD,
                          ((some & IN) != 0 ? EPOLLIN : 0u) | ((some & OUT) != 0 ? EPOLLOUT : 0u), &ready);
            return true;
        }
    return false;
}

/* Until so many that wait have ended. */
static inline void polls_on(uint32_t ended)
{
    unsigned spins = 0;
    while (atomic_load_explicit(&kernel, memory_order_relaxed) / ENDED % 4 != ended)
        if (!polls())
            tn_spin_wait(&spins);
}

/* The loop of io/io.c around a call; `waits`: it has called already. 0, or an errno value. */
static inline int calls(unsigned way, uint32_t generation, bool waits)
{
    for (;; waits = true) {
        struct tn_way *w = way_of(the_descriptor, way);
        int rc =
            waits && !descriptor_tells(the_descriptor, way) ? descriptor_arm(the_descriptor, FD, way, generation) : 0;
        if (waits && rc == 0)
            rc = tn_way_wait(w, generation, true, TN_FOREVER, NULL);
        if (rc != 0)
            return rc;
        if (!tn_way_begin(w, generation))
            return ECANCELED;
        uint32_t k = atomic_load_explicit(&kernel, memory_order_relaxed);
        bool good = (kernel_ready(k) & (way == TN_WAY_IN ? IN : OUT)) != 0;
        if (good && way == TN_WAY_IN)
            atomic_fetch_sub_explicit(&kernel, BYTE, memory_order_relaxed);
        tn_way_called(w);
        if (good)
            return 0;
    }
}

/* What the kernel, the descriptor and the poller know of it is the same. */
static inline void all_agree(void)
{
    uint32_t asked = atomic_load_explicit(&kernel, memory_order_relaxed) / ASKED & (IN | OUT);
    bool armed = descriptor_armed(the_descriptor);
    assert(armed == (asked != 0));
    assert(atomic_load_explicit(&the_epoll.armed, memory_order_relaxed) == armed);
}

#endif
