/* SPDX-License-Identifier: MIT
 *
 * Descriptors that many fibres share without a word: each makes any call on any of them, while others close them, shut them
 * down, put new ones in their place, which have the same numbers at once, and cancel the calls; at times there are no more to be
 * had; and the runtime stops in the midst of it. What a call returns is anybody's guess, but it returns, says neither EAGAIN nor
 * EINTR, and nothing is left of it. Run for each poller.
 */
#include "io.h"

#include <poll.h>
#include <stdio.h>

enum { SLOTS = 24, FIBRES = 60 };

static _Atomic(int) slots[SLOTS];
static tn_time until;
static _Atomic(uint64_t) calls, cancelled, closed;

struct one {
    int fd, other;
    unsigned what;
    tn_time deadline;
    tn_token *token;
};

static void *call(void *arg)
{
    static const char none[2000];
    struct one *c = arg;
    char text[2000];
    struct iovec v[2] = {{text, 700}, {text + 700, 900}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
    struct pollfd p[2] = {{c->fd, POLLIN, 0}, {c->other, POLLOUT | POLLRDHUP, 0}};
    struct sockaddr_in a = loopback(-1);
    tn_time d = c->deadline;
    tn_token *t = c->token;
    ssize_t n = 0;
    memset(text, 0, sizeof text);
    errno = 0;
    switch (c->what) {
    case 0:
        n = tn_read_until(c->fd, text, sizeof text, d, t);
        break;
    case 1:
        n = tn_recv_until(c->fd, text, sizeof text, 0, d, t);
        break;
    case 2:
        n = tn_recv_until(c->fd, text, sizeof text, MSG_WAITALL, d, t);
        break;
    case 3:
        n = tn_recvmsg_until(c->fd, &m, 0, d, t);
        break;
    case 4:
        n = tn_readv_until(c->fd, v, 2, d, t);
        break;
    case 5:
        n = tn_write_until(c->fd, none, sizeof none, d, t);
        break;
    case 6:
        n = tn_send_until(c->fd, none, sizeof none, MSG_NOSIGNAL, d, t);
        break;
    case 7:
        n = tn_sendmsg_until(c->fd, &m, MSG_NOSIGNAL, d, t);
        break;
    case 8:
        n = tn_poll_until(p, 2, d, t);
        break;
    case 9:
        n = tn_accept_until(c->fd, NULL, NULL, d, t);
        if (n >= 0)
            CHECK_EQUAL(tn_close((int)n), 0);
        break;
    case 10:
        n = tn_connect_until(c->fd, (struct sockaddr *)&a, sizeof a, d, t); /* port 0: nobody is there */
        break;
    default:
        n = tn_shutdown(c->fd, (int)(c->what % 3));
        break;
    }
    if (n < 0 && !CHECK(errno != EAGAIN && errno != EINTR && errno != 0))
        harness_note("call %u: %s", c->what, strerror(errno));
    atomic_fetch_add(&calls, 1);
    atomic_fetch_add(&cancelled, n < 0 && errno == ECANCELED);
    return NULL;
}

static void put(unsigned i, int fd)
{
    int old = atomic_exchange(&slots[i], fd);
    if (old >= 0) {
        CHECK_EQUAL(tn_close(old), 0);
        atomic_fetch_add(&closed, 1);
    }
}

static void opens(uint64_t *random)
{
    int fd[2] = {-1, -1};
    struct sockaddr_in a = loopback(-1);
    switch (harness_random(random) % 5) {
    case 0:
        (void)!pipe2(fd, O_CLOEXEC);
        break;
    case 1:
        socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fd);
        break;
    case 2:
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd);
        break;
    case 3: /* by TCP, one that listens and one that has come */
        fd[0] = tn_socket(AF_INET, SOCK_STREAM, 0);
        fd[1] = tn_socket(AF_INET, SOCK_STREAM, 0);
        if (fd[0] >= 0 && fd[1] >= 0 && bind(fd[0], (struct sockaddr *)&a, sizeof a) == 0 && listen(fd[0], 3) == 0) {
            socklen_t size = sizeof a;
            struct linger reset = {1, 0}; /* else all ports are soon used up */
            setsockopt(fd[1], SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
            getsockname(fd[0], (struct sockaddr *)&a, &size);
            tn_connect_until(fd[1], (struct sockaddr *)&a, sizeof a, in_ms(5), NULL);
        }
        break;
    default:
        fd[0] = tn_socket(AF_INET, SOCK_DGRAM, 0);
        break;
    }
    for (int i = 0; i < 2; i++)
        if (fd[i] >= 0)
            put((unsigned)(harness_random(random) % SLOTS), fd[i]);
}

