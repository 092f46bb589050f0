/* SPDX-License-Identifier: MIT
 *
 * Input and output by fibres and threads (tenter_io.h): each call, on each kind of descriptor; deadlines and tokens; closing
 * under those that wait; what goes wrong. Run for each poller.
 */
#include "io.h"

/* ---- each call ---- */

enum { PLAIN, VECTOR, SOCKET, SOCKET_ADDRESS, MESSAGE, WAYS };

static ssize_t put(int how, int fd, char *from, size_t n)
{
    struct iovec v[2] = {{from, n / 2}, {from + n / 2, n - n / 2}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
    return how == PLAIN            ? tn_write(fd, from, n)
           : how == VECTOR         ? tn_writev(fd, v, 2)
           : how == SOCKET         ? tn_send(fd, from, n, MSG_NOSIGNAL)
           : how == SOCKET_ADDRESS ? tn_sendto(fd, from, n, MSG_NOSIGNAL, NULL, 0)
                                   : tn_sendmsg(fd, &m, MSG_NOSIGNAL);
}

static ssize_t get_until(int how, int fd, char *to, size_t n, tn_time deadline, tn_token *token)
{
    struct iovec v[2] = {{to, n / 2}, {to + n / 2, n - n / 2}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
    struct sockaddr_storage a;
    socklen_t size = sizeof a;
    return how == PLAIN            ? tn_read_until(fd, to, n, deadline, token)
           : how == VECTOR         ? tn_readv_until(fd, v, 2, deadline, token)
           : how == SOCKET         ? tn_recv_until(fd, to, n, 0, deadline, token)
           : how == SOCKET_ADDRESS ? tn_recvfrom_until(fd, to, n, 0, (struct sockaddr *)&a, &size, deadline, token)
                                   : tn_recvmsg_until(fd, &m, 0, deadline, token);
}

static struct {
    int fd, how;
    _Atomic(int) got;
} get_at;

static void *gets_three(void *arg)
{
    char text[100];
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(get_until(get_at.how, get_at.fd, text, sizeof text, TN_FOREVER, NULL), 5);
        CHECK(memcmp(text, "hello", 5) == 0);
        atomic_fetch_add(&get_at.got, 1);
    }
    return arg;
}

static void *each_call(void *arg)
{
    char text[] = "hello";
    for (int kind = 0; kind < PAIRS; kind++)
        for (int how = 0; how < (kind == PIPE ? VECTOR + 1 : WAYS); how++) {
            int fd[2];
            open_pair(kind, fd);
            get_at.fd = fd[1];
            get_at.how = how;
            atomic_store(&get_at.got, 0);
            tn_fibre *f = start(gets_three, 0);
            for (int i = 0; i < 3; i++) {
                CHECK_EQUAL(tn_sleep(2000000), 0); /* the reader waits, in whatever state */
                CHECK_EQUAL(put(how, fd[0], text, 5), 5);
                while (atomic_load(&get_at.got) <= i)
                    CHECK_EQUAL(tn_sleep(100000), 0);
            }
            end_of(f);
            close_pair(fd);
        }
    return arg;
}

static void transfers(void)
{
    fibres(each_call);
}

/* The system may take its time over a network, also one of a single machine; and where it is received ahead nothing
 * tells that it is there. */
static ssize_t reads_at_once(int fd, char *text, tn_token *token)
{
    struct pollfd p = {fd, POLLIN, 0};
    tn_time until = in_ms(10000);
    ssize_t n;
    CHECK(receives_ahead() || poll(&p, 1, 10000) == 1);
    do
        n = tn_read_until(fd, text, 8, 0, token);
    while (receives_ahead() && n == -1 && errno == ETIMEDOUT && tn_now() < until);
    return n;
}

/* What is there is had without waiting, whatever the deadline; and what is not is told. */
static void *deadlines(void *arg)
{
    char text[8];
    for (int kind = 0; kind < PAIRS; kind++) {
        int fd[2];
        tn_token token;
        tn_token_init(&token);
        open_pair(kind, fd);
        for (int i = 0; i < 3; i++) { /* the first is not yet armed; all find it dry */
            errno = 0;
            CHECK(tn_read_until(fd[1], text, 8, in_ms(2), &token) == -1 && errno == ETIMEDOUT);
            CHECK(tn_read_until(fd[1], text, 8, 0, &token) == -1 && errno == ETIMEDOUT);
            CHECK_EQUAL(tn_write(fd[0], "hello", 5), 5);
            CHECK_EQUAL(reads_at_once(fd[1], text, &token), 5);
        }
        tn_token_fire(&token);
        CHECK(tn_read_until(fd[1], text, 8, TN_FOREVER, &token) == -1 && errno == ECANCELED);
        CHECK_EQUAL(tn_write(fd[0], "hello", 5), 5);
        CHECK_EQUAL(tn_read(fd[1], text, 8), 5);
        close_pair(fd);
    }
    return arg;
}

static void times_out(void)
{
    fibres(deadlines);
}

static int late_fd;
static int reads_late(tn_time deadline, tn_token *token)
{
    char c;
    return tn_read_until(late_fd, &c, 1, deadline, token) == -1 ? errno : 0;
}

static int polls_late(tn_time deadline, tn_token *token)
{
    struct pollfd p = {late_fd, POLLIN, 0};
    int rc = tn_poll_until(&p, 1, deadline, token);
    return rc == 0 ? ETIMEDOUT : errno;
}

static void late_by_thread_and_fibre(void)
{
    for (int workers = 1; workers <= 2; workers++) {
        struct tn_config c = with_poller(workers);
        int fd[2];
        CHECK_EQUAL(pipe(fd), 0);
        late_fd = fd[0];
        CHECK_EQUAL(tn_start(&rt, &c), 0);
        too_late(reads_late);
        too_late(polls_late);
        CHECK_EQUAL(tn_stop(rt), 0);
        CHECK_EQUAL(tn_close(fd[0]), 0);
        CHECK_EQUAL(close(fd[1]), 0);
    }
}

/* ---- ends ---- */

static void *half_closes(void *arg)
{
    char text[8];
    int fd[2];
    open_pair(TCP, fd);
    CHECK_EQUAL(tn_write(fd[0], "hello", 5), 5);
    CHECK_EQUAL(tn_shutdown(fd[0], SHUT_WR), 0);
    CHECK_EQUAL(tn_sleep(3000000), 0); /* both are there before the first read, and then no edge follows */
    CHECK_EQUAL(tn_read(fd[1], text, 8), 5);
    CHECK_EQUAL(tn_read(fd[1], text, 8), 0);
    CHECK_EQUAL(tn_read(fd[1], text, 8), 0);
    CHECK_EQUAL(tn_write(fd[1], "you", 3), 3);
    CHECK_EQUAL(tn_read(fd[0], text, 8), 3);
    CHECK_EQUAL(tn_close(fd[1]), 0);
    CHECK_EQUAL(tn_read(fd[0], text, 8), 0);
    CHECK_EQUAL(tn_close(fd[0]), 0);
    return arg;
}

static void *peers_go(void *arg)
{
    for (int kind = 0; kind <= TCP; kind++)
        for (int waits = 0; waits < 2 && kind != UNIX_DATAGRAM; waits++) {
            int fd[2];
            open_pair(kind, fd);
            tn_fibre *f = start(reads_to_end, fd[1]);
            if (waits)
                CHECK_EQUAL(tn_sleep(2000000), 0);
            CHECK_EQUAL(tn_write(fd[0], "hello", 5), 5);
            if (waits)
                CHECK_EQUAL(tn_sleep(2000000), 0);
            CHECK_EQUAL(tn_close(fd[0]), 0);
            CHECK_EQUAL(end_of(f), 5);
            for (int i = 0; kind != PIPE; i++) { /* the peer's answer to what comes too late may take its time */
                if (tn_send(fd[1], "x", 1, MSG_NOSIGNAL) == -1) {
                    CHECK(errno == EPIPE || errno == ECONNRESET);
                    break;
                }
                if (!CHECK(i < 10000))
                    break;
                CHECK_EQUAL(tn_sleep(1000000), 0);
            }
            CHECK_EQUAL(tn_close(fd[1]), 0);
        }
    return arg;
}

static void ends(void)
{
    fibres(half_closes);
    fibres(peers_go);
}

/* ---- more than fits: who writes waits, too; both ways at once ---- */

enum { MUCH = 1 << 20 };

static void *writes_much(void *arg)
{
    unsigned char part[3000];
    for (size_t done = 0; done < MUCH;) {
        size_t n = MUCH - done < sizeof part ? MUCH - done : sizeof part;
        for (size_t i = 0; i < n; i++)
            part[i] = (unsigned char)((done + i) * 7 >> 3);
        ssize_t wrote = tn_write((int)(intptr_t)arg, part, n);
        CHECK(wrote > 0);
        done += (size_t)(wrote > 0 ? wrote : MUCH);
    }
    return arg;
}

static void *reads_much(void *arg)
{
    unsigned char part[5000];
    for (size_t done = 0; done < MUCH;) {
        ssize_t n = tn_read((int)(intptr_t)arg, part, sizeof part);
        CHECK(n > 0);
        for (ssize_t i = 0; i < n; i++)
            if (part[i] != (unsigned char)((done + (size_t)i) * 7 >> 3)) {
                CHECK_EQUAL(part[i], (done + (size_t)i) * 7 >> 3);
                return NULL;
            }
        done += (size_t)(n > 0 ? n : MUCH);
    }
    return arg;
}

static void *much_both_ways(void *arg)
{
    for (int kind = UNIX_STREAM; kind <= TCP; kind++) {
        int fd[2], small = 4096;
        tn_fibre *f[4];
        if (kind == UNIX_DATAGRAM)
            continue;
        open_pair(kind, fd);
        for (int i = 0; i < 2; i++)
            CHECK_EQUAL(setsockopt(fd[i], SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
        for (int i = 0; i < 2; i++) {
            f[2 * i] = start(writes_much, fd[i]);
            f[2 * i + 1] = start(reads_much, fd[i]);
        }
        for (int i = 0; i < 4; i++)
            end_of(f[i]);
        close_pair(fd);
    }
    return arg;
}

static void much(void)
{
    fibres(much_both_ways);
}

/* ---- a blocking descriptor stops no worker ---- */

static void *timed_on_blocking(void *arg)
{
    char c;
    int fd[2];
    CHECK_EQUAL(pipe(fd), 0);
    tn_fibre *f = start(reads_to_end, fd[0]);
    CHECK(tn_read_until(fd[0], &c, 1, in_ms(3), NULL) == -1 && errno == ETIMEDOUT); /* behind the other one */
    CHECK_EQUAL(tn_write(fd[1], "ab", 2), 2);
    CHECK_EQUAL(tn_close(fd[1]), 0);
    CHECK_EQUAL(end_of(f), 2);
    CHECK_EQUAL(tn_close(fd[0]), 0);
    return arg;
}

static void blocking_descriptor(void)
{
    fibres(timed_on_blocking);
}

/* ---- closing ---- */

static int closed_fd;
static _Atomic(int) about_to_wait, came_late;

/* EBADF is told to who came to it only when it was closed: then all of it again. */
static bool is_cancelled(int told)
{
    atomic_fetch_add(&came_late, told == EBADF);
    return told == ECANCELED || told == EBADF;
}

static void *is_told(void *how)
{
    char c;
    struct pollfd p = {closed_fd, POLLIN, 0};
    struct tn_arm arm = TN_READABLE(closed_fd);
    unsigned which;
    atomic_fetch_add(&about_to_wait, 1);
    if ((intptr_t)how % 3 == 0)
        CHECK(tn_read(closed_fd, &c, 1) == -1 && is_cancelled(errno));
    else if ((intptr_t)how % 3 == 1)
        CHECK(tn_poll(&p, 1) == -1 && is_cancelled(errno));
    else
        CHECK(tn_select(&arm, 1, &which, TN_FOREVER, NULL) == 0 && is_cancelled(arm.rc));
    return NULL;
}

static void *reads_in_thread(void *arg)
{
    char c;
    atomic_fetch_add(&about_to_wait, 1);
    CHECK(tn_read(closed_fd, &c, 1) == -1 && is_cancelled(errno));
    return arg;
}

static void closes_one(int fd[2], tn_time until)
{
    tn_fibre *f[6];
    pthread_t thread;
    closed_fd = fd[1];
    atomic_store(&about_to_wait, 0), atomic_store(&came_late, 0);
    for (int i = 0; i < 6; i++)
        f[i] = start(is_told, i);
    CHECK_EQUAL(pthread_create(&thread, NULL, reads_in_thread, NULL), 0);
    while (atomic_load(&about_to_wait) < 7)
        tn_yield();
    CHECK_EQUAL(tn_sleep(until), 0);
    CHECK_EQUAL(tn_close(fd[1]), 0);
    for (int i = 0; i < 6; i++)
        end_of(f[i]);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK_EQUAL(tn_close(fd[0]), 0);
}

static void *closes_under(void *arg)
{
    for (int kind = 0; kind < PAIRS; kind++) {
        int fd[2];
        tn_time until = 3000000; /* as a rule all of them wait by then */
        do {
            open_pair(kind, fd);
            closes_one(fd, until);
            until *= 2;
        } while (atomic_load(&came_late) != 0 && CHECK(until < UINT64_C(10000000000)));
        CHECK(tn_close(fd[0]) == -1 && errno == EBADF);
        char c;
        CHECK(tn_read(fd[0], &c, 1) == -1 && errno == EBADF);
        CHECK(tn_read(-1, &c, 1) == -1 && errno == EBADF);
    }
    return arg;
}

static void closing(void)
{
    fibres(closes_under);
}

/* ---- MSG_WAITALL ---- */

enum { ALL = 12 };

/* Three parts of what is asked for, one after the other; `end`: then it ends, as is said. */
enum { STAYS, ENDS, RESETS };
struct in_parts {
    int fd, parts, end;
};

static void *sends_parts(void *arg)
{
    const struct in_parts *p = arg;
    for (int i = 0; i < p->parts; i++) {
        CHECK_EQUAL(tn_sleep(2000000), 0);
        CHECK_EQUAL(tn_send(p->fd, &"abcdefghijkl"[4 * i], 4, MSG_NOSIGNAL), 4);
    }
    CHECK_EQUAL(tn_sleep(5000000), 0);
    struct linger reset = {1, 0};
    if (p->end == ENDS)
        CHECK_EQUAL(tn_shutdown(p->fd, SHUT_WR), 0);
    if (p->end == RESETS)
        CHECK(setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0 && tn_close(p->fd) == 0);
    return NULL;
}

static ssize_t recv_one_way(bool as_message, int fd, char *to, int flags, tn_time deadline)
{
    struct iovec v[4] = {{to, 2}, {to + 2, 0}, {to + 2, 7}, {to + 9, 3}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 4};
    memset(to, 0, ALL + 1);
    return as_message ? tn_recvmsg_until(fd, &m, flags, deadline, NULL)
                      : tn_recv_until(fd, to, ALL, flags, deadline, NULL);
}

static void all_of(int kind, bool as_message)
{
    char text[ALL + 1];
    int fd[2];
    open_pair(kind, fd);
    struct in_parts whole = {fd[0], 3, STAYS}, two = {fd[0], 2, STAYS},
                    last = {fd[0], 1, kind == TCP ? RESETS : ENDS};
    tn_fibre *f = start(sends_parts, (intptr_t)&whole);
    CHECK_EQUAL(recv_one_way(as_message, fd[1], text, MSG_WAITALL, TN_FOREVER), ALL);
    CHECK(strcmp(text, "abcdefghijkl") == 0);
    end_of(f);
    f = start(sends_parts, (intptr_t)&two); /* the deadline: what has come; and before that a look at it */
    if (kind != TCP || !receives_ahead()) { /* of TCP what is received ahead is not seen by who looks */
        ssize_t seen = recv_one_way(as_message, fd[1], text, MSG_WAITALL | MSG_PEEK, TN_FOREVER);
        CHECK(seen == 4 || seen == 8); /* of these two parts what had come; there will be no third */
    }
    CHECK_EQUAL(end_of(f), 0);
    CHECK_EQUAL(recv_one_way(as_message, fd[1], text, MSG_WAITALL, in_ms(10)), 8);
    CHECK(strcmp(text, "abcdefgh") == 0);
    CHECK(recv_one_way(as_message, fd[1], text, MSG_WAITALL, in_ms(1)) == -1 && errno == ETIMEDOUT);
    f = start(sends_parts, (intptr_t)&last);
    ssize_t n = recv_one_way(as_message, fd[1], text, MSG_WAITALL, TN_FOREVER);
    CHECK(kind == TCP ? n == -1 && errno == ECONNRESET : n == 4);
    end_of(f);
    CHECK_EQUAL(recv_one_way(as_message, fd[1], text, MSG_WAITALL, TN_FOREVER), 0);
    if (kind != TCP)
        CHECK_EQUAL(tn_close(fd[0]), 0);
    CHECK_EQUAL(tn_close(fd[1]), 0);
}

static void *waits_for_all(void *arg)
{
    char text[ALL + 1];
    int fd[2];
    for (int as_message = 0; as_message <= 1; as_message++) {
        all_of(UNIX_STREAM, as_message);
        all_of(TCP, as_message);
        open_pair(UDP, fd); /* a message is one, however short */
        CHECK_EQUAL(tn_send(fd[0], "abc", 3, 0), 3);
        CHECK_EQUAL(recv_one_way(as_message, fd[1], text, MSG_WAITALL, TN_FOREVER), 3);
        close_pair(fd);
    }
    return arg;
}

static void wait_all(void)
{
    fibres(waits_for_all);
}

static const struct test tests[] = {
    {"each call", transfers},
    {"deadlines and tokens", times_out},
    {"deadlines and tokens of fibres and threads", late_by_thread_and_fibre},
    {"half-close, and peers that go", ends},
    {"more than fits, both ways", much},
    {"a blocking descriptor", blocking_descriptor},
    {"closing under those that wait", closing},
    {"MSG_WAITALL", wait_all},
};

int main(int argc, char **argv)
{
    return io_main(argc, argv, "io", tests, sizeof tests / sizeof tests[0]);
}
