/* SPDX-License-Identifier: MIT
 *
 * What the barest servers of the tests answer, by a loop (httpd_bare.c) and by fibres (httpd_bare_fibres.c): each blank line
 * by one text. They parse nothing, and a client that misbehaves is closed on.
 */
#ifndef HTTPD_BARE_H
#define HTTPD_BARE_H

#include "../experiments/workloads/bench_address.h"

#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#define BARE_ANSWER \
    "HTTP/1.1 200 OK\r\nServer: tenter\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, world!"
enum { BARE_SIZE = sizeof BARE_ANSWER - 1, BARE_ROOM = 8192, BARE_AT_ONCE = BARE_ROOM / 4 };

struct bare {
    int fd;
    size_t have;
    char text[BARE_ROOM];
};

static char bare_answers[BARE_AT_ONCE * BARE_SIZE];
static uint64_t bare_requests, bare_connections; /* by the only thread */

/* Their options; `workers`: what those are. */
#define BARE_OPTIONS(workers)                                                                                  \
    {                                                                                                          \
        {"workers", BENCH_INT, "1", 1, 1, NULL, "", workers, NULL, 0, 0, false}, BENCH_ADDRESS_OPTION,         \
        {                                                                                                      \
            "port", BENCH_INT, "0", 0, 65535, NULL, "", "to listen at; 0: one that is free", NULL, 0, 0, false \
        }                                                                                                      \
    }

/* Where it is told to end. */
static inline int bare_open(int flags)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    for (int i = 0; i < BARE_AT_ONCE; i++)
        memcpy(bare_answers + i * BARE_SIZE, BARE_ANSWER, BARE_SIZE);
    return signalfd(-1, &ends, SFD_CLOEXEC | flags);
}

/* NULL: no memory. */
static inline struct bare *bare_accepted(int fd)
{
    int one = 1;
    struct bare *c = malloc(sizeof *c);
    if (c == NULL)
        return NULL;
    c->fd = fd;
    c->have = 0;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    bare_connections++;
    return c;
}

/* So many bytes have come behind those there are: how many of the answers are due. What is left is the beginning of a request. */
static inline size_t bare_due(struct bare *c, size_t n)
{
    c->have += n;
    char *at = c->text, *end = c->text + c->have, *over;
    size_t due = 0;
    for (; (over = memmem(at, (size_t)(end - at), "\r\n\r\n", 4)) != NULL; at = over + 4)
        due++;
    c->have = (size_t)(end - at);
    if (c->have != 0 && due != 0)
        memmove(c->text, at, c->have);
    bare_requests += due;
    return due * BARE_SIZE;
}

static inline void bare_record(struct bench *b)
{
    bench_sample(b, "requests", "1", (double)bare_requests, (int)bench_int(b, "warmup"));
    bench_sample(b, "connections", "1", (double)bare_connections, (int)bench_int(b, "warmup"));
}

#endif
