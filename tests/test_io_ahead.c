/* SPDX-License-Identifier: MIT
 *
 * What is received before a call asks for it (uring:ahead=on): bytes in their order however they are asked for, more of them
 * than there are buffers for, connections that nobody accepts; and nothing of it is left when a descriptor is closed.
 */
#include "io.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { MUCH = 1 << 20, MORE = 8 << 20 };

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 7 >> 3);
}

static void *sends(void *arg)
{
    unsigned char part[3001];
    size_t n = (size_t)(intptr_t)arg >> 32, sent = 0;
    int fd = (int)(uint32_t)(uintptr_t)arg;
    while (sent < n) {
        size_t some = n - sent < sizeof part ? n - sent : sizeof part;
        for (size_t i = 0; i < some; i++)
            part[i] = byte_at(sent + i);
        ssize_t m = tn_send(fd, part, some, MSG_NOSIGNAL);
        if (!CHECK(m > 0))
            break;
        sent += (size_t)m;
    }
    CHECK_EQUAL(tn_shutdown(fd, SHUT_WR), 0);
    return NULL;
}

static tn_fibre *start_sending(int fd, size_t n)
{
    return start(sends, (intptr_t)(n << 32 | (unsigned)fd));
}

/* In each way there is to ask. */
static ssize_t some_of(int fd, unsigned char *to, size_t n, int how)
{
    struct iovec v[3] = {{to, n / 3}, {to + n / 3, 0}, {to + n / 3, n - n / 3}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 3};
    return how % 4 == 0   ? tn_read(fd, to, n)
           : how % 4 == 1 ? tn_recv(fd, to, n, 0)
           : how % 4 == 2 ? tn_readv(fd, v, 3)
                          : tn_recvmsg(fd, &m, 0);
}

static void takes(int fd, size_t n)
{
    unsigned char part[5000];
    uint64_t random = harness_seed();
    size_t got = 0;
    for (int how = 0; got < n; how++) {
        ssize_t m = some_of(fd, part, 1 + harness_random(&random) % sizeof part, how);
        if (!CHECK(m > 0))
            return;
        for (size_t i = 0; i < (size_t)m; i++)
            if (part[i] != byte_at(got + i)) {
                CHECK_EQUAL(part[i], byte_at(got + i));
                return;
            }
        got += (size_t)m;
    }
    CHECK_EQUAL(got, n);
    for (int how = 0; how < 4; how++)
        CHECK_EQUAL(some_of(fd, part, 1, how), 0); /* it stays at its end */
}

static void *all_in_order(void *arg)
{
    int fd[2];
    open_pair(TCP, fd);
    tn_fibre *f = start_sending(fd[0], MUCH);
    takes(fd[1], MUCH);
    end_of(f);
    close_pair(fd);
    return arg;
}

static void in_order(void)
{
    fibres(all_in_order);
}

/* Nobody takes what comes on one connection, until it has all buffers; on another one all goes on. */
static void *many_unread(void *arg)
{
    int full[2], fd[2];
    unsigned char c;
    open_pair(TCP, full);
    open_pair(TCP, fd);
    tn_fibre *f = start_sending(full[0], MORE);
    CHECK_EQUAL(tn_read(full[1], &c, 1), 1);
    CHECK_EQUAL(c, byte_at(0));
    CHECK_EQUAL(tn_sleep(20000000), 0);
    tn_fibre *g = start_sending(fd[0], MUCH);
    takes(fd[1], MUCH);
    end_of(g);
    for (size_t got = 1; got < MORE;) {
        unsigned char part[5000];
        ssize_t m = tn_read(full[1], part, sizeof part);
        if (!CHECK(m > 0) || !CHECK_EQUAL(part[m - 1], byte_at(got + (size_t)m - 1)))
            break;
        got += (size_t)m;
    }
    end_of(f);
    close_pair(full);
    close_pair(fd);
    return arg;
}

static void too_few_buffers(void)
{
    fibres(many_unread);
}

/* Closed with much received: the buffers are there again, round after round. */
static void *closed_unread(void *arg)
{
    for (int round = 0; round < (stress ? 200 : 12); round++) {
        int fd[2];
        unsigned char c;
        open_pair(TCP, fd);
        for (int i = 0; i < 64; i++) {
            unsigned char part[2000] = "";
            CHECK_EQUAL(tn_send(fd[0], part, sizeof part, MSG_NOSIGNAL), (ssize_t)sizeof part);
        }
        CHECK_EQUAL(tn_read(fd[1], &c, 1), 1);
        if (round % 2 == 0)
            CHECK_EQUAL(tn_sleep(300000), 0);
        CHECK_EQUAL(tn_close(fd[1]), 0);
        CHECK_EQUAL(tn_close(fd[0]), 0);
    }
    return all_in_order(arg);
}

