/* SPDX-License-Identifier: MIT
 *
 * The interface of an I/O poller: how fibres that wait for descriptors become ready. One table per poller in
 * io/pollers/<name>.c; meson -Dpoller=<name> includes it in the core's hot translation unit. A poller never sees a scheduler module:
 * it gives fibres back through the batch of poll(), and the core makes them ready.
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

    /* Interest in a descriptor. May be left out by a poller without descriptors. Any worker; the waiting
     * fibre's registration precedes its suspension. Pair: arm/disarm. */
    int (*arm)(void *state, int fd, unsigned events);
    void (*disarm)(void *state, int fd, unsigned events);

    /* Hand over operations for completion-based pollers. May be left out. */
    int (*submit)(void *state, void *operation);

    /* Collect fibres whose wait has ended, at most `max`, without blocking when deadline is 0. Called by a
     * worker between fibres and, where idle() says so, instead of parking. Returns their number. */
    unsigned (*poll)(void *state, struct tn_list *ready, unsigned max, tn_time deadline);

    /* May it still make a fibre ready: is anything armed or submitted? Any thread. Left out: never. While it may, no
     * deadlock is claimed. */
    bool (*pending)(void *state);

    /* A worker has nothing to do. True: it shall wait in poll(deadline) in place of parking, and wake() ends
     * that wait; the core lets one worker of the cluster do so at a time, the others park on their own words. False or
     * left out: it parks. busy() tells that it has left that state. */
    bool (*idle)(void *state, struct tn_worker *me);
    void (*busy)(void *state, struct tn_worker *me);

    /* End the wait in poll(). Any thread. Required where idle() can return true. A wake before the wait is
     * remembered; one too many does no harm. */
    void (*wake)(void *state);
};

#endif