/* Another fibre makes it, and is told that it need not. */
static void cancels(struct one *c, uint64_t *random)
{
    tn_token token;
    tn_fibre *f;
    tn_token_init(&token);
    c->token = &token;
    c->deadline = TN_FOREVER;
    if (tn_spawn(&f, NULL, call, c) != 0)
        return;
    if (harness_random(random) % 2 == 0)
        tn_yield();
    else
        tn_sleep(harness_random(random) % 200000);
    tn_token_fire(&token);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    c->token = NULL;
}

static void *breaks(void *arg)
{
    uint64_t random = harness_seed() + 77 * (uint64_t)(intptr_t)arg;
    while (tn_now() < until) {
        struct one c = {.fd = atomic_load(&slots[harness_random(&random) % SLOTS]),
                        .other = atomic_load(&slots[harness_random(&random) % SLOTS]),
                        .what = (unsigned)(harness_random(&random) % 12),
                        .deadline = tn_now() + harness_random(&random) % 1000000};
        unsigned how = (unsigned)(harness_random(&random) % 8);
        if (how == 0)
            opens(&random);
        else if (how == 1)
            put((unsigned)(harness_random(&random) % SLOTS), -1);
        else if (how == 2)
            cancels(&c, &random);
        else
            call(&c);
    }
    return NULL;
}

/* In the midst of a call when the runtime stops. */
static void *stays(void *arg)
{
    struct one c = {.fd = atomic_load(&slots[(intptr_t)arg % SLOTS]),
                    .what = (unsigned)((intptr_t)arg % 5),
                    .deadline = TN_FOREVER};
    return call(&c);
}

static void *among_them(void *arg)
{
    tn_fibre *f[FIBRES];
    int fd[2]; /* what the poller opens is open before numbers are used again */
    open_pair(UNIX_STREAM, fd);
    char c;
    CHECK_EQUAL(tn_read_until(fd[1], &c, 1, in_ms(3), NULL), -1);
    for (int i = 0; i < FIBRES; i++)
        f[i] = start(breaks, i);
    for (int i = 0; i < FIBRES; i++)
        end_of(f[i]);
    close_pair(fd);
    for (int i = 0; i < FIBRES && arg != NULL; i++)
        CHECK_EQUAL(tn_spawn(NULL, &(struct tn_attr){.detached = true}, stays, (void *)(intptr_t)i), 0);
    for (int i = 0; i < 20; i++)
        tn_yield();
    return NULL;
}

static void shared(void)
{
    struct rlimit limit, few;
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
    signal(SIGPIPE, SIG_IGN);
    for (int round = 0; round < (stress ? 40 : 4); round++) {
        unsigned before = harness_count("fd");
        struct tn_config c = with_poller(1 + round % 2);
        until = tn_now() + 400 * (tn_time)1000000;
        few = limit;
        few.rlim_cur = round % 4 >= 2 ? before + 18 : limit.rlim_cur;
        for (int i = 0; i < SLOTS; i++)
            atomic_store(&slots[i], -1);
        CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &few), 0);
        CHECK_EQUAL(tn_run(&c, among_them, round % 4 == 1 ? &c : NULL, NULL), 0);
        CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
        for (int i = 0; i < SLOTS; i++)
            if (atomic_load(&slots[i]) >= 0)
                CHECK_EQUAL(tn_close(atomic_load(&slots[i])), 0);
        CHECK_EQUAL(harness_count("fd"), before);
    }
    harness_note("%llu calls, %llu cancelled, %llu closed", (unsigned long long)atomic_load(&calls),
                 (unsigned long long)atomic_load(&cancelled), (unsigned long long)atomic_load(&closed));
}

static const struct test tests[] = {{"shared without a word", shared}};

int main(int argc, char **argv)
{
    if (build_has("sanitize=thread")) {
        puts("io_break: ThreadSanitizer takes a number that is used without a word for a race, which it is: skipped");
        return 77;
    }
    return io_main(argc, argv, "io_break", tests, sizeof tests / sizeof tests[0]);
}
