/* SPDX-License-Identifier: MIT
 *
 * System calls a request of an echo over TCP, counted: those that transfer, and a share of looking for events; with io_uring
 * only a share of entering it. And each third of them interrupted (EINTR), whoever makes it. Calls that register short
 * connections, under each poller that does.
 */
#include "io.h"

#include <stdio.h>
#include <sys/epoll.h>

static struct {
    _Atomic(uint64_t) transfers, in_vain, polls, arms, wakes; /* arms: and what ends it */
} calls;
static _Atomic(bool) fails;
static bool looks_for_each;
static _Atomic(uint32_t) turn;

/* Is this call interrupted? */
static bool fail(void)
{
    uint32_t n = atomic_load(&fails) ? atomic_fetch_add(&turn, 1) : 1;
    if (n % 3 == 0)
        errno_set(EINTR);
    return n % 3 == 0;
}

ssize_t __real_recvfrom(int fd, void *to, size_t n, int flags, struct sockaddr *a, socklen_t *size);
ssize_t __wrap_recvfrom(int fd, void *to, size_t n, int flags, struct sockaddr *a, socklen_t *size);
ssize_t __wrap_recvfrom(int fd, void *to, size_t n, int flags, struct sockaddr *a, socklen_t *size)
{
    if (fail())
        return -1;
    ssize_t got = __real_recvfrom(fd, to, n, flags, a, size);
    atomic_fetch_add(got < 0 ? &calls.in_vain : &calls.transfers, 1);
    return got;
}

ssize_t __real_sendto(int fd, const void *from, size_t n, int flags, const struct sockaddr *a, socklen_t size);
ssize_t __wrap_sendto(int fd, const void *from, size_t n, int flags, const struct sockaddr *a, socklen_t size);
ssize_t __wrap_sendto(int fd, const void *from, size_t n, int flags, const struct sockaddr *a, socklen_t size)
{
    if (fail())
        return -1;
    ssize_t put = __real_sendto(fd, from, n, flags, a, size);
    atomic_fetch_add(put < 0 ? &calls.in_vain : &calls.transfers, 1);
    return put;
}

ssize_t __real_read(int fd, void *to, size_t n);
ssize_t __wrap_read(int fd, void *to, size_t n);
ssize_t __wrap_read(int fd, void *to, size_t n)
{
    atomic_fetch_add(&calls.wakes, 1); /* of an event source: nobody else reads */
    return __real_read(fd, to, n);
}

#ifdef TEST_URING
int __real_io_uring_enter2(unsigned fd, unsigned put, unsigned least, unsigned flags, sigset_t *mask, size_t size);
int __wrap_io_uring_enter2(unsigned fd, unsigned put, unsigned least, unsigned flags, sigset_t *mask, size_t size);
int __wrap_io_uring_enter2(unsigned fd, unsigned put, unsigned least, unsigned flags, sigset_t *mask, size_t size)
{
    atomic_fetch_add(&calls.polls, 1);
    return fail() ? -EINTR : __real_io_uring_enter2(fd, put, least, flags, mask, size);
}
#endif

int __real_epoll_pwait2(int fd, struct epoll_event *events, int n, const struct timespec *until,
                        const sigset_t *mask);
int __wrap_epoll_pwait2(int fd, struct epoll_event *events, int n, const struct timespec *until,
                        const sigset_t *mask);
int __wrap_epoll_pwait2(int fd, struct epoll_event *events, int n, const struct timespec *until, const sigset_t *mask)
{
    atomic_fetch_add(&calls.polls, 1);
    if (fail())
        return -1;
    return __real_epoll_pwait2(fd, events, n, until, mask);
}

int __real_epoll_ctl(int fd, int what, int other, struct epoll_event *event);
int __wrap_epoll_ctl(int fd, int what, int other, struct epoll_event *event);
int __wrap_epoll_ctl(int fd, int what, int other, struct epoll_event *event)
{
    atomic_fetch_add(&calls.arms, what != EPOLL_CTL_MOD); /* which is how the fibre that polls asks the master */
    return __real_epoll_ctl(fd, what, other, event);
}

/* To end a wait in the poller: nobody else writes. */
ssize_t __real_write(int fd, const void *from, size_t n);
ssize_t __wrap_write(int fd, const void *from, size_t n);
ssize_t __wrap_write(int fd, const void *from, size_t n)
{
    atomic_fetch_add(&calls.wakes, 1);
    return __real_write(fd, from, n);
}

enum { CONNECTIONS = 64, REQUESTS = 100, WARM = 10 };

static _Atomic(int) warm;

