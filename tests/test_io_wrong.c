/* SPDX-License-Identifier: MIT
 *
 * Arguments that the system refuses are refused, and cost nothing else; poll where what is there is not what is asked for.
 * Run for each poller.
 */
#include "io.h"

#include <limits.h>
#include <poll.h>
#include <sys/uio.h>

#define REFUSED(call, err) CHECK((call) == -1 && errno == (err))

static void *asks_wrongly(void *arg)
{
    char c = 'x';
    int fd[2];
    struct iovec v = {&c, 1}, *none = NULL;
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = (size_t)-1}, *no_message = NULL;
    struct sockaddr *nowhere = NULL;
    open_pair(UNIX_STREAM, fd);
    CHECK_EQUAL(tn_write(fd[0], "abc", 3), 3);
    REFUSED(tn_readv(fd[1], &v, INT_MAX), EINVAL);
    REFUSED(tn_writev(fd[1], &v, INT_MAX), EINVAL);
    REFUSED(tn_readv(fd[1], &v, -1), EINVAL);
    REFUSED(tn_readv(fd[1], none, 1), EFAULT);
    REFUSED(tn_sendmsg(fd[1], &m, 0), EMSGSIZE);
    REFUSED(tn_recvmsg(fd[1], &m, 0), EMSGSIZE);
    REFUSED(tn_sendmsg(fd[1], no_message, 0), EFAULT);
    REFUSED(tn_recvmsg(fd[1], no_message, 0), EFAULT);
    REFUSED(tn_recvfrom(fd[1], &c, 1, 0, &(struct sockaddr){0}, NULL), EFAULT);
    REFUSED(tn_connect(fd[1], nowhere, 16), EFAULT);
    CHECK(tn_read(fd[1], &c, 1) == 1 && c == 'a'); /* all the same */
    close_pair(fd);
    return arg;
}

static void refused(void)
{
    fibres(asks_wrongly);
}

/* A number that nobody has been given makes no room for all those below it, which each stop would have to look through. */
static void *uses_no_descriptor(void *arg)
{
    static const int number[] = {INT_MAX, 100000000, 1000000};
    char c;
    for (unsigned i = 0; i < sizeof number / sizeof number[0]; i++) {
        REFUSED(tn_close(number[i]), EBADF);
        REFUSED(tn_read(number[i], &c, 1), EBADF);
        REFUSED(tn_accept(number[i], NULL, NULL), EBADF);
    }
    return arg;
}

static void no_descriptor(void)
{
    fibres(uses_no_descriptor);
}

/* It is readable all the time, and nobody wants to know. */
static void *polls_for_something_else(void *arg)
{
    static const short events[] = {0, POLLPRI, POLLRDHUP};
    int fd[2];
    tn_token token;
    open_pair(UNIX_STREAM, fd);
    CHECK_EQUAL(tn_write(fd[0], "x", 1), 1);
    tn_token_init(&token);
    for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++) {
        struct pollfd p = {.fd = fd[1], .events = events[i]};
        CHECK_EQUAL(tn_poll_until(&p, 1, 0, NULL), 0);
        CHECK_EQUAL(tn_poll_until(&p, 1, in_ms(5), NULL), 0);
    }
    tn_token_fire(&token);
    struct pollfd p = {.fd = fd[1], .events = POLLRDHUP};
    CHECK(tn_poll_until(&p, 1, TN_FOREVER, &token) == -1 && errno == ECANCELED);
    CHECK_EQUAL(tn_close(fd[0]), 0);
    CHECK(tn_poll(&p, 1) == 1 && (p.revents & POLLRDHUP) != 0);
    CHECK_EQUAL(tn_close(fd[1]), 0);
    return arg;
}

static void something_else(void)
{
    fibres(polls_for_something_else);
}

static const struct test tests[] = {
    {"what the system refuses", refused},
    {"numbers of no descriptor", no_descriptor},
    {"poll for something else than what is there", something_else},
};

int main(int argc, char **argv)
{
    return io_main(argc, argv, "io_wrong", tests, sizeof tests / sizeof tests[0]);
}
