/* SPDX-License-Identifier: MIT
 *
 * What the suites of input and output share: a runtime with the poller under test, and pairs of descriptors of each kind.
 */
#ifndef TESTS_IO_H
#define TESTS_IO_H

#include "sync.h"

#include "tenter_io.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* The one under test, with its knobs: the first argument of the suite. */
static const char *poller;

/* Whether it receives by TCP, once a call has asked for it, before the next one does; so that what only looks does not see it. */
static inline bool receives_ahead(void)
{
    return strstr(poller, "ahead=on") != NULL;
}

static inline struct tn_config with_poller(int workers)
{
    struct tn_config c = with(workers, NULL);
    c.poller = poller;
    return c;
}

/* As the first fibre of a runtime, of one worker and of two. */
static inline void fibres(void *(*fn)(void *))
{
    for (int workers = 1; workers <= 2; workers++) {
        struct tn_config c = with_poller(workers);
        CHECK_EQUAL(tn_run(&c, fn, NULL, NULL), 0);
    }
}

static inline tn_fibre *start(void *(*fn)(void *), intptr_t arg)
{
    tn_fibre *f = NULL;
    CHECK_EQUAL(tn_spawn(&f, NULL, fn, (void *)arg), 0);
    return f;
}

static inline intptr_t end_of(tn_fibre *f)
{
    void *value = NULL;
    CHECK_EQUAL(tn_join(f, &value), 0);
    return (intptr_t)value;
}

static inline tn_time in_ms(unsigned ms)
{
    return tn_now() + ms * (tn_time)1000000;
}

/* ---- pairs of descriptors: the second reads what the first writes ---- */

enum { PIPE, UNIX_STREAM, UNIX_DATAGRAM, TCP, UDP, PAIRS };

static inline struct sockaddr_in loopback(int fd)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    if (fd >= 0)
        CHECK_EQUAL(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    return a;
}

static inline int listener(void)
{
    int fd = tn_socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = loopback(-1);
    CHECK_EQUAL(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    CHECK_EQUAL(listen(fd, 128), 0);
    return fd;
}

static inline void *connects(void *arg)
{
    struct sockaddr_in a = loopback((int)(intptr_t)arg);
    int fd = tn_socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQUAL(tn_connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return (void *)(intptr_t)fd;
}

static inline void open_pair(int kind, int fd[2])
{
    if (kind == PIPE) {
        int p[2];
        CHECK_EQUAL(pipe(p), 0);
        fd[0] = p[1];
        fd[1] = p[0];
    } else if (kind == UNIX_STREAM || kind == UNIX_DATAGRAM) {
        CHECK_EQUAL(socketpair(AF_UNIX, kind == UNIX_STREAM ? SOCK_STREAM : SOCK_DGRAM, 0, fd), 0);
    } else if (kind == TCP) {
        int l = listener();
        tn_fibre *f = start(connects, l);
        fd[1] = tn_accept(l, NULL, NULL);
        CHECK((fcntl(fd[1], F_GETFL) & O_NONBLOCK) != 0 && (fcntl(fd[1], F_GETFD) & FD_CLOEXEC) != 0);
        fd[0] = (int)end_of(f);
        CHECK_EQUAL(tn_close(l), 0);
    } else {
        struct sockaddr_in a[2];
        for (int i = 0; i < 2; i++) {
            a[i] = loopback(-1);
            fd[i] = tn_socket(AF_INET, SOCK_DGRAM, 0);
            CHECK_EQUAL(bind(fd[i], (struct sockaddr *)&a[i], sizeof a[i]), 0);
            a[i] = loopback(fd[i]);
        }
        for (int i = 0; i < 2; i++)
            CHECK_EQUAL(tn_connect(fd[i], (struct sockaddr *)&a[!i], sizeof a[i]), 0);
    }
    CHECK(fd[0] >= 0 && fd[1] >= 0);
}

static inline void close_pair(int fd[2])
{
    CHECK_EQUAL(tn_close(fd[0]), 0);
    CHECK_EQUAL(tn_close(fd[1]), 0);
}

static inline void *reads_to_end(void *arg)
{
    char text[64];
    ssize_t n, sum = 0;
    while ((n = tn_read((int)(intptr_t)arg, text, sizeof text)) > 0)
        sum += n;
    CHECK(n == 0 || errno == ECONNRESET);
    return (void *)(intptr_t)sum;
}

static inline int io_main(int argc, char **argv, const char *suite, const struct test *tests, size_t n)
{
    poller = argc > 1 ? argv[1] : NULL;
    return sync_main(argc - 1, argv + 1, suite, tests, n);
}

#endif
