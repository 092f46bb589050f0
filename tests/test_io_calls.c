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
    _Atomic(uint64_t) transfers, in_vain, polls, arms, again, wakes; /* arms: and what ends it */
} calls;
static _Atomic(bool) fails;
static bool looks_for_each, registers_for_each;

/* Of these descriptors: calls that register, and at which instance the last one was. */
static struct {
    int fd, at;
    _Atomic(uint64_t) calls;
} watched[2];

static void watch(int i, int fd)
{
    watched[i].fd = fd;
    atomic_store(&watched[i].calls, 0);
}

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
    atomic_fetch_add(what == EPOLL_CTL_MOD ? &calls.again : &calls.arms, 1);
    for (int i = 0; i < 2; i++)
        if (other == watched[i].fd) {
            watched[i].at = fd;
            atomic_fetch_add(&watched[i].calls, 1);
        }
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
        bool uring = strncmp(poller, "uring", 5) == 0;
        CHECK_EQUAL(atomic_load(&calls.transfers), uring ? 0 : 4 * CONNECTIONS * REQUESTS); /* of both sides */
        CHECK((atomic_load(&calls.in_vain) < (uring ? 1 : CONNECTIONS * REQUESTS / 10)) == !registers_for_each);
        CHECK((atomic_load(&calls.again) >= CONNECTIONS * REQUESTS) == registers_for_each);
        CHECK(registers_for_each || atomic_load(&calls.again) == 0);
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

static void is_there(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};
    CHECK_EQUAL(poll(&p, 1, 10000), 1);
}

/* A worker whose wait was ended by what it waited for looks no more before it waits again. */
static void *asks_outside(void *arg)
{
    char c;
    for (int i = 0; i < WARM + REQUESTS; i++) {
        if (i == WARM)
            atomic_store(&calls.polls, 0);
        CHECK_EQUAL(send((int)(intptr_t)arg, "x", 1, MSG_NOSIGNAL), 1);
        is_there((int)(intptr_t)arg);
        CHECK_EQUAL(recv((int)(intptr_t)arg, &c, 1, 0), 1);
    }
    uint64_t polls = atomic_load(&calls.polls);
    harness_note("a wait: %.2f calls that poll", (double)polls / REQUESTS);
    CHECK(polls < REQUESTS * 3 / 2);
    shutdown((int)(intptr_t)arg, SHUT_WR);
    return NULL;
}

static void *waits_each(void *arg)
{
    int fd[2];
    pthread_t t;
    open_pair(TCP, fd);
    tn_fibre *f = start(serves, fd[0]);
    CHECK_EQUAL(pthread_create(&t, NULL, asks_outside, (void *)(intptr_t)fd[1]), 0);
    end_of(f);
    pthread_join(t, NULL);
    close(fd[1]);
    return arg;
}

static void to_wait_is_to_look(void)
{
    struct tn_config c = with_poller(1);
    c.idle = TN_IDLE_BLOCK;
    CHECK_EQUAL(tn_run(&c, waits_each, NULL, NULL), 0);
}

