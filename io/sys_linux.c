/* SPDX-License-Identifier: MIT */
/*
 * The calls of tenter_io.h, and what io.c asks the system.
 */
#define _GNU_SOURCE
#include "io.h"
#include "rest.h"

#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

/* ---- what a descriptor is ---- */

/* A queue of messages (mq_overview(7)) is a file by its mode, and may be waited for all the same. */
static bool is_queue(int fd)
{
    enum { MQUEUE = 0x19800202 }; /* as the kernel has it */
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == MQUEUE;
}

enum io_kind sys_kind(int fd)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFL), domain = 0, type = 0, protocol = 0;
    socklen_t size = sizeof(int);
    if (flags < 0 || fstat(fd, &st) != 0)
        return IO_UNKNOWN;
    if ((S_ISREG(st.st_mode) && !is_queue(fd)) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))
        return IO_FILE;
    if ((flags & O_NONBLOCK) == 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return IO_UNKNOWN;
    bool tcp = S_ISSOCK(st.st_mode) && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
               type == SOCK_STREAM && getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
               (domain == AF_INET || domain == AF_INET6) &&
               getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
               protocol == IPPROTO_TCP; /* SCTP has messages */
    return tcp ? IO_STREAM : IO_POLLED;
}

static int poll_until(struct pollfd *fds, nfds_t n, tn_time until)
{
    tn_time now = until != TN_FOREVER && until != 0 ? tn_now() : 0, left = until > now ? until - now : 0;
    struct timespec ts = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    return ppoll(fds, n, until != TN_FOREVER ? &ts : NULL, NULL);
}

bool sys_exists(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

bool sys_ready(int fd, unsigned way, tn_time until)
{
    struct pollfd p = {.fd = fd, .events = way == TN_WAY_IN ? POLLIN | POLLRDHUP : POLLOUT};
    return poll_until(&p, 1, until) > 0;
}

static ssize_t refused(int err)
{
    errno = err;
    return -1;
}

bool sys_shut(int fd, const struct tn_request *rq)
{
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};
    return (rq->flags & MSG_ERRQUEUE) == 0 && poll(&p, 1, 0) > 0 && (p.revents & POLLRDHUP) != 0;
}

ssize_t sys_shut_says(const struct tn_request *rq)
{
    if (rq->kind == TN_REQUEST_RECVMSG) {
        struct msghdr *m = rq->data;
        m->msg_namelen = 0;
        m->msg_controllen = 0;
        m->msg_flags = rq->flags & MSG_CMSG_CLOEXEC; /* as the system has it */
    }
    return rq->kind == TN_REQUEST_ACCEPT ? refused(EINVAL) : 0;
}

/* ---- what transfers ---- */

/* The arguments of all of them: as a poller makes the call (request.h), and as it is made here. */
struct transfer {
    struct tn_request rq; /* first */
    socklen_t size;       /* of the address, as it was given */
};

static ssize_t transfer(int fd, unsigned way, io_call *call, struct transfer *t, size_t asked, tn_time deadline,
                        tn_token *token)
{
    /* Vectors of nothing do nothing: io_uring would take, or send, an empty message. */
    if (asked == 0 && (t->rq.kind == TN_REQUEST_READV || t->rq.kind == TN_REQUEST_WRITEV))
        t->rq.kind = TN_REQUEST_NOTHING;
    t->rq.fd = fd;
    return io_do(fd, way, &(struct io_how){call, t, &t->rq, asked, deadline, token});
}

static ssize_t call_read(int fd, void *arg)
{
    struct tn_request *rq = arg;
    return read(fd, rq->data, rq->n);
}

TN_API ssize_t tn_read_until(int fd, void *to, size_t n, tn_time deadline, tn_token *token)
{
    struct transfer t = {{.kind = TN_REQUEST_READ, .data = to, .n = n}, 0};
    return transfer(fd, TN_WAY_IN, call_read, &t, n, deadline, token);
}