static void unread(void)
{
    fibres(closed_unread);
}

/* Connections come, and nobody accepts most of them. */
static void *closed_unaccepted(void *arg)
{
    enum { CLIENTS = 20 };
    for (int round = 0; round < (stress ? 100 : 5); round++) {
        int l = listener(), client[CLIENTS];
        struct sockaddr_in a = loopback(l);
        CHECK(tn_accept_until(l, NULL, NULL, in_ms(1), NULL) == -1 && errno == ETIMEDOUT);
        for (int i = 0; i < CLIENTS; i++) {
            client[i] = tn_socket(AF_INET, SOCK_STREAM, 0);
            CHECK_EQUAL(tn_connect(client[i], (struct sockaddr *)&a, sizeof a), 0);
        }
        for (int i = 0; i < 3; i++) {
            int fd = tn_accept(l, NULL, NULL);
            CHECK(fd >= 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
            CHECK_EQUAL(tn_close(fd), 0);
        }
        CHECK_EQUAL(tn_close(l), 0);
        for (int i = 0; i < CLIENTS; i++) {
            char c;
            ssize_t n = tn_recv_until(client[i], &c, 1, 0, in_ms(20000), NULL);
            CHECK(n == 0 || (n == -1 && errno == ECONNRESET)); /* those in the backlog too */
            CHECK_EQUAL(tn_close(client[i]), 0);
        }
    }
    return arg;
}

static void unaccepted(void)
{
    unsigned before = harness_count("fd");
    fibres(closed_unaccepted);
    CHECK_EQUAL(harness_count("fd"), before);
}

/* ---- who only wants to know ---- */

/* It is told that there is something: by tn_poll, or by tn_select. */
static bool is_told(int fd, bool by_poll)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    struct tn_arm arm = TN_READABLE(fd);
    unsigned which;
    return by_poll ? CHECK_EQUAL(tn_poll_until(&p, 1, in_ms(20000), NULL), 1) && CHECK((p.revents & POLLIN) != 0)
                   : CHECK_EQUAL(tn_select(&arm, 1, &which, in_ms(20000), NULL), 0) && CHECK_EQUAL(arm.rc, 0);
}

/* Reads as who is told does: without waiting, and where that was too early it wants to know again. */
static ssize_t told_and_reads(int fd, char *c, bool by_poll)
{
    ssize_t n = -1;
    errno = ETIMEDOUT;
    while (n < 0 && errno == ETIMEDOUT && is_told(fd, by_poll))
        n = tn_recv_until(fd, c, 1, 0, 0, NULL);
    return n;
}

static void *sends_later(void *fd)
{
    CHECK_EQUAL(tn_sleep(2000000), 0);
    CHECK_EQUAL(tn_send((int)(intptr_t)fd, "r", 1, MSG_NOSIGNAL), 1);
    return NULL;
}

static void *wants_to_know(void *arg)
{
    for (int round = 0; round < (stress ? 200 : 20); round++) {
        int fd[2];
        char c = 0;
        bool by_poll = round % 2 != 0;
        open_pair(TCP, fd);
        CHECK(tn_recv_until(fd[1], &c, 1, 0, in_ms(1), NULL) == -1 && errno == ETIMEDOUT); /* from here on ahead */
        CHECK_EQUAL(tn_send(fd[0], "pq", 2, MSG_NOSIGNAL), 2);
        if (round % 4 < 2)
            CHECK_EQUAL(tn_sleep(2000000), 0); /* it is there already, or comes while that one waits */
        CHECK(told_and_reads(fd[1], &c, by_poll) == 1 && c == 'p');
        CHECK(told_and_reads(fd[1], &c, by_poll) == 1 && c == 'q'); /* what is left of it */
        tn_fibre *f = start(sends_later, fd[0]);
        CHECK(told_and_reads(fd[1], &c, by_poll) == 1 && c == 'r');
        end_of(f);
        CHECK_EQUAL(tn_shutdown(fd[0], SHUT_WR), 0);
        CHECK_EQUAL(told_and_reads(fd[1], &c, by_poll), 0);
        close_pair(fd);
    }
    return arg;
}

