/* SPDX-License-Identifier: MIT
 *
 * The interface of an I/O poller: how fibres that wait for descriptors become ready. One table per poller in
 * io/pollers/<name>.c; meson -Dpoller=<name> includes it in the core's hot translation unit. A poller never sees a scheduler module:
 * it tells events (tn_io_event), and gives the fibres that these wake back through the batch of poll(); the core makes them
 * ready.
 */
#ifndef TN_POLLER_H
#define TN_POLLER_H

#include "platform.h"
#include "queues/link.h"
#include "knob.h"

struct tn_cluster;
struct tn_worker;

struct tn_poller {
    const char *name;
    const char *summary;

    /* Size of the poller's state in each cluster; zeroed by the core. */
    size_t cluster_size;
    const struct tn_knob *knobs;
    size_t n_knobs;

    /* When a cluster starts and ends, before its first and after its last worker. open may fail with an errno
     * value, which fails the cluster. Pair: open/close. */
    int (*open)(struct tn_cluster *cl, void *state, const int64_t *knobs);
    void (*close)(struct tn_cluster *cl, void *state);

    /* The cluster's workers have ended: from here on no fibre is made ready outside poll(). Left out: none ever is. */
    void (*stop)(void *state);

    /* Tell each change of a descriptor from not ready to ready, in either direction, from now on, as events of `key`; what
     * is ready already is one. Left out: this build has no I/O. By a fibre; once, until disarm, which any thread calls before
     * it closes the descriptor. An errno value fails the call that would have waited. Pair: arm/disarm. */
    int (*arm)(void *state, int fd, uint64_t key);
    void (*disarm)(void *state, int fd);

    /* Tell what has happened, and collect the fibres that it wakes, without blocking when deadline is 0. Called by a
     * worker between fibres, every so many-th time that it looks up from them, and, where idle() says so, instead of
     * parking. Returns their number. So who waits for a descriptor is bounded by how often others are switched to, whoever
     * else polls. */
    unsigned every;
    unsigned (*poll)(void *state, struct tn_list *ready, tn_time deadline);

    /* May it still make a fibre ready: is anything armed? Any thread. Left out: never. While it may, no deadlock is
     * claimed, and of idle workers one waits in poll(), if any would. */
    bool (*pending)(void *state);

    /* A worker has nothing to do, and is about to say so. True: it shall wait in poll(deadline) in place of parking, and
     * wake() ends that wait; the core lets one worker of the cluster do so at a time, the others park on their own words.
     * False or left out: it parks. busy() tells that it is idle no more, or has not become so. Pair: idle/busy. */
    bool (*idle)(void *state, struct tn_worker *me);
    void (*busy)(void *state, struct tn_worker *me);

    /* End the wait in poll(). Any thread. Required where idle() can return true. A wake before the wait is
     * remembered; one too many does no harm. */
    void (*wake)(void *state);
};

/* For pollers (io/io.c): the descriptor that was armed with `key` is ready, bit TN_WAY_IN or TN_WAY_OUT of `ways` each; in
 * those of `ended` there may be no further event. Fibres of `cl` that wait for it go to `ready`, others are made ready. */
void tn_io_event(struct tn_cluster *cl, uint64_t key, unsigned ways, unsigned ended, struct tn_list *ready);

/* Fibres of `cl` are ready. By a fibre of it that stops soon: the first of them needs no other worker. */
void tn_ready_soon(struct tn_cluster *cl, struct tn_list *fibres);

/* Fibres of `cl` are ready. By a poller's own thread, whose beginning and end diagnoses are told (diagnose.h). */
void tn_ready_all(struct tn_cluster *cl, struct tn_list *fibres);

#endif