static ssize_t call_write(int fd, void *arg)
{
    struct tn_request *rq = arg;
    return write(fd, rq->data, rq->n);
}

TN_API ssize_t tn_write_until(int fd, const void *from, size_t n, tn_time deadline, tn_token *token)
{
    struct transfer t = {{.kind = TN_REQUEST_WRITE, .data = (void *)(uintptr_t)from, .n = n}, 0};
    return transfer(fd, TN_WAY_OUT, call_write, &t, n, deadline, token);
}

/* 0 also of what the system will refuse. */
static size_t bytes_of(const struct iovec *v, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; v != NULL && n <= IOV_MAX && i < n; i++)
        bytes += v[i].iov_len;
    return bytes;
}

static ssize_t call_readv(int fd, void *arg)
{
    struct tn_request *rq = arg;
    return readv(fd, rq->data, (int)rq->n);
}

static size_t vectors(int n)
{
    return n > 0 ? (size_t)n : 0;
}

TN_API ssize_t tn_readv_until(int fd, const struct iovec *to, int n, tn_time deadline, tn_token *token)
{
    struct transfer t = {{.kind = TN_REQUEST_READV, .data = (void *)(uintptr_t)to, .n = (size_t)n}, 0};
    return transfer(fd, TN_WAY_IN, call_readv, &t, bytes_of(to, vectors(n)), deadline, token);
}

static ssize_t call_writev(int fd, void *arg)
{
    struct tn_request *rq = arg;
    return writev(fd, rq->data, (int)rq->n);
}

TN_API ssize_t tn_writev_until(int fd, const struct iovec *from, int n, tn_time deadline, tn_token *token)
{
    struct transfer t = {{.kind = TN_REQUEST_WRITEV, .data = (void *)(uintptr_t)from, .n = (size_t)n}, 0};
    return transfer(fd, TN_WAY_OUT, call_writev, &t, bytes_of(from, vectors(n)), deadline, token);
}

static ssize_t call_recv(int fd, void *arg)
{
    struct tn_request *rq = arg;
    return recvfrom(fd, rq->data, rq->n, rq->flags | MSG_DONTWAIT, NULL, NULL);
}

static ssize_t recv_some(int fd, void *to, size_t n, int flags, tn_time deadline, tn_token *token)
{
    struct transfer t; /* what else it has is not looked at, and to clear it is half of what this costs */
    t.rq.kind = TN_REQUEST_RECV;
    t.rq.data = to;
    t.rq.n = n;
    t.rq.flags = flags & ~MSG_DONTWAIT;
    return transfer(fd, TN_WAY_IN, call_recv, &t, flags == 0 ? n : 0, deadline, token);
}

