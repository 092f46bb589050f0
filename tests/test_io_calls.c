/* SPDX-License-Identifier: MIT
 *
 * System calls a request of an echo over TCP, counted: those that transfer, and a share of looking for events; with io_uring
 * only a share of entering it. And each third of them interrupted (EINTR), whoever makes it.
 */
#include "io.h"

static struct {
    _Atomic(uint64_t) transfers, in_vain, polls, arms, wakes;
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

struct epoll_event;
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
    atomic_fetch_add(&calls.arms, 1);
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

static const struct test tests[] = {
    {"counted", counted}, {"in vain now and then", failing}, {"one by one", one_by_one}};

int main(int argc, char **argv)
{
    bool batches = argc > 1 && strcmp(argv[1], "worker") == 0;
    return io_main(argc, argv, "io_calls", tests, sizeof tests / sizeof tests[0] - !batches);
}
