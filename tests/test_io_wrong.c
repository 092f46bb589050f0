/* SPDX-License-Identifier: MIT
 *
 * Arguments that the system refuses are refused, and cost nothing else; poll where what is there is not what is asked for; what
 * calls that block do otherwise than those that do not: a receiving side that was shut down, options of time. Run for each poller.
 */
#include "io.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
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

/* ---- what does nothing to a descriptor that does not block ---- */

static void *receives_one(void *arg)
{
    char c;
    ssize_t n = tn_recv((int)(intptr_t)arg, &c, 1, 0);
    return (void *)(intptr_t)(n >= 0 ? n : -errno);
}

static void *on_a_thread(void *arg)
{
    void *value = NULL;
    CHECK_EQUAL(tn_blocking(receives_one, arg, &value), 0);
    return value;
}

/* Its own end, as soon as there is nothing left: also of datagrams, where the system says EAGAIN to who does not block. */
static void *shuts_down(void *arg)
{
    static const int kinds[] = {UNIX_STREAM, UNIX_DATAGRAM, TCP, UDP};
    for (unsigned i = 0; i < 2 * sizeof kinds / sizeof kinds[0]; i++) {
        int fd[2], kind = kinds[i / 2];
        char c = 0;
        struct iovec nothing = {&c, 0};
        open_pair(kind, fd);
        tn_fibre *waits = i % 2 == 0 ? start(receives_one, fd[1]) : NULL;
        tn_fibre *outside = i % 2 == 0 && kind != TCP ? start(on_a_thread, fd[1]) : NULL;
        if (waits != NULL)
            CHECK_EQUAL(tn_sleep(3000000), 0);
        else
            CHECK_EQUAL(tn_write(fd[0], "a", 1), 1);
        for (struct pollfd p = {.fd = fd[1], .events = POLLIN}; waits == NULL && tn_poll(&p, 1) != 1;)
            ;
        CHECK_EQUAL(tn_shutdown(fd[1], SHUT_RD), 0);
        if (waits != NULL)
            CHECK_EQUAL(end_of(waits), 0);
        else
            CHECK(tn_read(fd[1], &c, 1) == 1 && c == 'a');
        if (outside != NULL)
            CHECK_EQUAL(end_of(outside), 0);
        for (int times = 0; times < 3; times++) {
            CHECK_EQUAL(tn_recv(fd[1], &c, 1, 0), 0);
            CHECK_EQUAL(tn_recv(fd[1], &c, 1, MSG_PEEK), 0);
            CHECK_EQUAL(tn_readv(fd[1], &nothing, 1), 0);
        }
        close_pair(fd);
    }
    return arg;
}

static void *accepts_one(void *arg)
{
    int fd = tn_accept((int)(intptr_t)arg, NULL, NULL);
    return (void *)(intptr_t)(fd >= 0 ? fd : -errno);
}

static void *shuts_down_listeners(void *arg)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "\0tenter-io-shut"};
    for (int i = 0; i < 4; i++) {
        int fd = i % 2 == 0 ? listener() : tn_socket(AF_UNIX, SOCK_STREAM, 0);
        snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "tenter-io-shut-%d-%d", (int)getpid(), fd);
        if (i % 2 != 0)
            CHECK(bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 3) == 0);
        tn_fibre *waits = i < 2 ? start(accepts_one, fd) : NULL;
        CHECK_EQUAL(tn_sleep(3000000), 0);
        CHECK_EQUAL(tn_shutdown(fd, SHUT_RD), 0);
        if (waits != NULL)
            CHECK_EQUAL(end_of(waits), -EINVAL);
        REFUSED(tn_accept(fd, NULL, NULL), EINVAL);
        CHECK_EQUAL(tn_close(fd), 0);
    }
    return arg;
}

static void shut_down(void)
{
    fibres(shuts_down);
    fibres(shuts_down_listeners);
}

static void *writes_late(void *arg)
{
    CHECK_EQUAL(tn_sleep(30000000), 0);
    CHECK_EQUAL(tn_write((int)(intptr_t)arg, "x", 1), 1);
    return NULL;
}

static void *empties_late(void *arg)
{
    static char text[1 << 16];
    CHECK_EQUAL(tn_sleep(30000000), 0);
    while (tn_read_until((int)(intptr_t)arg, text, sizeof text, in_ms(5), NULL) > 0)
        ;
    return NULL;
}