static void *wants_to_know_who_comes(void *arg)
{
    int l = listener(), client = tn_socket(AF_INET, SOCK_STREAM, 0), fd = -1;
    struct sockaddr_in a = loopback(l);
    CHECK(tn_accept_until(l, NULL, NULL, in_ms(1), NULL) == -1 && errno == ETIMEDOUT);
    CHECK_EQUAL(tn_connect(client, (struct sockaddr *)&a, sizeof a), 0);
    while (fd < 0 && is_told(l, false)) {
        fd = tn_accept_until(l, NULL, NULL, 0, NULL);
        if (!CHECK(fd >= 0 || errno == ETIMEDOUT))
            break;
    }
    CHECK_EQUAL(tn_close(fd), 0);
    CHECK_EQUAL(tn_close(client), 0);
    CHECK_EQUAL(tn_close(l), 0);
    return arg;
}

static void known(void)
{
    fibres(wants_to_know);
    fibres(wants_to_know_who_comes);
}

/* ---- a worker that has no ring ---- */

static bool forbid(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *keeps_busy(void *stop)
{
    while (!atomic_load((_Atomic(bool) *)stop))
        tn_yield();
    return NULL;
}

enum { UNDONE = 1, NO_FILTER = 77, NO_SECOND = 78 };

/* The second worker can have no ring. What is read there is what comes next all the same, since the first one's has received it. */
static void *reads_here_and_there(void *arg)
{
    _Atomic(bool) stop = false;
    int fd[2];
    unsigned there = 0;
    if (!forbid())
        return (void *)NO_FILTER;
    if (tn_workers_add(tn_cluster_self(), 1) != 0)
        return (void *)UNDONE;
    tn_fibre *busy[2] = {start(keeps_busy, (intptr_t)&stop), start(keeps_busy, (intptr_t)&stop)};
    open_pair(TCP, fd);
    tn_fibre *f = start_sending(fd[0], MUCH);
    for (size_t got = 0; got < MUCH;) {
        unsigned char part[1000];
        int want = got / 10000 % 2 != 0;
        for (int i = 0; tn_worker_self() != want && i < 100; i++)
            tn_sleep(1000);
        ssize_t n = tn_read(fd[1], part, sizeof part);
        there += tn_worker_self() == 1 && n > 0;
        if (n < 0 && errno == EPERM) /* nothing has been received, and it cannot wait there */
            continue;
        for (ssize_t i = 0; i < n; i++)
            if (part[i] != byte_at(got + (size_t)i))
                return (void *)UNDONE;
        if (n <= 0)
            return (void *)UNDONE;
        got += (size_t)n;
    }
    atomic_store(&stop, true);
    end_of(f);
    end_of(busy[0]);
    end_of(busy[1]);
    close_pair(fd);
    return there != 0 ? arg : (void *)NO_SECOND;
}

static void no_ring(void)
{
    if (build_has("sanitize=thread"))
        SKIP("ThreadSanitizer knows no thread that is made in a child of fork");
    int status = -1;
    pid_t child = fork();
    if (child == 0) { /* for the filter stays */
        struct tn_config config = with_poller(1);
        config.slots = 2;
        void *value = (void *)UNDONE;
        int rc = tn_run(&config, reads_here_and_there, NULL, &value);
        _exit(rc != 0 ? UNDONE : (int)(intptr_t)value);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER)
        SKIP("no filter of system calls here");
    if (!CHECK_EQUAL(status, 0))
        harness_note("it has ended with %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* Nobody has received yet, and who asks does not wait: it has what is there. */
static void *looks_first(void *arg)
{
    int fd[2];
    char c = 0;
    open_pair(TCP, fd);
    struct pollfd p = {fd[1], POLLIN, 0};
    CHECK_EQUAL(tn_send(fd[0], "p", 1, MSG_NOSIGNAL), 1);
    CHECK_EQUAL(poll(&p, 1, 10000), 1);
    CHECK(tn_recv_until(fd[1], &c, 1, 0, tn_now(), NULL) == 1 && c == 'p');
    CHECK(tn_recv_until(fd[1], &c, 1, 0, tn_now(), NULL) == -1 && errno == ETIMEDOUT);
    close_pair(fd);
    return arg;
}

static void at_once(void)
{
    fibres(looks_first);
}

static const struct test tests[] = {
    {"in order, however it is asked for", in_order},
    {"more than there are buffers for", too_few_buffers},
    {"closed with much received", unread},
    {"closed with connections that nobody accepted", unaccepted},
    {"of which tn_select and tn_poll know", known},
    {"asked for by a worker that has no ring", no_ring},
    {"at once, before anybody has received", at_once},
};

int main(int argc, char **argv)
{
    return io_main(argc, argv, "io_ahead", tests, sizeof tests / sizeof tests[0]);
}
