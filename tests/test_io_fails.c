/* SPDX-License-Identifier: MIT
 *
 * Each system call of input and output fails once, at each of its sites in a round of use, with each error that the system
 * has for it: who called is told that error, or nothing where it can be tried again; the round ends, and nothing of it is
 * left. Run for each poller.
 */
#include "io.h"
#include "nomem.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#ifdef TEST_URING
#include <liburing.h>
#endif

/* ---- the calls ---- */

enum { HALF = -1 }; /* no error: half of it is done */

static struct {
    const char *name; /* of the call that fails; NULL: none does */
    long at;          /* so many come before */
    int error;
} wanted;
static _Atomic(long) made; /* of that name */
static _Atomic(bool) hit;

static int now_fails(const char *name)
{
    if (wanted.name == NULL || strcmp(name, wanted.name) != 0 || atomic_fetch_add(&made, 1) != wanted.at)
        return 0;
    atomic_store(&hit, true);
    if (wanted.error > 0)
        errno_set(wanted.error);
    return wanted.error;
}

#define FAILING(type, name, parameters, arguments)       \
    type __real_##name parameters;                       \
    type __wrap_##name parameters;                       \
    type __wrap_##name parameters                        \
    {                                                    \
        int error = now_fails(#name);                    \
        return error > 0 ? -1 : __real_##name arguments; \
    }

/* And may do half of it. An event source, which takes and gives so many bytes, does not fail so. */
enum { EVENT = 8 };

#define TRANSFERRING(name, parameters, arguments)        \
    ssize_t __real_##name parameters;                    \
    ssize_t __wrap_##name parameters;                    \
    ssize_t __wrap_##name parameters                     \
    {                                                    \
        int error = n != EVENT ? now_fails(#name) : 0;   \
        n = error == HALF && n > 1 ? n / 2 : n;          \
        return error > 0 ? -1 : __real_##name arguments; \
    }

TRANSFERRING(read, (int fd, void *to, size_t n), (fd, to, n))
TRANSFERRING(write, (int fd, const void *from, size_t n), (fd, from, n))
TRANSFERRING(recvfrom, (int fd, void *to, size_t n, int flags, struct sockaddr *a, socklen_t *size),
             (fd, to, n, flags, a, size))
TRANSFERRING(sendto, (int fd, const void *from, size_t n, int flags, const struct sockaddr *a, socklen_t size),
             (fd, from, n, flags, a, size))
FAILING(ssize_t, readv, (int fd, const struct iovec *v, int n), (fd, v, n))
FAILING(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
FAILING(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags))
FAILING(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
FAILING(int, accept4, (int fd, struct sockaddr *a, socklen_t *size, int flags), (fd, a, size, flags))
FAILING(int, connect, (int fd, const struct sockaddr *a, socklen_t size), (fd, a, size))
FAILING(int, socket, (int domain, int type, int protocol), (domain, type, protocol))
FAILING(int, ppoll, (struct pollfd * fds, nfds_t n, const struct timespec *t, const sigset_t *mask),
        (fds, n, t, mask))

FAILING(int, poll, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms))
FAILING(int, getsockopt, (int fd, int level, int name, void *to, socklen_t *size), (fd, level, name, to, size))
struct stat;
FAILING(int, fstat64, (int fd, struct stat *to), (fd, to))

int __real_fcntl64(int fd, int what, int value);
int __wrap_fcntl64(int fd, int what, int value);
int __wrap_fcntl64(int fd, int what, int value)
{
    int error = what == F_SETFL ? now_fails("fcntl64") : 0; /* the others have no reason to */
    return error > 0 ? -1 : __real_fcntl64(fd, what, value);
}

/* Which closes it all the same. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    int error = now_fails("close"), rc = __real_close(fd);
    return error > 0 ? (errno_set(error), -1) : rc;
}

ssize_t __real_sendfile64(int to, int from, off_t *at, size_t n);
ssize_t __wrap_sendfile64(int to, int from, off_t *at, size_t n);
ssize_t __wrap_sendfile64(int to, int from, off_t *at, size_t n)
{
    int error = now_fails("sendfile64");
    return error > 0 ? -1 : __real_sendfile64(to, from, at, error == HALF ? n / 2 : n);
}

enum { ADDS = 1 }; /* EPOLL_CTL_ADD */
struct epoll_event;
FAILING(int, epoll_create1, (int flags), (flags))
FAILING(int, eventfd, (unsigned n, int flags), (n, flags))
int __real_epoll_ctl(int fd, int what, int other, struct epoll_event *event);
int __wrap_epoll_ctl(int fd, int what, int other, struct epoll_event *event);
int __wrap_epoll_ctl(int fd, int what, int other, struct epoll_event *event)
{
    int error = what == ADDS ? now_fails("epoll_ctl") : 0; /* only that needs memory */
    return error > 0 ? -1 : __real_epoll_ctl(fd, what, other, event);
}

FAILING(int, epoll_wait, (int fd, struct epoll_event *e, int n, int ms), (fd, e, n, ms))
FAILING(int, epoll_pwait2, (int fd, struct epoll_event *e, int n, const struct timespec *t, const sigset_t *mask),
        (fd, e, n, t, mask))

#ifdef TEST_URING
#define FAILING_URING(name, parameters, arguments)           \
    int __real_##name parameters;                            \
    int __wrap_##name parameters;                            \
    int __wrap_##name parameters                             \
    {                                                        \
        int error = now_fails(#name);                        \
        return error > 0 ? -error : __real_##name arguments; \
    }
FAILING_URING(io_uring_register_sync_cancel, (struct io_uring * ring, struct io_uring_sync_cancel_reg *reg),
              (ring, reg))

static struct io_uring *the_ring;  /* of the only worker */
static struct io_uring_buf *given; /* its buffers, if it receives ahead */
static unsigned given_n;

int __real_io_uring_register_buf_ring(struct io_uring *ring, struct io_uring_buf_reg *reg, unsigned flags);
int __wrap_io_uring_register_buf_ring(struct io_uring *ring, struct io_uring_buf_reg *reg, unsigned flags);
int __wrap_io_uring_register_buf_ring(struct io_uring *ring, struct io_uring_buf_reg *reg, unsigned flags)
{
    int error = now_fails("io_uring_register_buf_ring");
    given = (struct io_uring_buf *)(uintptr_t)reg->ring_addr;
    given_n = reg->ring_entries;
    return error > 0 ? -error : __real_io_uring_register_buf_ring(ring, reg, flags);
}

int __real_io_uring_queue_init_params(unsigned n, struct io_uring *ring, struct io_uring_params *p);
int __wrap_io_uring_queue_init_params(unsigned n, struct io_uring *ring, struct io_uring_params *p);
int __wrap_io_uring_queue_init_params(unsigned n, struct io_uring *ring, struct io_uring_params *p)
{
    int error = now_fails("io_uring_queue_init_params");
    the_ring = ring;
    return error > 0 ? -error : __real_io_uring_queue_init_params(n, ring, p);
}

/* A call that the kernel is just to be given transfers half as much, or becomes one that tells an error (Linux 6.10; before,
 * an end). */
static void call_fails(struct io_uring_sqe *sqe)
{
    bool transfers = sqe->opcode == IORING_OP_READ || sqe->opcode == IORING_OP_WRITE ||
                     sqe->opcode == IORING_OP_RECV || sqe->opcode == IORING_OP_SEND;
    if (!transfers &&
        (wanted.error == HALF ||
         (sqe->opcode != IORING_OP_READV && sqe->opcode != IORING_OP_WRITEV && sqe->opcode != IORING_OP_RECVMSG &&
          sqe->opcode != IORING_OP_SENDMSG && sqe->opcode != IORING_OP_ACCEPT && sqe->opcode != IORING_OP_CONNECT)))
        return;
    int error = now_fails("completion");
    if (error == HALF)
        sqe->len = (sqe->len + 1) / 2;
    else if (error != 0) {
        uint64_t whose = sqe->user_data;
        memset(sqe, 0, sizeof *sqe);
        sqe->opcode = IORING_OP_NOP;
        sqe->rw_flags = 1; /* IORING_NOP_INJECT_RESULT */
        sqe->len = (uint32_t)-error;
        sqe->user_data = whose;
    }
}

/* All that is received comes in pieces as short as that. */
static void buffers_shrink(void)
{
    for (unsigned i = 0; given != NULL && i < given_n; i++)
        given[i].len = (unsigned)wanted.error;
}

/* What receives ahead, or accepts, and has done so, ends with an error. */
static void ahead_ends(void)
{
    enum { ACCEPTS = 2, RECEIVES = 3, TAGS = 3 }; /* as uring.c marks them */
    static uint64_t ends;
    for (unsigned i = *the_ring->cq.khead; i != *the_ring->cq.ktail; i++) {
        struct io_uring_cqe *cqe = &the_ring->cq.cqes[i % the_ring->cq.ring_entries];
        bool ahead = (cqe->user_data & TAGS) == ACCEPTS || (cqe->user_data & TAGS) == RECEIVES;
        if (ahead && (cqe->flags & IORING_CQE_F_MORE) != 0 && now_fails("ahead") != 0) {
            struct io_uring_sync_cancel_reg reg = {.addr = cqe->user_data, .fd = -1, .timeout = {-1, -1}};
            ends = cqe->user_data;
            int rc = __real_io_uring_register_sync_cancel(the_ring, &reg);
            CHECK(rc == 0 || rc == -ENOENT); /* it has just ended of itself */
        } else if (ends != 0 && cqe->user_data == ends && (cqe->flags & IORING_CQE_F_MORE) == 0) {
            if (cqe->res == -ECANCELED)
                cqe->res = -wanted.error;
            ends = 0;
        }
    }
}

int __real_io_uring_enter2(unsigned fd, unsigned put, unsigned least, unsigned flags, sigset_t *mask, size_t size);
int __wrap_io_uring_enter2(unsigned fd, unsigned put, unsigned least, unsigned flags, sigset_t *mask, size_t size);
int __wrap_io_uring_enter2(unsigned fd, unsigned put, unsigned least, unsigned flags, sigset_t *mask, size_t size)
{
    int error = now_fails("io_uring_enter2");
    for (unsigned i = *the_ring->sq.khead; error == 0 && i != *the_ring->sq.ktail; i++)
        call_fails(&the_ring->sq.sqes[i % the_ring->sq.ring_entries]);
    if (wanted.name != NULL && strcmp(wanted.name, "buffers") == 0)
        buffers_shrink();
    int rc = error > 0 ? -error : __real_io_uring_enter2(fd, put, least, flags, mask, size);
    ahead_ends();
    return rc;
}
#endif

/* What each can say, ended by 0. `ahead`, `buffers`: see above. */
static const struct {
    const char *name;
    int errors[7];
} calls[] = {
    {"read", {EINTR, ENOMEM, ECONNRESET, HALF}},
    {"write", {EINTR, ENOMEM, ECONNRESET, HALF}},
    {"recvfrom", {EINTR, ENOMEM, ECONNRESET, HALF}},
    {"sendto", {EINTR, ENOMEM, ECONNRESET, HALF}},
    {"readv", {EINTR, ENOMEM, ECONNRESET}},
    {"writev", {EINTR, ENOMEM, ECONNRESET}},
    {"recvmsg", {EINTR, ENOMEM, ECONNRESET}},
    {"sendmsg", {EINTR, ENOMEM, ECONNRESET}},
    {"accept4", {EINTR, EMFILE, ENFILE, ENOMEM, ECONNABORTED}},
    {"connect", {ENOMEM, ECONNREFUSED}},
    {"socket", {EMFILE, ENOMEM}},
    {"sendfile64", {EINTR, ENOMEM, EIO, ECONNRESET, HALF}},
    {"close", {EINTR, EIO}},
    {"fstat64", {ENOMEM}},
    {"fcntl64", {ENOMEM}},
    {"getsockopt", {ENOBUFS}},
    {"poll", {EINTR, ENOMEM}},
    {"ppoll", {EINTR, ENOMEM}},
    {"epoll_create1", {EMFILE, ENOMEM}},
    {"eventfd", {EMFILE, ENOMEM}},
    {"epoll_ctl", {ENOMEM, ENOSPC}},
    {"epoll_wait", {EINTR}},
    {"epoll_pwait2", {EINTR, ENOSYS}}, /* before Linux 5.11 it is epoll_wait that waits */
    {"io_uring_queue_init_params", {EMFILE, ENOMEM, EPERM, ENOSYS}},
    {"io_uring_enter2", {EINTR, EAGAIN, EBUSY, ENOMEM}},
    {"io_uring_register_sync_cancel", {EALREADY, ENOMEM, ENOENT}},
    {"completion", {EINTR, EAGAIN, ECANCELED, ENOMEM, ECONNRESET, HALF}},
    {"io_uring_register_buf_ring", {ENOMEM, EINVAL}},
    {"ahead", {EINTR, EAGAIN, ECANCELED, ENOBUFS, ENOMEM, ECONNRESET}},
    {"buffers", {1, 2, 3, 5}},
};

/* Who calls is not to hear of it, nor to miss anything. */
static bool heals(void)
{
    bool short_ones = wanted.name != NULL && strcmp(wanted.name, "buffers") == 0;
    return short_ones || wanted.error == EINTR || wanted.error == EAGAIN || wanted.error == ECANCELED ||
           wanted.error == ENOBUFS || wanted.error == ENOSYS;
}

/* ---- a round of use ---- */

/* What became of a call: it was as it should be, or it was told what failed. */
static bool good(ssize_t n, ssize_t expected)
{
    if (n >= 0)
        return CHECK(n == expected || (wanted.error == HALF && n < expected) || (n == 0 && atomic_load(&hit)));
    CHECK(atomic_load(&hit) && !heals() &&
          (errno == wanted.error || errno == ETIMEDOUT || errno == EPIPE || errno == ECONNRESET));
    return false;
}

static void closes(int fd)
{
    CHECK(tn_close(fd) == 0 || (atomic_load(&hit) && errno == EIO && wanted.error == EIO));
}

static int listens_at;

static void *is_client(void *unused)
{
    (void)unused;
    struct sockaddr_in a = loopback(listens_at);
    int fd = tn_socket(AF_INET, SOCK_STREAM, 0);
    if (!good(fd < 0 ? -1 : 0, 0))
        return (void *)(intptr_t)-1;
    if (!good(tn_connect_until(fd, (struct sockaddr *)&a, sizeof a, in_ms(5000), NULL), 0)) {
        closes(fd);
        return (void *)(intptr_t)-1;
    }
    return (void *)(intptr_t)fd;
}

/* Either side sends so many bytes, in each way there is, when the other one may wait for them already. */
enum { BYTES = 6, TURNS = 10 };
static int file; /* of so many */

static void *is_peer(void *arg)
{
    char text[BYTES] = "peers";
    int fd = (int)(intptr_t)arg;
    for (int how = 0; how < TURNS; how++) {
        struct iovec v[2] = {{text, BYTES / 2}, {text + BYTES / 2, BYTES - BYTES / 2}};
        struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
        if (how >= TURNS / 2)
            tn_sleep(50000);
        off_t at = 0;
        ssize_t n = how % 5 == 0   ? tn_write(fd, text, BYTES)
                    : how % 5 == 1 ? tn_writev(fd, v, 2)
                    : how % 5 == 2 ? tn_send(fd, text, BYTES, MSG_NOSIGNAL)
                    : how % 5 == 3 ? tn_sendmsg(fd, &m, MSG_NOSIGNAL)
                                   : tn_sendfile(fd, file, &at, BYTES);
        if (!good(n, BYTES) || n < BYTES)
            break;
    }
    tn_shutdown(fd, SHUT_WR);
    return NULL;
}

static void takes_all(int fd)
{
    char text[BYTES];
    for (int how = 0, sum = 0;; how++) {
        struct iovec v[2] = {{text, BYTES / 2}, {text + BYTES / 2, BYTES - BYTES / 2}};
        struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
        tn_time deadline = in_ms(5000);
        ssize_t n = how % 4 == 0   ? tn_read_until(fd, text, BYTES, deadline, NULL)
                    : how % 4 == 1 ? tn_readv_until(fd, v, 2, deadline, NULL)
                    : how % 4 == 2 ? tn_recv_until(fd, text, BYTES, 0, deadline, NULL)
                                   : tn_recvmsg_until(fd, &m, 0, deadline, NULL);
        if (n > 0)
            sum += (int)n;
        else {
            if (n < 0)
                good(n, 0);
            CHECK(sum == BYTES * TURNS || (atomic_load(&hit) && !heals())); /* nothing is lost */
            break;
        }
        if (how == 2) { /* and it gives up once in between, and asks for several */
            struct pollfd p = {fd, POLLIN, 0};
            n = tn_poll_until(&p, 1, in_ms(1), NULL);
            CHECK(n >= 0 || (atomic_load(&hit) && errno == wanted.error));
            n = tn_recv_until(fd, text, 1, MSG_PEEK, 0, NULL);
            CHECK(n >= 0 || errno == ETIMEDOUT || (atomic_load(&hit) && errno == wanted.error));
        }
    }
}

static void exchange(int a, int b)
{
    tn_fibre *f = start(is_peer, a);
    takes_all(b);
    end_of(f);
    closes(a);
    closes(b);
}

static void *one_round(void *arg)
{
    int fd[2];
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    exchange(fd[0], fd[1]);
    struct sockaddr_in a = loopback(-1);
    listens_at = __real_socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQUAL(bind(listens_at, (struct sockaddr *)&a, sizeof a), 0);
    CHECK_EQUAL(listen(listens_at, 8), 0);
    tn_fibre *f = start(is_client, 0);
    int server; /* again if this machine stood still for as long as that */
    do
        server = tn_accept_until(listens_at, NULL, NULL, in_ms(700), NULL);
    while (server < 0 && errno == ETIMEDOUT && !atomic_load(&hit));
    int told = errno, client = (int)end_of(f);
    if (server < 0)
        CHECK(atomic_load(&hit) && (told == wanted.error || told == ETIMEDOUT));
    if (server >= 0 && client >= 0 && wanted.error != HALF) /* a short one tells that there is no more, of TCP */
        exchange(client, server);
    else {
        if (server >= 0)
            closes(server);
        if (client >= 0)
            closes(client);
    }
    closes(listens_at);
    return arg;
}

/* ---- each of them ---- */

static bool round_is_good(void)
{
    unsigned before = harness_count("fd");
    long blocks_before = atomic_load(&blocks);
    struct tn_config c = with_poller(1);
    void *value = NULL;
    atomic_store(&made, 0);
    atomic_store(&hit, false);
    int rc = tn_run(&c, one_round, (void *)1, &value);
    CHECK(rc == 0 ? value != NULL : atomic_load(&hit) && rc == wanted.error);
    bool is = CHECK_EQUAL(harness_count("fd"), before);
    return CHECK_EQUAL(atomic_load(&blocks), blocks_before) && is;
}

/* Calls that every poller makes have had their turn, or a round has lost what it was for. */
static bool is_made(const char *name)
{
    static const char *const always[] = {"sendfile64", "close", "fstat64", "fcntl64",
                                         "getsockopt", "ppoll", "socket"};
    bool is = false;
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        is = is || strcmp(always[i], name) == 0;
    return is;
}

static void each(void)
{
    unsigned rounds = 0, sites[sizeof calls / sizeof calls[0]] = {0};
    wanted.name = NULL;
    round_is_good();
    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (const int *error = calls[i].errors; *error != 0; error++)
            for (long at = 0;; at++) {
                wanted.name = calls[i].name;
                wanted.error = *error;
                wanted.at = at;
                rounds++;
                if (!round_is_good()) {
                    harness_note("%s, the %ldth, error %d", wanted.name, at, wanted.error);
                    return;
                }
                sites[i] += atomic_load(&hit);
                if (!atomic_load(&hit) || at > (stress ? 1000 : 12)) /* there are no more of them */
                    break;
            }
    wanted.name = NULL;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (is_made(calls[i].name) && !CHECK(sites[i] > 0))
            harness_note("no %s has failed", calls[i].name);
    harness_note("%u rounds", rounds);
}

static const struct test tests[] = {{"each call, each time, each error", each}};

int main(int argc, char **argv)
{
    file = memfd_create("file", MFD_CLOEXEC);
    if (file < 0 || __real_write(file, "peers", BYTES) != BYTES)
        return 99;
    return io_main(argc, argv, "io_fails", tests, sizeof tests / sizeof tests[0]);
}
