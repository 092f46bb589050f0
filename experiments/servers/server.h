/* SPDX-License-Identifier: MIT
 *
 * What the front-ends share: options, the listening socket, a connection and what becomes of its input, the record.
 *
 * A connection is closed when for --patience seconds it has neither completed a request nor taken a byte of an answer: so neither
 * silence nor a trickle keeps one.
 */
#ifndef SERVER_H
#define SERVER_H

#include "service.h"

#include <stdatomic.h>
#include <sys/queue.h>

/* A front-end. Its file has this one, and the functions named front_ and service_lock below. */
struct front {
    const char *suffix; /* of the program's name: "-event" */
    const char *about;  /* "by …", for --help */
    unsigned takes;     /* BENCH_TAKES_… */
    const struct bench_option *own;
    size_t n;
    /* Says what the binary is, calls server_open, serves until SIGTERM or SIGINT, which are blocked in every thread, and
     * ends all connections. */
    void (*run)(struct bench *b);
};
extern const struct front front;

struct connection {
    TAILQ_ENTRY(connection) others; /* of the front-end's */
    void *one;                      /* the service's */
    struct reply out;
    size_t sent;             /* of the text in `out` */
    _Atomic(uint64_t) since; /* its last progress; a front-end may look at it from another thread */
    _Atomic(int)
        untaken; /* bytes that were sent and not taken: when its patience was last over, or behind a long answer; 0: progress since */
    int fd;
    int ends;  /* SERVICE_CLOSE, SERVICE_ERROR: when all has been sent; else 0 */
    bool more; /* `in` has what is to be fed when all has been sent */
    size_t have;
    char in[SERVICE_ROOM]; /* last, so that only what is used has memory */
};
TAILQ_HEAD(connections, connection);

/* Of all connections, and all processes. */
struct server_totals {
    _Atomic(uint64_t) connections, requests; /* of those that are over */
    _Atomic(uint64_t) silent;                /* ended by --patience */
    _Atomic(uint64_t) refused;               /* there was no memory, or no thread */
    _Atomic(uint64_t) turns, computed;       /* requests, with --work: all, and those that have computed */
};
extern struct server_totals *server_totals;

static inline void server_count(_Atomic(uint64_t) *total, uint64_t n)
{
    atomic_fetch_add_explicit(total, n, memory_order_relaxed); /* relaxed: read when all who count have been joined */
}

/* Start the service, and bind `n` sockets to --address and --port (bench_listen); the caller closes them. */
void server_open(struct bench *b, int *listeners, int n);

/* The time, in nanoseconds, some milliseconds late at most: it is asked for with each answer. */
uint64_t server_now(void);

/* Its patience is over. True: it may have as much again, since it takes, or has taken, what the system has sent and keeps for it,
 * or may do so: that is known when it is asked for the second time. */
bool server_takes(struct connection *c, uint64_t now);

/* Nanoseconds of --patience. */
uint64_t server_patience(const struct bench *b);

static inline uint64_t server_since(struct connection *c)
{
    return atomic_load_explicit(&c->since,
                                memory_order_relaxed); /* relaxed: a time, and nothing that it stands for */
}

/* NULL: there is no memory, and fd has been closed by front_close. */
struct connection *server_accepted(int fd);
void server_closed(struct connection *c);

/* n more bytes are in c->in: feed them and send the answers. False: front_send or front_sendfile failed, with errno as they
 * left it; where that is EAGAIN and it is to go on later, it is called again with 0. */
bool server_serves(struct connection *c, size_t n);

/* Should accept be tried again later, since there is a shortage? */
bool server_shortage(int error);

/* ---- of the front-end ---- */

/* As send (with MSG_NOSIGNAL) and sendfile, whether they wait or not. Of a file SERVICE_ENOUGH bytes at most: a client that takes
 * them as fast as they are sent would keep the others waiting until all of it was sent. */
ssize_t front_send(struct connection *c, const void *from, size_t n, int flags);
ssize_t front_sendfile(struct connection *c);
static inline size_t server_some(const struct connection *c)
{
    return c->out.left < SERVICE_ENOUGH ? c->out.left : SERVICE_ENOUGH;
}

/* More of a file is to be sent: others first. False, with EAGAIN: when they have had their turn server_serves is called again. */
bool front_passes(void);

void front_close(int fd);

#endif
