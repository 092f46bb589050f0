/* SPDX-License-Identifier: MIT
 *
 * Input and output as ordinary blocking calls: a fibre that has to wait lets others run. Each call does and returns what the
 * POSIX one of its name does, -1 with errno where it fails, on whatever descriptor: the library puts it into non-blocking
 * mode at its first call (O_NONBLOCK belongs to the open file, which others may share). As there, a transfer may be shorter
 * than asked for; of a stream with MSG_WAITALL only at its end, where descriptors come with it, at a deadline or a token, which
 * the next call is told. An error of the connection is told at once there, in the place of what had come before. EINTR and
 * EAGAIN are never returned: neither MSG_DONTWAIT nor SO_RCVTIMEO nor SO_SNDTIMEO does anything, but deadlines do.
 *
 * Who: any. Blocks; the fibre may go on on another worker. In addition to those of the POSIX call there are the errors
 *   ETIMEDOUT   the deadline came first. What can be done at once is done, whatever the deadline
 *   ECANCELED   the token fired, the fibre's group was cancelled; or somebody closed the descriptor (tn_close)
 *   EBUSY       it is in use by fibres of another runtime
 *   ENOSYS      a fibre would have to wait, and this build has no poller (meson -Dpoller=…)
 *   ENOMEM      as tn_wait
 * In each direction calls on one descriptor take turns in the order in which they came. A plain thread takes no turn, and
 * sees its token fire, or the descriptor being closed, within some milliseconds.
 *
 * A descriptor that was used here is closed by tn_close, not by close, and before dup2 puts another one in its place:
 * else the next owner of its number may wait for ever. Regular files are read and written on threads of the runtime
 * (tn_blocking), where neither a deadline nor a token ends what is under way.
 */
#ifndef TENTER_IO_H
#define TENTER_IO_H

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "tenter_channel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For what waits a call on a descriptor. */
enum { TN_IO_IN, TN_IO_OUT };

/* Any other call that neither blocks nor lets other fibres run: `call(fd, arg)` is made, and made again when the descriptor is ready in direction
 * `way`, as long as it returns -1 with errno EAGAIN or EINTR. What it returns then is returned. */
TN_API ssize_t tn_io(int fd, int way, ssize_t (*call)(int fd, void *arg), void *arg, tn_time deadline,
                     tn_token *token);

TN_API ssize_t tn_read_until(int fd, void *to, size_t n, tn_time deadline, tn_token *token);
TN_API ssize_t tn_write_until(int fd, const void *from, size_t n, tn_time deadline, tn_token *token);
TN_API ssize_t tn_readv_until(int fd, const struct iovec *to, int n, tn_time deadline, tn_token *token);
TN_API ssize_t tn_writev_until(int fd, const struct iovec *from, int n, tn_time deadline, tn_token *token);
TN_API ssize_t tn_recv_until(int fd, void *to, size_t n, int flags, tn_time deadline, tn_token *token);
TN_API ssize_t tn_send_until(int fd, const void *from, size_t n, int flags, tn_time deadline, tn_token *token);
TN_API ssize_t tn_recvfrom_until(int fd, void *to, size_t n, int flags, struct sockaddr *address, socklen_t *length,
                                 tn_time deadline, tn_token *token);
TN_API ssize_t tn_sendto_until(int fd, const void *from, size_t n, int flags, const struct sockaddr *address,
                               socklen_t length, tn_time deadline, tn_token *token);
TN_API ssize_t tn_recvmsg_until(int fd, struct msghdr *message, int flags, tn_time deadline, tn_token *token);
TN_API ssize_t tn_sendmsg_until(int fd, const struct msghdr *message, int flags, tn_time deadline, tn_token *token);
TN_API ssize_t tn_sendfile_until(int to, int from, off_t *offset, size_t n, tn_time deadline, tn_token *token);

/* The new descriptor is non-blocking and close-on-exec. While there is no descriptor to be had (EMFILE, ENFILE, ENOMEM,
 * ENOBUFS) it tries again and again, less and less often, and returns that error only at the deadline; connections that were
 * given up before they were accepted are passed over. */
TN_API int tn_accept_until(int fd, struct sockaddr *address, socklen_t *length, tn_time deadline, tn_token *token);
/* When a deadline or a token has ended it the connection is still being made: close the descriptor, or call it again. */
TN_API int tn_connect_until(int fd, const struct sockaddr *address, socklen_t length, tn_time deadline,
                            tn_token *token);

