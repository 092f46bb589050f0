/* SPDX-License-Identifier: MIT
 *
 * What the pollers on epoll share: one instance with an event source in it that ends a wait.
 */
#ifndef TN_POLLERS_EPOLL_H
#define TN_POLLERS_EPOLL_H

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "poller.h"
#include "queues/spinlock.h"

/* What each of them has in its table of knobs. */
#define TN_EPOLL_KNOBS(K)                                                                                         \
    K(trigger, "edge|level", 0, 0, 1, "",                                                                         \
      "how often a descriptor is registered: once; or each time that a call has to wait, for what it waits for",  \
      "000 §3.4.2")                                                                                               \
    K(lazy, "off|on", 1, 0, 1, "",                                                                                \
      "register a descriptor when a call would have to wait, rather than as it comes from tn_accept or with its " \
      "first",                                                                                                    \
      "000 §3.4.2")                                                                                               \
    K(yield, "off|on", 0, 0, 1, "", "other fibres come first, before each call that reads", "000 §4.3")

/* Its values, of the poller `owner`. */
#define TN_EPOLL_SET(e, owner, knobs)                                        \
    ((e)->level = TN_KNOB(knobs, owner, trigger) == 1,                       \
     (e)->calls = (TN_KNOB(knobs, owner, lazy) == 0 ? TN_CALLS_EAGER : 0u) | \
                  (TN_KNOB(knobs, owner, yield) == 1 ? TN_CALLS_YIELD : 0u))

/* Zeroed but for `cl`, `batch` and what knobs set, it is not open. */
struct tn_epoll {
    struct tn_cluster *cl;
    unsigned calls;          /* what is done around them (poller.h) */
    bool level;              /* a registration ends with its first event */
    int batch;               /* events that one look takes at most; 0: as many as there is room for */
    struct tn_spinlock lock; /* over being opened */
    bool open;               /* under the lock */
    int fd, wakes;           /* the instance, and what ends its wait; they stay when it is open */
    _Atomic(uint32_t) armed; /* descriptors */
};

enum { TN_EPOLL_EVENTS = 64 };
#define TN_EPOLL_WAKES UINT64_MAX /* the key of the event source: nobody's, since -1 is no descriptor */

static inline int tn_epoll_open_(struct tn_epoll *e)
{
    e->fd = epoll_create1(EPOLL_CLOEXEC);
    e->wakes = e->fd >= 0 ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    /* Not edge-triggered: who only looks must not take the wake-up away from the one that it is meant for. */
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = TN_EPOLL_WAKES};
    if (e->wakes >= 0 && epoll_ctl(e->fd, EPOLL_CTL_ADD, e->wakes, &event) == 0)
        return 0;
    int err = errno;
    if (e->wakes >= 0)
        close(e->wakes);
    if (e->fd >= 0)
        close(e->fd);
    return err;
}

/* Unless it is open already. Any thread. */
static inline int tn_epoll_open(struct tn_epoll *e)
{
    tn_spinlock_lock(&e->lock);
    int err = e->open ? 0 : tn_epoll_open_(e);
    e->open = err == 0;
    tn_spinlock_unlock(&e->lock);
    return err;
}

static inline void tn_epoll_close(struct tn_epoll *e)
{
    if (!e->open)
        return;
    close(e->wakes);
    close(e->fd);
}

/* Those directions are told, and no others: what happens to the input of a descriptor says nothing of its output, and most
 * never have to wait for that. What is ready already is an event too. `there`: it may be registered. */
static inline int tn_epoll_set(struct tn_epoll *e, int fd, uint64_t key, unsigned ways, uint32_t how, bool there)
{
    uint32_t in = (ways & 1) != 0 ? EPOLLIN | EPOLLPRI | EPOLLRDHUP : 0, out = (ways & 2) != 0 ? EPOLLOUT : 0;
    struct epoll_event event = {.events = in | out | how, .data.u64 = key};
    int rc = there ? epoll_ctl(e->fd, EPOLL_CTL_MOD, fd, &event) : -1;
    if (!there || (rc != 0 && errno == ENOENT))
        rc = epoll_ctl(e->fd, EPOLL_CTL_ADD, fd, &event);
    return rc != 0 ? errno : 0;
}

/* Until the first event. */
static inline int tn_epoll_set_level(void *place, int fd, uint64_t key, unsigned ways)
{
    return tn_epoll_set(place, fd, key, ways, EPOLLONESHOT, true);
}

