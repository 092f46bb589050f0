/* SPDX-License-Identifier: MIT
 *
 * A call that took all there was has the next one wait for an event (io.h, IO_STREAM): only such as would block, or else what
 * POSIX does at once waits for ever. And what does not fit that picture: urgent data, at whose mark a call stops short; devices
 * that no event ever comes from. Run for each poller.
 */
#include "io.h"

#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/ioctl.h>

static ssize_t call_available(int fd, void *arg)
{
    return ioctl(fd, FIONREAD, arg);
}

static ssize_t call_nothing(int fd, void *arg)
{
    (void)fd;
    return *(int *)arg;
}

/* Both ways of fd[1] are dry: more was asked of either than there was. */
static void dried(int fd[2])
{
    static char text[1 << 22];
    open_pair(TCP, fd);
    CHECK(tn_read_until(fd[1], text, 64, in_ms(1), NULL) == -1 && errno == ETIMEDOUT); /* armed */
    CHECK_EQUAL(tn_write(fd[0], "hello", 5), 5);
    CHECK_EQUAL(tn_read_until(fd[1], text, 64, in_ms(20000), NULL), 5);
    ssize_t n = tn_write(fd[1], text, sizeof text);
    CHECK(n > 0 && n < (ssize_t)sizeof text);
}

/* None of these waits in POSIX, however little there is. */
static void *does_at_once(void *arg)
{
    char c;
    int fd[2], left = -1, seven = 7;
    struct iovec none = {&c, 0}, one = {&c, 1};
    tn_time until;
    dried(fd);
    until = in_ms(20000);
    CHECK_EQUAL(tn_read_until(fd[1], &c, 0, until, NULL), 0);
    CHECK_EQUAL(tn_readv_until(fd[1], &none, 1, until, NULL), 0);
    CHECK_EQUAL(tn_readv_until(fd[1], &one, 0, until, NULL), 0);
    CHECK(tn_readv_until(fd[1], &one, -1, until, NULL) == -1 && errno == EINVAL);
    CHECK_EQUAL(tn_write_until(fd[1], &c, 0, until, NULL), 0);
    CHECK_EQUAL(tn_send_until(fd[1], &c, 0, MSG_NOSIGNAL, until, NULL), 0);
    CHECK_EQUAL(tn_writev_until(fd[1], &one, 0, until, NULL), 0);
    CHECK(tn_writev_until(fd[1], &one, -1, until, NULL) == -1 && errno == EINVAL);
    CHECK(tn_sendfile_until(fd[1], -1, NULL, 1, until, NULL) == -1 && errno == EBADF);
    CHECK(tn_accept_until(fd[1], NULL, NULL, until, NULL) == -1 && errno == EINVAL);
    CHECK(tn_recv_until(fd[1], &c, 1, MSG_OOB, until, NULL) == -1 && errno == EINVAL);
    CHECK_EQUAL(tn_io(fd[1], TN_IO_IN, call_available, &left, until, NULL), 0);
    CHECK_EQUAL(left, 0);
    CHECK_EQUAL(tn_io(fd[1], TN_IO_OUT, call_nothing, &seven, until, NULL), 7);
    CHECK(tn_now() < until);
    CHECK_EQUAL(tn_close(fd[1]), 0);
    CHECK_EQUAL(tn_close(fd[0]), 0);
    open_pair(UNIX_DATAGRAM, fd); /* vectors of nothing are no message */
    CHECK_EQUAL(tn_writev_until(fd[0], &none, 1, until, NULL), 0);
    CHECK(tn_recv_until(fd[1], &c, 1, 0, 0, NULL) == -1 && errno == ETIMEDOUT);
    CHECK_EQUAL(tn_send(fd[0], "x", 1, 0), 1);
    CHECK_EQUAL(tn_readv_until(fd[1], &none, 1, until, NULL), 0);
    CHECK(tn_recv_until(fd[1], &c, 1, 0, until, NULL) == 1 && c == 'x');
    close_pair(fd);
    return arg;
}

static void at_once(void)
{
    fibres(does_at_once);
}

/* Who listens reads nothing, also when a connection has come; and the connection is there afterwards. */
static void *reads_who_listens(void *arg)
{
    char text[8];
    int l = listener(), fd = -1;
    tn_time until = in_ms(20000);
    CHECK(tn_accept_until(l, NULL, NULL, in_ms(1), NULL) == -1 && errno == ETIMEDOUT);
    tn_fibre *f = start(connects, l);
    int client = (int)end_of(f);
    CHECK_EQUAL(tn_sleep(3000000), 0);
    CHECK(tn_read_until(l, text, sizeof text, until, NULL) == -1 && errno == ENOTCONN);
    CHECK(tn_recv_until(l, text, sizeof text, 0, until, NULL) == -1 && errno == ENOTCONN);
    CHECK((fd = tn_accept_until(l, NULL, NULL, until, NULL)) >= 0);
    CHECK(tn_now() < until);
    CHECK_EQUAL(tn_close(fd), 0);
    CHECK_EQUAL(tn_close(client), 0);
    CHECK_EQUAL(tn_close(l), 0);
    return arg;
}

