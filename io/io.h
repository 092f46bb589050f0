/* SPDX-License-Identifier: MIT
 *
 * Between what knows how to wait (io.c) and what knows the calls of the operating system (sys_linux.c).
 */
#ifndef TN_IO_IO_H
#define TN_IO_IO_H

#include "internal.h"
#include "request.h"

#include "tenter_io.h"

/* What a number stands for. */
enum io_kind {
    IO_UNKNOWN, /* nobody has used it here yet */
    IO_CLOSING, /* somebody is just closing it */
    IO_FILE,    /* never says that it would block: a file on a disk */
    IO_POLLED,
    IO_STREAM, /* and a call that transfers less than asked for has taken all there was (epoll(7)): TCP */
    IO_KINDS = 8
};

typedef ssize_t io_call(int fd, void *arg);

/* How a call is made. In one piece, which is written once and handed on: as so many arguments it would be written by each
 * function that the fibre waits in. */
struct io_how {
    io_call *call;
    void *arg;
    struct tn_request *rq; /* by a poller, which may then rather do so; NULL: none can */
    size_t asked;          /* how many bytes it wants; 0: it is not known */
    tn_time deadline;
    tn_token *token;
};

ssize_t io_in(int fd, const struct io_how *how);
ssize_t io_out(int fd, const struct io_how *how);
static inline ssize_t io_do(int fd, unsigned way, const struct io_how *how)
{
    return way == TN_WAY_IN ? io_in(fd, how) : io_out(fd, how);
}

/* A number that has just come from the kernel, of the kind that `like` had in that generation (-1: to be looked at). */
uint32_t io_generation(int fd);
void io_fresh(int fd, int like, uint32_t generation_like);

struct io_interest {
    int fd;
    unsigned way;
};

/* By a fibre: wait until one of them may be ready. 0 or an errno value. */
int io_select(struct io_interest *interest, unsigned n, tn_time deadline, tn_token *token);

/* What poll has said; and, for a fibre, input that was received before a call asked for it (uring:ahead=on), of which poll knows
 * nothing. */
int io_polled(struct pollfd *fds, nfds_t n, int ready);

/* 0, or ECANCELED: sleep until a time, by fibres and threads. */
int io_pause(tn_time until, tn_token *token);

/* Closes it: 0 or -1. */
int io_close(int fd, int (*close)(int fd));

/* ---- sys_linux.c ---- */

/* Makes it non-blocking, unless it is a file. IO_UNKNOWN: errno says why not. */
enum io_kind sys_kind(int fd);
bool sys_exists(int fd);
bool sys_ready(int fd, unsigned way, tn_time until);
/* Is its receiving side shut down? Behind the datagrams that had come the system says EAGAIN for ever then to who does not block, and to
 * who does what the other one returns. */
bool sys_shut(int fd, const struct tn_request *rq);
ssize_t sys_shut_says(const struct tn_request *rq);

#endif