/* SO_RCVTIMEO and SO_SNDTIMEO are for calls that block: those here wait on, and have deadlines. */
static void *has_its_own_patience(void *arg)
{
    static const int kinds[] = {UNIX_STREAM, UNIX_DATAGRAM, TCP, UDP};
    static char text[1024];
    struct timeval little = {0, 1000};
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        int fd[2];
        char c;
        open_pair(kinds[i], fd);
        for (int side = 0; side < 2; side++) {
            CHECK_EQUAL(setsockopt(fd[side], SOL_SOCKET, SO_RCVTIMEO, &little, sizeof little), 0);
            CHECK_EQUAL(setsockopt(fd[side], SOL_SOCKET, SO_SNDTIMEO, &little, sizeof little), 0);
        }
        REFUSED(tn_recv_until(fd[1], &c, 1, 0, in_ms(5), NULL), ETIMEDOUT); /* and not EAGAIN */
        tn_fibre *writer = start(writes_late, fd[0]);
        CHECK_EQUAL(tn_recv(fd[1], &c, 1, 0), 1);
        end_of(writer);
        if (kinds[i] != TCP || !receives_ahead()) { /* which a plain thread does not see */
            writer = start(writes_late, fd[0]);
            CHECK_EQUAL((ssize_t)end_of(start(on_a_thread, fd[1])), 1);
            end_of(writer);
        }
        if (kinds[i] != UDP) { /* which is never full */
            while (tn_send_until(fd[0], text, sizeof text, 0, in_ms(5), NULL) > 0)
                ;
            CHECK_EQUAL(errno, ETIMEDOUT);
            tn_fibre *reader = start(empties_late, fd[1]);
            CHECK(tn_send(fd[0], text, sizeof text, 0) > 0);
            end_of(reader);
        }
        close_pair(fd);
    }
    int l = listener();
    CHECK_EQUAL(setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &little, sizeof little), 0);
    tn_fibre *waits = start(accepts_one, l);
    CHECK_EQUAL(tn_sleep(30000000), 0);
    int fd = (int)(intptr_t)connects((void *)(intptr_t)l), other = (int)end_of(waits);
    CHECK(other >= 0);
    CHECK_EQUAL(tn_close(fd), 0);
    CHECK_EQUAL(tn_close(other), 0);
    CHECK_EQUAL(tn_close(l), 0);
    return arg;
}

static void time_options(void)
{
    fibres(has_its_own_patience);
}

/* ---- what a dump says of who waits ---- */

static void *reads_a_byte(void *fd)
{
    char c;
    return (void *)(intptr_t)tn_read((int)(intptr_t)fd, &c, 1);
}

static void *wants_to_read(void *fd)
{
    struct tn_arm arm = TN_READABLE((int)(intptr_t)fd);
    unsigned which;
    return (void *)(intptr_t)tn_select(&arm, 1, &which, TN_FOREVER, NULL);
}

static void *fills(void *fd)
{
    static const char text[65536];
    while (tn_send((int)(intptr_t)fd, text, sizeof text, MSG_NOSIGNAL) > 0)
        ;
    return NULL;
}

static tn_fibre *waiter_named(const char *name, void *(*fn)(void *), int fd)
{
    tn_fibre *f = NULL;
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.name = name}, fn, (void *)(intptr_t)fd), 0);
    return f;
}

static bool dump_has(const char *name, int fd, const char *how)
{
    static char said[1 << 16];
    char line[100];
    FILE *to = tmpfile();
    if (!CHECK(to != NULL) || !CHECK_EQUAL(tn_dump(fileno(to)), 0))
        return false;
    rewind(to);
    said[fread(said, 1, sizeof said - 1, to)] = '\0';
    fclose(to);
    snprintf(line, sizeof line, ": waits for descriptor %d, to %s\n", fd, how);
    char *at = strstr(said, name), *end = at != NULL ? strchr(at, '\n') : NULL;
    char *found = at != NULL ? strstr(at, line) : NULL;
    return found != NULL && end != NULL && found < end;
}

static void *wait_and_are_named(void *arg)
{
    int fd[2][2], l = listener();
    open_pair(TCP, fd[0]);
    open_pair(TCP, fd[1]);
    struct {
        const char *name;
        void *(*fn)(void *);
        int fd;
        const char *how;
    } waiters[] = {{"'reader'", reads_a_byte, fd[0][1], "read"},
                   {"'other'", reads_a_byte, fd[0][1], "read"}, /* waits for its turn */
                   {"'acceptor'", accepts_one, l, "read"},
                   {"'chooser'", wants_to_read, fd[1][0], "read"},
                   {"'writer'", fills, fd[1][0], "write"}};
    enum { WAITERS = sizeof waiters / sizeof waiters[0] };
    tn_fibre *f[WAITERS];
    for (int i = 0; i < WAITERS; i++) {
        char name[16] = "";
        strncpy(name, waiters[i].name + 1, strlen(waiters[i].name) - 2);
        f[i] = waiter_named(name, waiters[i].fn, waiters[i].fd);
    }
    for (int i = 0; i < WAITERS; i++) {
        bool told = false;
        for (int times = 0; times < 2000 && !told; times++) { /* until it waits */
            told = dump_has(waiters[i].name, waiters[i].fd, waiters[i].how);
            if (!told)
                tn_sleep(1000000);
        }
        if (!CHECK(told))
            harness_note("%s, descriptor %d, to %s", waiters[i].name, waiters[i].fd, waiters[i].how);
    }
    close_pair(fd[0]);
    close_pair(fd[1]);
    CHECK_EQUAL(tn_close(l), 0);
    for (int i = 0; i < WAITERS; i++)
        end_of(f[i]);
    return arg;
}

static void named_in_a_dump(void)
{
    fibres(wait_and_are_named);
}

static const struct test tests[] = {
    {"a dump names the descriptor and the way", named_in_a_dump},
    {"what the system refuses", refused},
    {"numbers of no descriptor", no_descriptor},
    {"poll for something else than what is there", something_else},
    {"what was shut down says its end", shut_down},
    {"options of time do nothing", time_options},
};

int main(int argc, char **argv)
{
    return io_main(argc, argv, "io_wrong", tests, sizeof tests / sizeof tests[0]);
}