/* Events one by one: a look for each. Registered for each: a call for each that waits, and one in vain before it. */
static void each(void)
{
    struct tn_config c = with_poller(1);
    c.poller = "worker:batch=1";
    looks_for_each = true;
    CHECK_EQUAL(tn_run(&c, all, NULL, NULL), 0);
    looks_for_each = false;
    c.poller = "worker:trigger=level";
    registers_for_each = true;
    CHECK_EQUAL(tn_run(&c, all, NULL, NULL), 0);
    registers_for_each = false;
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

static void run_with(const char *how, int workers, void *(*fn)(void *), intptr_t arg)
{
    char spec[64];
    struct tn_config c = with_poller(workers);
    snprintf(spec, sizeof spec, "%s:%s", poller, how);
    c.poller = spec;
    CHECK_EQUAL(tn_run(&c, fn, (void *)arg, NULL), 0);
}

static void registered(void)
{
    registers_each = 0;
    run_with("lazy=on", 1, short_connections, 0);
    registers_each = 2; /* with its end */
    run_with("lazy=off", 1, short_connections, 0);
}

static void *writes(void *arg)
{
    CHECK_EQUAL(__real_write((int)(intptr_t)arg, "x", 1), 1);
    return NULL;
}

/* Each read has to wait. */
static void *reads_five(void *each_registers)
{
    int fd[2];
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    watch(0, fd[1]);
    for (uint64_t i = 0; i < 5; i++) {
        char c;
        tn_fibre *f = start(writes, fd[0]);
        CHECK_EQUAL(tn_recv(fd[1], &c, 1, 0), 1);
        end_of(f);
        CHECK_EQUAL(atomic_load(&watched[0].calls),
                    each_registers != NULL ? i + 2 : 1); /* at first it is not there */
    }
    close_pair(fd);
    return NULL;
}

static void triggered(void)
{
    run_with("trigger=edge", 1, reads_five, false);
    run_with("trigger=level", 1, reads_five, true);
}

/* ---- before a read ---- */

static _Atomic(bool) came_first;

static void *comes(void *arg)
{
    atomic_store(&came_first, true);
    return arg;
}

static void *reads_what_is_there(void *others_first)
{
    int fd[2];
    char c;
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    writes((void *)(intptr_t)fd[0]);
    atomic_store(&came_first, false);
    tn_fibre *f = start(comes, 0);
    CHECK_EQUAL(tn_send(fd[0], "y", 1, 0), 1);
    CHECK(!atomic_load(&came_first));
    CHECK_EQUAL(tn_recv(fd[1], &c, 1, 0), 1);
    CHECK_EQUAL(atomic_load(&came_first), others_first != NULL);
    end_of(f);
    close_pair(fd);
    return NULL;
}

static void yielded(void)
{
    run_with("yield=off", 1, reads_what_is_there, false);
    run_with("yield=on", 1, reads_what_is_there, true);
}

/* ---- instances ---- */

static void *waits_in_vain(void *i)
{
    char c;
    CHECK(tn_recv_until(watched[(intptr_t)i].fd, &c, 1, 0, in_ms(1), NULL) == -1 && errno == ETIMEDOUT);
    return NULL;
}

/* One fibre waits on the other worker, since this one is kept meanwhile; then another one here. */
static void *on_both_workers(void *apart)
{
    int fd[2];
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    for (int i = 0; i < 2; i++)
        watch(i, fd[i]);
    tn_fibre *f = start(waits_in_vain, 0);
    CHECK(EVENTUALLY(atomic_load(&watched[0].calls) == 1));
    waits_in_vain((void *)1);
    end_of(f);
    CHECK_EQUAL(atomic_load(&watched[1].calls), 1);
    CHECK_EQUAL(watched[0].at != watched[1].at, apart != NULL);
    close_pair(fd);
    return NULL;
}

static void instances(void)
{
    run_with("instance=cluster", 2, on_both_workers, false);
    run_with("instance=worker", 2, on_both_workers, true);
}

static const struct test tests[] = {{"instances", instances},
                                    {"one by one", each},
                                    {"to wait is to look", to_wait_is_to_look},
                                    {"registration", registered},
                                    {"edges and levels", triggered},
                                    {"others first", yielded},
                                    {"counted", counted},
                                    {"in vain now and then", failing}};

/* All of them are the worker poller's; the last two io_uring's; those between the others'. */
int main(int argc, char **argv)
{
    const char *of = argc > 1 ? argv[1] : "";
    size_t first = strcmp(of, "worker") == 0 ? 0 : strncmp(of, "uring", 5) == 0 ? 6 : 3;
    return io_main(argc, argv, "io_calls", tests + first, first == 3 ? 3 : 8 - first);
}