static void who_listens(void)
{
    fibres(reads_who_listens);
}

/* ---- nothing asked for, of what may have been received ahead ---- */

static void *asks_for_nothing(void *arg)
{
    char c;
    int fd[2];
    open_pair(TCP, fd);
    CHECK(tn_read_until(fd[1], &c, 1, in_ms(1), NULL) == -1 && errno == ETIMEDOUT);
    CHECK(tn_recv_until(fd[1], &c, 0, 0, in_ms(1), NULL) == -1 && errno == ETIMEDOUT); /* which TCP has wait */
    CHECK_EQUAL(tn_write(fd[0], "a", 1), 1);
    CHECK_EQUAL(tn_sleep(3000000), 0);
    CHECK_EQUAL(tn_recv_until(fd[1], &c, 0, 0, in_ms(20000), NULL), 0);
    CHECK(tn_read_until(fd[1], &c, 1, in_ms(20000), NULL) == 1 && c == 'a');
    close_pair(fd);
    return arg;
}

static void nothing(void)
{
    fibres(asks_for_nothing);
}

/* ---- urgent data ---- */

static _Atomic(bool) reads_now;

/* Each call stops at the mark, so there is more than the one before has taken. */
static void *reads_over_marks(void *arg)
{
    char text[64];
    size_t got = 0;
    tn_time until = in_ms(20000);
    while (got < 6) {
        atomic_store(&reads_now, true);
        ssize_t n = tn_read_until((int)(intptr_t)arg, text + got, sizeof text - got, until, NULL);
        if (!CHECK(n > 0))
            return NULL;
        got += (size_t)n;
    }
    CHECK(got == 6 && memcmp(text, "abcdef", 6) == 0);
    return NULL;
}

static void *urges(void *arg)
{
    char c;
    for (int round = 0; round < (stress ? 300 : 20); round++) {
        int fd[2], on = 1;
        open_pair(TCP, fd);
        CHECK_EQUAL(setsockopt(fd[0], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
        CHECK(tn_read_until(fd[1], &c, 1, in_ms(1), NULL) == -1); /* armed */
        atomic_store(&reads_now, false);
        tn_fibre *f = start(reads_over_marks, fd[1]);
        while (round % 2 == 0 && !atomic_load(&reads_now))
            tn_yield();
        CHECK(send(fd[0], "abc", 3, 0) == 3 && send(fd[0], "!", 1, MSG_OOB) == 1 && send(fd[0], "def", 3, 0) == 3);
        end_of(f);
        close_pair(fd);
    }
    return arg;
}

static void urgent(void)
{
    fibres(urges);
}

/* ---- devices that are always ready, and that no poller takes ---- */

static void *uses_devices(void *arg)
{
    static const char *const names[] = {"/dev/null", "/dev/zero"};
    for (unsigned i = 0; i < 2; i++) {
        char c = 'x';
        unsigned which;
        int fd = open(names[i], O_RDWR | O_CLOEXEC);
        struct pollfd p = {fd, POLLIN | POLLOUT, 0};
        CHECK_EQUAL(tn_read(fd, &c, 1), i);
        CHECK_EQUAL(tn_write(fd, &c, 1), 1);
        CHECK(tn_poll(&p, 1) == 1 && p.revents == (POLLIN | POLLOUT));
        struct tn_arm in = TN_READABLE(fd), out = TN_WRITABLE(fd);
        CHECK(tn_select(&in, 1, &which, TN_FOREVER, NULL) == 0 && in.rc == 0);
        CHECK(tn_select(&out, 1, &which, TN_FOREVER, NULL) == 0 && out.rc == 0);
        p.events = POLLPRI;
        CHECK_EQUAL(tn_poll_until(&p, 1, in_ms(3), NULL), 0);
        CHECK_EQUAL(tn_close(fd), 0);
    }
    return arg;
}

static void devices(void)
{
    fibres(uses_devices);
}

static const struct test tests[] = {
    {"what is done at once", at_once}, {"who listens reads nothing", who_listens}, {"nothing is asked for", nothing},
    {"urgent data", urgent},           {"devices that are always ready", devices},
};

int main(int argc, char **argv)
{
    return io_main(argc, argv, "io_dry", tests, sizeof tests / sizeof tests[0]);
}