/* As poll: how many of them have something to tell, 0 at the deadline. Errors also: EINVAL more than TN_SELECT_MAX / 2 that
 * are asked for both directions. */
TN_API int tn_poll_until(struct pollfd *fds, nfds_t n, tn_time deadline, tn_token *token);

/* The same without an end. */
static inline ssize_t tn_read(int fd, void *to, size_t n)
{
    return tn_read_until(fd, to, n, TN_FOREVER, NULL);
}
static inline ssize_t tn_write(int fd, const void *from, size_t n)
{
    return tn_write_until(fd, from, n, TN_FOREVER, NULL);
}
static inline ssize_t tn_readv(int fd, const struct iovec *to, int n)
{
    return tn_readv_until(fd, to, n, TN_FOREVER, NULL);
}
static inline ssize_t tn_writev(int fd, const struct iovec *from, int n)
{
    return tn_writev_until(fd, from, n, TN_FOREVER, NULL);
}
static inline ssize_t tn_recv(int fd, void *to, size_t n, int flags)
{
    return tn_recv_until(fd, to, n, flags, TN_FOREVER, NULL);
}
static inline ssize_t tn_send(int fd, const void *from, size_t n, int flags)
{
    return tn_send_until(fd, from, n, flags, TN_FOREVER, NULL);
}
static inline ssize_t tn_recvfrom(int fd, void *to, size_t n, int flags, struct sockaddr *address, socklen_t *length)
{
    return tn_recvfrom_until(fd, to, n, flags, address, length, TN_FOREVER, NULL);
}
static inline ssize_t tn_sendto(int fd, const void *from, size_t n, int flags, const struct sockaddr *address,
                                socklen_t length)
{
    return tn_sendto_until(fd, from, n, flags, address, length, TN_FOREVER, NULL);
}
static inline ssize_t tn_recvmsg(int fd, struct msghdr *message, int flags)
{
    return tn_recvmsg_until(fd, message, flags, TN_FOREVER, NULL);
}
static inline ssize_t tn_sendmsg(int fd, const struct msghdr *message, int flags)
{
    return tn_sendmsg_until(fd, message, flags, TN_FOREVER, NULL);
}
static inline ssize_t tn_sendfile(int to, int from, off_t *offset, size_t n)
{
    return tn_sendfile_until(to, from, offset, n, TN_FOREVER, NULL);
}
static inline int tn_accept(int fd, struct sockaddr *address, socklen_t *length)
{
    return tn_accept_until(fd, address, length, TN_FOREVER, NULL);
}
static inline int tn_connect(int fd, const struct sockaddr *address, socklen_t length)
{
    return tn_connect_until(fd, address, length, TN_FOREVER, NULL);
}
static inline int tn_poll(struct pollfd *fds, nfds_t n)
{
    return tn_poll_until(fds, n, TN_FOREVER, NULL);
}

/* These three do not wait. A socket that is non-blocking and close-on-exec; whoever waits for a descriptor that is closed
 * is told ECANCELED, and whoever gets its number next has nothing of it. Calls that are made at the same moment as tn_close
 * may, as with close, find either no such descriptor or the number's next owner. */
TN_API int tn_socket(int domain, int type, int protocol);
TN_API int tn_shutdown(int fd, int how);
TN_API int tn_close(int fd);

/* Arms of tn_select: the descriptor is ready, so that a call may do something at once; another one may be faster. The arm's
 * `rc` is 0; EBADF; ECANCELED it was closed meanwhile; EBUSY, ENOSYS, ENOMEM as above; EPERM a plain thread. */
TN_API extern const struct tn_arm_kind tn_arm_readable, tn_arm_writable;
TN_API void *tn_io_object(int fd, int way);

#define TN_READABLE(fd)                                                            \
    {                                                                              \
        &tn_arm_readable, tn_io_object((fd), TN_IO_IN), (void *)(intptr_t)(fd), 0, \
        {                                                                          \
            0                                                                      \
        }                                                                          \
    }
#define TN_WRITABLE(fd)                                                             \
    {                                                                               \
        &tn_arm_writable, tn_io_object((fd), TN_IO_OUT), (void *)(intptr_t)(fd), 0, \
        {                                                                           \
            0                                                                       \
        }                                                                           \
    }

#ifdef __cplusplus
}
#endif
#endif