static void *serves(void *arg)
{
    char text[64];
    ssize_t n;
    int fd = (int)(intptr_t)arg;
    while ((n = tn_recv(fd, text, sizeof text, 0)) > 0)
        CHECK_EQUAL(tn_send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
    CHECK_EQUAL(n, 0);
    CHECK_EQUAL(tn_close(fd), 0);
    return NULL;
}

static void *requests(void *arg)
{
    char text[64];
    int fd = (int)(intptr_t)arg;
    for (int i = 0; i < WARM + REQUESTS; i++) {
        if (i == WARM && atomic_fetch_add(&warm, 1) + 1 == CONNECTIONS)
            memset(&calls, 0, sizeof calls);
        while (i == WARM && atomic_load(&warm) < CONNECTIONS)
            CHECK_EQUAL(tn_sleep(100000), 0);
        CHECK_EQUAL(tn_send(fd, "0123456789", 10, MSG_NOSIGNAL), 10);
        CHECK_EQUAL(tn_recv(fd, text, sizeof text, 0), 10);
    }
    return NULL;
}

static void *all(void *arg)
{
    tn_fibre *f[CONNECTIONS], *g[CONNECTIONS];
    int fd[CONNECTIONS][2];
    atomic_store(&warm, 0);
    for (int i = 0; i < CONNECTIONS; i++)
        open_pair(TCP, fd[i]);
    for (int i = 0; i < CONNECTIONS; i++) {
        f[i] = start(serves, fd[i][0]);
        g[i] = start(requests, fd[i][1]);
    }
    for (int i = 0; i < CONNECTIONS; i++)
        end_of(g[i]);
    double n = CONNECTIONS * REQUESTS;
    harness_note("a request: %.3f calls that transfer, %.3f in vain, %.3f that poll, %.3f that register",
                 (double)atomic_load(&calls.transfers) / n, (double)atomic_load(&calls.in_vain) / n,
                 (double)atomic_load(&calls.polls) / n, (double)atomic_load(&calls.arms) / n);
    if (!atomic_load(&fails)) {
        bool uring = strcmp(poller, "uring") == 0;
        CHECK_EQUAL(atomic_load(&calls.transfers), uring ? 0 : 4 * CONNECTIONS * REQUESTS); /* of both sides */
        CHECK(atomic_load(&calls.in_vain) < (uring ? 1 : CONNECTIONS * REQUESTS / 10));
        CHECK((atomic_load(&calls.polls) < CONNECTIONS * REQUESTS / 2) == !looks_for_each);
        CHECK_EQUAL(atomic_load(&calls.arms), 0);
        CHECK_EQUAL(atomic_load(&calls.wakes), 0); /* one worker wakes nobody by what it has found */
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        CHECK_EQUAL(tn_close(fd[i][1]), 0);
        end_of(f[i]);
    }
    return arg;
}

static void counted(void)
{
    struct tn_config c = with_poller(1);
    CHECK_EQUAL(tn_run(&c, all, NULL, NULL), 0);
}

/* Events one by one: a look for each. */
static void one_by_one(void)
{
    struct tn_config c = with_poller(1);
    c.poller = "worker:batch=1";
    looks_for_each = true;
    CHECK_EQUAL(tn_run(&c, all, NULL, NULL), 0);
    looks_for_each = false;
}

static void failing(void)
{
    atomic_store(&fails, true);
    fibres(all);
    atomic_store(&fails, false);
}

/* ---- registration ---- */

enum { SHORT = 20 };
static uint64_t registers_each;

static void is_there(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};
    CHECK_EQUAL(poll(&p, 1, 10000), 1);
}

/* Nobody has to wait but who finds the listener silent. */
static void *short_connections(void *arg)
{
    int l = listener();
    struct sockaddr_in a = loopback(l);
    CHECK(tn_accept_until(l, NULL, NULL, in_ms(1), NULL) == -1 && errno == ETIMEDOUT);
    memset(&calls, 0, sizeof calls);
    for (uint64_t i = 1; i <= SHORT; i++) {
        char text[8];
        int client = socket(AF_INET, SOCK_STREAM, 0);
        CHECK_EQUAL(connect(client, (struct sockaddr *)&a, sizeof a), 0);
        CHECK_EQUAL(send(client, "hello", 5, 0), 5);
        is_there(l);
        int fd = tn_accept(l, NULL, NULL);
        CHECK_EQUAL(atomic_load(&calls.arms), i * registers_each - registers_each / 2);
        is_there(fd);
        CHECK_EQUAL(tn_recv(fd, text, sizeof text, 0), 5);
        CHECK_EQUAL(tn_send(fd, text, 5, 0), 5);
        CHECK_EQUAL(tn_close(fd), 0);
        CHECK_EQUAL(close(client), 0);
        CHECK_EQUAL(atomic_load(&calls.arms), i * registers_each);
    }
    CHECK_EQUAL(tn_close(l), 0);
    return arg;
}

static void registers(const char *how, uint64_t each)
{
    char spec[64];
    struct tn_config c = with_poller(1);
    snprintf(spec, sizeof spec, "%s:%s", poller, how);
    c.poller = spec;
    registers_each = each;
    CHECK_EQUAL(tn_run(&c, short_connections, NULL, NULL), 0);
}

static void registered(void)
{
    registers("lazy=on", 0);
    registers("lazy=off", 2); /* with its end */
}

static const struct test tests[] = {{"registration", registered},
                                    {"one by one", one_by_one},
                                    {"counted", counted},
                                    {"in vain now and then", failing}};

int main(int argc, char **argv)
{
    const char *of = argc > 1 ? argv[1] : "";
    size_t first = strcmp(of, "uring") == 0 ? 2 : 0, n = strcmp(of, "worker") == 0 ? 4 : first == 0 ? 1 : 2;
    return io_main(argc, argv, "io_calls", tests + first, n);
}