/* MSG_WAITALL is for a stream, and not for what looks at it, or beside it. */
static bool wants_all(int fd, int flags)
{
    int type = 0;
    socklen_t size = sizeof type;
    return (flags & MSG_WAITALL) != 0 && (flags & (MSG_PEEK | MSG_OOB | MSG_ERRQUEUE | MSG_DONTWAIT)) == 0 &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

static ssize_t call_recvmsg(int fd, void *arg)
{
    struct tn_request *rq = arg;
    return recvmsg(fd, rq->data, rq->flags | MSG_DONTWAIT);
}

static ssize_t recvmsg_some(int fd, struct msghdr *message, int flags, tn_time deadline, tn_token *token)
{
    struct transfer t = {{.kind = TN_REQUEST_RECVMSG, .data = message, .flags = flags & ~MSG_DONTWAIT}, 0};
    size_t asked = flags == 0 && message != NULL ? bytes_of(message->msg_iov, message->msg_iovlen) : 0;
    return transfer(fd, TN_WAY_IN, call_recvmsg, &t, asked, deadline, token);
}

/* What is missing of it behind `got` bytes, call by call. What ends it and is not the connection's fault the next call is told; an
 * error is told at once, since the kernel says it only once. */
static ssize_t recv_rest(int fd, struct msghdr *message, size_t controls, size_t got, int flags, tn_time deadline,
                         tn_token *token)
{
    size_t all = bytes_of(message->msg_iov, message->msg_iovlen);
    while (got < all && !has_descriptors(message)) {
        struct iovec v[RESTS];
        struct msghdr m = {.msg_iov = v,
                           .msg_iovlen = rest_of(message, got, v),
                           .msg_control = message->msg_control,
                           .msg_controllen = controls};
        ssize_t n = recvmsg_some(fd, &m, flags, deadline, token);
        if (n < 0 && errno != ETIMEDOUT && errno != ECANCELED && errno != ENOMEM)
            return -1;
        if (n <= 0)
            break;
        message->msg_controllen = m.msg_controllen;
        message->msg_flags = m.msg_flags;
        got += (size_t)n;
    }
    return (ssize_t)got;
}

TN_API ssize_t tn_recvmsg_until(int fd, struct msghdr *message, int flags, tn_time deadline, tn_token *token)
{
    bool all = __builtin_expect(flags & MSG_WAITALL, 0) && wants_all(fd, flags);
    size_t controls = all && message != NULL ? message->msg_controllen : 0;
    ssize_t got = recvmsg_some(fd, message, flags & ~MSG_WAITALL, deadline, token);
    return all && got > 0 ? recv_rest(fd, message, controls, (size_t)got, flags & ~MSG_WAITALL, deadline, token)
                          : got;
}

static __attribute__((noinline)) ssize_t recv_all(int fd, void *to, size_t n, int flags, tn_time deadline,
                                                  tn_token *token)
{
    struct iovec v = {to, n};
    return tn_recvmsg_until(fd, &(struct msghdr){.msg_iov = &v, .msg_iovlen = 1}, flags, deadline, token);
}

TN_API ssize_t tn_recv_until(int fd, void *to, size_t n, int flags, tn_time deadline, tn_token *token)
{
    return __builtin_expect(flags & MSG_WAITALL, 0) ? recv_all(fd, to, n, flags, deadline, token)
                                                    : recv_some(fd, to, n, flags, deadline, token);
}

static ssize_t call_send(int fd, void *arg)
{
    struct tn_request *rq = arg;
    return sendto(fd, rq->data, rq->n, rq->flags | MSG_DONTWAIT, NULL, 0);
}

TN_API ssize_t tn_send_until(int fd, const void *from, size_t n, int flags, tn_time deadline, tn_token *token)
{
    struct transfer t; /* so too */
    t.rq.kind = TN_REQUEST_SEND;
    t.rq.data = (void *)(uintptr_t)from;
    t.rq.n = n;
    t.rq.flags = flags & ~MSG_DONTWAIT;
    return transfer(fd, TN_WAY_OUT, call_send, &t, n, deadline, token);
}

/* With an address they are made as a message; what is told of the address is told as they do. */
TN_API ssize_t tn_recvfrom_until(int fd, void *to, size_t n, int flags, struct sockaddr *address, socklen_t *length,
                                 tn_time deadline, tn_token *token)
{
    if (address == NULL)
        return tn_recv_until(fd, to, n, flags, deadline, token);
    if (length == NULL)
        return refused(EFAULT);
    struct iovec v = {to, n};
    struct msghdr m = {.msg_name = address, .msg_namelen = *length, .msg_iov = &v, .msg_iovlen = 1};
    ssize_t got = tn_recvmsg_until(fd, &m, flags, deadline, token);
    if (got >= 0)
        *length = m.msg_namelen;
    return got;
}

TN_API ssize_t tn_sendto_until(int fd, const void *from, size_t n, int flags, const struct sockaddr *address,
                               socklen_t length, tn_time deadline, tn_token *token)
{
    if (address == NULL)
        return tn_send_until(fd, from, n, flags, deadline, token);
    struct iovec v = {(void *)(uintptr_t)from, n};
    struct msghdr m = {.msg_name = (void *)(uintptr_t)address, .msg_namelen = length, .msg_iov = &v, .msg_iovlen = 1};
    return tn_sendmsg_until(fd, &m, flags, deadline, token);
}

static ssize_t call_sendmsg(int fd, void *arg)
{
    struct tn_request *rq = arg;
    return sendmsg(fd, rq->data, rq->flags | MSG_DONTWAIT);
}

TN_API ssize_t tn_sendmsg_until(int fd, const struct msghdr *message, int flags, tn_time deadline, tn_token *token)
{
    struct transfer t = {
        {.kind = TN_REQUEST_SENDMSG, .data = (void *)(uintptr_t)message, .flags = flags & ~MSG_DONTWAIT}, 0};
    size_t asked = message != NULL ? bytes_of(message->msg_iov, message->msg_iovlen) : 0;
    return transfer(fd, TN_WAY_OUT, call_sendmsg, &t, asked, deadline, token);
}

struct from_file {
    int fd;
    off_t *offset;
    size_t n;
};

static ssize_t call_sendfile(int fd, void *arg)
{
    struct from_file *f = arg;
    return sendfile(fd, f->fd, f->offset, f->n);
}

TN_API ssize_t tn_sendfile_until(int to, int from, off_t *offset, size_t n, tn_time deadline, tn_token *token)
{
    struct from_file f = {from, offset, n};
    return io_out(to, &(struct io_how){call_sendfile, &f, NULL, 0, deadline, token});
}

/* ---- connections ---- */

/* 1 ms, then twice as long each time, up to 64. */
static int pause_longer(unsigned *times, tn_time deadline, tn_token *token)
{
    tn_time now = tn_now(), pause = (tn_time)1000000 << (*times < 6 ? (*times)++ : 6);
    if (now >= deadline)
        return ETIMEDOUT;
    return io_pause(deadline - now < pause ? deadline : now + pause, token);
}

/* Nothing tells when these are over. False: that is enough. */
static bool again_later(unsigned *times, tn_time deadline, tn_token *token)
{
    int err = errno, rc = pause_longer(times, deadline, token);
    errno = rc != 0 && rc != ETIMEDOUT ? rc : err;
    return rc == 0;
}

static bool given_up(int err)
{
    return err == ECONNABORTED || err == EPROTO || err == ENETDOWN || err == ENOPROTOOPT || err == EHOSTDOWN ||
           err == ENONET || err == EHOSTUNREACH || err == ENETUNREACH;
}

static bool exhausted(int err)
{
    return err == EMFILE || err == ENFILE || err == ENOMEM || err == ENOBUFS;
}

static ssize_t call_accept(int fd, void *arg)
{
    struct transfer *t = arg;
    int rc;
    do {
        if (t->rq.length != NULL)
            *(socklen_t *)t->rq.length = t->size;
        rc = accept4(fd, t->rq.data, t->rq.length, t->rq.flags);
    } while (rc < 0 && given_up(errno));
    return rc;
}

TN_API int tn_accept_until(int fd, struct sockaddr *address, socklen_t *length, tn_time deadline, tn_token *token)
{
    struct transfer t = {{.kind = TN_REQUEST_ACCEPT, .data = address, .length = length},
                         length != NULL ? *length : 0};
    uint32_t generation = io_generation(fd);
    unsigned times = 0;
    ssize_t got;
    t.rq.flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
    do {
        if (length != NULL)
            *length = t.size;
        got = transfer(fd, TN_WAY_IN, call_accept, &t, 0, deadline, token);
    } while (got < 0 && (given_up(errno) || (exhausted(errno) && again_later(&times, deadline, token))));
    if (got >= 0)
        io_fresh((int)got, fd, generation);
    return (int)got;
}

struct connection {
    struct tn_request rq; /* first */
    bool full;            /* the other side takes no more just now, and nothing will tell when it does (AF_UNIX) */
};

static ssize_t call_connect(int fd, void *arg)
{
    struct connection *c = arg;
    const struct sockaddr *address = c->rq.data;
    int rc = connect(fd, address, (socklen_t)c->rq.n);
    c->full = rc < 0 && errno == EAGAIN && address->sa_family == AF_UNIX;
    if (c->full)
        errno = ECONNREFUSED;
    else if (rc < 0 && (errno == EINPROGRESS || errno == EALREADY || errno == EINTR))
        errno = EAGAIN;
    return rc;
}

TN_API int tn_connect_until(int fd, const struct sockaddr *address, socklen_t length, tn_time deadline,
                            tn_token *token)
{
    if (address == NULL)
        return (int)refused(EFAULT);
    struct connection c = {{.kind = TN_REQUEST_CONNECT, .fd = fd, .data = (void *)(uintptr_t)address, .n = length},
                           false};
    struct tn_request *rq = address->sa_family != AF_UNIX ? &c.rq : NULL; /* which is as soon told that it is full */
    unsigned times = 0;
    ssize_t rc;
    do
        rc = io_out(fd, &(struct io_how){call_connect, &c, rq, 0, deadline, token});
    while (rc < 0 && c.full && again_later(&times, deadline, token));
    if (rc < 0 && c.full && errno == ECONNREFUSED)
        errno = ETIMEDOUT;
    return (int)rc;
}

TN_API int tn_socket(int domain, int type, int protocol)
{
    int fd = socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
    if (fd >= 0)
        io_fresh(fd, -1, 0);
    return fd;
}

TN_API int tn_shutdown(int fd, int how)
{
    return shutdown(fd, how);
}

TN_API int tn_close(int fd)
{
    int rc = io_close(fd, close);
    return rc < 0 && errno == EINTR ? 0 : rc; /* Linux has closed it */
}

/* ---- several ---- */

/* What of them tn_select can wait for; what poll alone knows of (no descriptor, POLLNVAL) it has told before. */
static unsigned interests(const struct pollfd *fds, nfds_t n, struct io_interest *interest)
{
    unsigned m = 0;
    for (nfds_t i = 0; i < n; i++) {
        if (fds[i].fd < 0)
            continue;
        if (fds[i].events == 0 || (fds[i].events & ~POLLOUT) != 0) /* an error shows there */
            interest[m++] = (struct io_interest){fds[i].fd, TN_WAY_IN};
        if ((fds[i].events & POLLOUT) != 0)
            interest[m++] = (struct io_interest){fds[i].fd, TN_WAY_OUT};
    }
    return m;
}

static int wait_for_several(struct pollfd *fds, nfds_t n, tn_time deadline, tn_token *token)
{
    if (tn_fibre_self() == NULL) {
        tn_time now = tn_now(), step = token != NULL && deadline - now > TN_LOOK_NS ? now + TN_LOOK_NS : deadline;
        poll_until(fds, n, step);
        return token != NULL && tn_token_fired(token) ? ECANCELED : tn_now() >= deadline ? ETIMEDOUT : 0;
    }
    struct io_interest *interest = malloc((2 * n + 1) * sizeof *interest);
    if (interest == NULL)
        return ENOMEM;
    unsigned m = interests(fds, n, interest);
    int rc = m > 0 ? io_select(interest, m, deadline, token) : io_pause(deadline, token);
    free(interest);
    return m == 0 && rc == 0 ? ETIMEDOUT : rc;
}

TN_API int tn_poll_until(struct pollfd *fds, nfds_t n, tn_time deadline, tn_token *token)
{
    int rc = 0;
    unsigned times = 0;
    for (bool vain = false; rc == 0 || rc == ETIMEDOUT; vain = tn_fibre_self() != NULL) {
        int ready = io_polled(fds, n, poll_until(fds, n, 0));
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return ready;
        if (rc == ETIMEDOUT)
            return 0;
        if (vain) /* what is readable, and is asked for something else, would be told again at once */
            rc = pause_longer(&times, deadline, token);
        if (rc == 0)
            rc = wait_for_several(fds, n, deadline, token);
    }
    return (int)refused(rc);
}
