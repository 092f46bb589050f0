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
struct tn_request;
struct tn_ahead;
struct tn_got;

/* Where a worker waits that has nothing to do. */
enum tn_waits_where {
    TN_WAITS_PARKED,  /* on its own word */
    TN_WAITS_IN_TURN, /* in poll(), one worker of the cluster at a time; the others park */
    TN_WAITS_APART    /* in poll(), in a place of its own there */
};

/* What is done around calls. */
enum {
    TN_CALLS_EAGER = 1,
    TN_CALLS_YIELD = 2,
    TN_CALLS_AHEAD = 4,
    TN_CALLS_PERFORMS = 8 /* by the core: perform is there */
};

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

    /* By a worker before it runs its first fibre, and after its last one: what it alone would hear of is ended, and who waits
     * for it is made ready, as by poll(). What cannot be had now is asked for again when it is needed. Left out: nothing is
     * bound to a worker. Pair: join/leave. */
    void (*join)(void *state, struct tn_worker *me);
    void (*leave)(void *state, struct tn_worker *me, struct tn_list *ready);

    /* Tell each change of a descriptor from not ready to ready, in the directions `*ways` (bits TN_WAY_IN and TN_WAY_OUT) at
     * least, from now on, as events of `key`; what is ready already is one. In `*ways` it says what it tells: for the rest it
     * is asked again. Left out: this build has no I/O. By a fibre of worker `me`; until tn_io_unarmed, or until disarm, which
     * any thread calls before it closes the descriptor. `*place`: NULL, and then what disarm is to be given; or that, where
     * fewer ways are told. An errno value fails the call that would have waited. Pair: arm/disarm. */
    int (*arm)(void *state, struct tn_worker *me, int fd, uint64_t key, unsigned *ways, void **place);
    void (*disarm)(void *place, uint64_t key);

    /* Asked once, when it is open. TN_CALLS_EAGER: a descriptor is armed with its first call, or as it comes from tn_accept,
     * whether or not anybody has to wait; else when the first one has to. TN_CALLS_YIELD: other fibres come first, before a
     * call that reads. TN_CALLS_AHEAD: it receives before it is asked. Left out: none of them. */
    unsigned (*calls)(const void *state);

    /* Make a call on behalf of a fibre of worker `me`, which waits until it is over (io/request.h); it does not block, nor
     * switch. An errno value: the fibre is to make it itself, when it is told that it may. Left out: as ENOSYS. withdraw
     * ends what has not happened yet, which then is over soon; by any thread, also when it is over: `request` is no more
     * than a name then. `*place`: what withdraw is to be given. */
    int (*perform)(void *state, struct tn_worker *me, struct tn_request *request, void **place);
    void (*withdraw)(void *place, const struct tn_request *request);

    /* Receive on the descriptor of `key` what `request` asks for, and go on (io/ahead.h), by a fibre of worker `me`; an errno value:
     * that fibre is to make the call itself. take: what was received, as far as the request has room behind its first `before` bytes.
     * drop: it is about to be closed, or its runtime has ended; nothing is received any more, and what was is dropped, by any thread.
     * Left out, all: nothing ever is. */
    int (*receive)(void *state, struct tn_worker *me, struct tn_ahead *ahead, uint64_t key,
                   const struct tn_request *request);
    int64_t (*take)(struct tn_request *request, int64_t before, struct tn_got *got);
    void (*drop)(struct tn_ahead *ahead);

    /* Tell what has happened, and collect the fibres that it wakes, without blocking when deadline is 0. Called by a
     * worker between fibres, every so many-th time that it looks up from them, and, where idle() says so, instead of
     * parking. Returns their number. So who waits for a descriptor is bounded by how often others are switched to, whoever
     * else polls. */
    unsigned every;
    unsigned (*poll)(void *state, struct tn_worker *me, struct tn_list *ready, tn_time deadline);

    /* May it still make a fibre ready: is anything armed, or being made? Any thread. Left out: never. While it may, no
     * deadlock is claimed. */
    bool (*pending)(void *state);

    /* Is there anything to hear of in poll() for whichever worker is there? Then one of the idle waits in it, in turn. Any
     * thread. Left out: never. */
    bool (*wants)(void *state);

    /* A worker has nothing to do, and is about to say so: where it shall wait. Left out: parked. busy() tells that it is
     * idle no more, or has not become so. Pair: idle/busy. */
    enum tn_waits_where (*idle)(void *state, struct tn_worker *me);
    void (*busy)(void *state, struct tn_worker *me);

    /* End the wait of `who` in poll(). Any thread. Required where idle() can return anything but parked. A wake before
     * the wait is remembered; one too many does no harm. */
    void (*wake)(void *state, struct tn_worker *who);

    /* By what it works, where that was decided when the cluster started: results carry it. Left out: there is one way. */
    const char *(*by)(const void *state);
};

/* For pollers (io/descriptors.c): such an event of `key` is about to be told. What it needs is fetched meanwhile, for some
 * at once: behind the lock of one descriptor the processor would not begin with the next. First the descriptor, and when
 * that has come, what the fibre needs that waits for input. Does nothing if not on a worker. */
void tn_io_expect(uint64_t key);
void tn_io_expect_sleeper(uint64_t key);

/* For pollers (io/descriptors.c): the descriptor that was armed with `key` is ready, bit TN_WAY_IN or TN_WAY_OUT of `ways` each; in
 * those of `ended` there may be no further event. Fibres of `cl` that wait for it go to `ready`, others are made ready. */
void tn_io_event(struct tn_cluster *cl, uint64_t key, unsigned ways, unsigned ended, struct tn_list *ready);

/* Events of `key` are told no more of these ways, though nobody has disarmed it, and this is the last one (`ended`: as
 * above); who waits for it arms it anew. Where others are to be told `again` is called for them. True: there are none.
 * Or so it is for all that is armed in a place: it is disarmed. */
bool tn_io_unarmed(struct tn_cluster *cl, uint64_t key, unsigned ways, unsigned ended, struct tn_list *ready,
                   int (*again)(void *place, int fd, uint64_t key, unsigned ways));
void tn_io_unarmed_all(struct tn_cluster *cl, void *place, struct tn_list *ready);

/* Of the descriptor of that key. */
struct tn_ahead *tn_io_ahead(uint64_t key);

/* A request is over, with what its call returned, or a negative errno value. Then it is its fibre's, and may be no more. */
void tn_io_over(struct tn_cluster *cl, struct tn_request *request, int64_t result, struct tn_list *ready);

/* For diagnoses (io/io.c): the number of the descriptor that a wait noted as "descriptor…" is for, -1 if it is none, and
 * whether to write there. `own`: its object lies on the stack of who waits. Calls and locks nothing. */
int tn_io_number(const void *object, bool own, bool *writes);

/* Fibres of `cl` are ready. By a fibre of it that stops soon: the first of them needs no other worker. */
void tn_ready_soon(struct tn_cluster *cl, struct tn_list *fibres);

/* Fibres of `cl` are ready. By a poller's own thread, whose beginning and end diagnoses are told (diagnose.h). */
void tn_ready_all(struct tn_cluster *cl, struct tn_list *fibres);

#endif