/* In `e`, or where it is already. */
static inline int tn_epoll_arm(struct tn_epoll *e, int fd, uint64_t key, unsigned *ways, void **place)
{
    bool more = *place != NULL;
    e = more ? *place : e;
    *place = e;
    int err = tn_epoll_open(e);
    if (err == 0)
        err = e->level ? tn_epoll_set_level(e, fd, key, *ways) : tn_epoll_set(e, fd, key, *ways, EPOLLET, more);
    if (err == 0 && !more)
        atomic_fetch_add_explicit(&e->armed, 1, memory_order_release); /* EP0 release: it is open */
    return err;
}

static inline void tn_epoll_disarm(struct tn_epoll *e, uint64_t key)
{
    struct epoll_event none = {0};
    epoll_ctl(e->fd, EPOLL_CTL_DEL, (int)(uint32_t)key, &none);
    atomic_fetch_sub_explicit(&e->armed, 1, memory_order_release); /* EP0 release: so too */
}

/* Is anything armed? Then it is open. */
static inline bool tn_epoll_pending(struct tn_epoll *e)
{
    return atomic_load_explicit(&e->armed, memory_order_acquire) != 0; /* EP0 acquire */
}

static inline void tn_epoll_wake(struct tn_epoll *e)
{
    uint64_t one = 1;
    (void)!write(e->wakes, &one, sizeof one);
}

/* Of a descriptor, what epoll_wait or poll told of it. */
static inline unsigned tn_epoll_ways(uint32_t what, unsigned *ended)
{
    bool gone = (what & (EPOLLHUP | EPOLLERR)) != 0, last = gone || (what & (EPOLLRDHUP | EPOLLPRI)) != 0;
    bool in = last || (what & EPOLLIN) != 0, out = gone || (what & EPOLLOUT) != 0;
    *ended = (unsigned)last | (unsigned)gone << 1;
    return (unsigned)in | (unsigned)out << 1;
}

static inline void tn_epoll_tell(struct tn_epoll *e, uint64_t key, uint32_t what, struct tn_list *ready)
{
    unsigned ended, ways = tn_epoll_ways(what, &ended);
    if (!e->level)
        tn_io_event(e->cl, key, ways, ended, ready);
    else if (tn_io_unarmed(e->cl, key, ways, ended, ready, tn_epoll_set_level))
        atomic_fetch_sub_explicit(&e->armed, 1, memory_order_release); /* EP0 release: it is open */
}

/* Before the event `i`: what those that follow will need is on its way. */
enum { TN_EPOLL_AHEAD = 3 };
static inline void tn_epoll_expect(const struct epoll_event *events, int n, int i)
{
    int at = i + 2 * TN_EPOLL_AHEAD;
    if (at < n && events[at].data.u64 != TN_EPOLL_WAKES)
        tn_io_expect(events[at].data.u64);
    at = i + TN_EPOLL_AHEAD;
    if (at >= 0 && at < n && events[at].data.u64 != TN_EPOLL_WAKES)
        tn_io_expect_sleeper(events[at].data.u64);
}

/* Wait until `deadline`; 0: only look. Returns how many events came; fibres that they wake go to `ready`. */
static inline int tn_epoll_collect(struct tn_epoll *e, tn_time deadline, struct tn_list *ready)
{
    struct epoll_event events[TN_EPOLL_EVENTS];
    int most = e->batch != 0 ? e->batch : TN_EPOLL_EVENTS;
    tn_time now = deadline != 0 && deadline != UINT64_MAX ? tn_now() : 0, left = deadline > now ? deadline - now : 0;
    struct timespec ts = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    int n = epoll_pwait2(e->fd, events, most, deadline != UINT64_MAX ? &ts : NULL, NULL);
    if (n < 0 && errno == ENOSYS) /* before Linux 5.11 */
        n = epoll_wait(e->fd, events, most,
                       deadline == UINT64_MAX ? -1
                       : left > 3600000000000 ? 3600000
                                              : (int)((left + 999999) / 1000000));
    for (int i = -2 * TN_EPOLL_AHEAD; i < 0; i++)
        tn_epoll_expect(events, n, i);
    for (int i = 0; i < n; i++) {
        uint64_t woken;
        tn_epoll_expect(events, n, i);
        if (events[i].data.u64 == TN_EPOLL_WAKES) {
            if (deadline != 0)
                (void)!read(e->wakes, &woken, sizeof woken);
        } else
            tn_epoll_tell(e, events[i].data.u64, events[i].events, ready);
    }
    return n;
}

#endif
