/* SPDX-License-Identifier: MIT
 *
 * Each call of tenter_io.h is a cancellation point, under each poller: a member of a group that waits in one is told when
 * the group is cancelled, before or meanwhile, and when the deadline of a group around its own comes. The descriptor is as it
 * was: nobody has a turn on it that has gone. Each function of the header has its place here and in docs/groups.md.
 *
 *     test_io_points POLLER GROUPS.MD HEADER
 */
#include "io.h"

#include "points.h"
#include "tenter_group.h"

#include <sys/mman.h>

/* What `dry` has nothing to read and nobody will write, `full` has no room and nobody will read; nobody connects to
 * `lonely`, and `busy` takes no connection. */
static int dry[2], full[2], lonely, busy, dialled, file;

static char text[4096];

static ssize_t p_read(void)
{
    return tn_read(dry[1], text, 8);
}
static ssize_t p_readv(void)
{
    return tn_readv(dry[1], &(struct iovec){text, 8}, 1);
}
static ssize_t p_recv(void)
{
    return tn_recv(dry[1], text, 8, 0);
}
static ssize_t p_recvfrom(void)
{
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    return tn_recvfrom(dry[1], text, 8, 0, (struct sockaddr *)&from, &size);
}
static ssize_t p_recvmsg(void)
{
    struct iovec v = {text, 8};
    return tn_recvmsg(dry[1], &(struct msghdr){.msg_iov = &v, .msg_iovlen = 1}, 0);
}
static ssize_t p_write(void)
{
    return tn_write(full[0], text, sizeof text);
}
static ssize_t p_writev(void)
{
    return tn_writev(full[0], &(struct iovec){text, sizeof text}, 1);
}
static ssize_t p_send(void)
{
    return tn_send(full[0], text, sizeof text, MSG_NOSIGNAL);
}
static ssize_t p_sendto(void)
{
    return tn_sendto(full[0], text, sizeof text, MSG_NOSIGNAL, NULL, 0);
}
static ssize_t p_sendmsg(void)
{
    struct iovec v = {text, sizeof text};
    return tn_sendmsg(full[0], &(struct msghdr){.msg_iov = &v, .msg_iovlen = 1}, MSG_NOSIGNAL);
}
static ssize_t p_sendfile(void)
{
    off_t at = 0;
    return tn_sendfile(full[0], file, &at, sizeof text);
}
static ssize_t p_accept(void)
{
    return tn_accept(lonely, NULL, NULL);
}
static ssize_t p_connect(void)
{
    struct sockaddr_in a = loopback(busy);
    dialled = tn_socket(AF_INET, SOCK_STREAM, 0);
    return tn_connect(dialled, (struct sockaddr *)&a, sizeof a);
}
static ssize_t p_poll(void)
{
    struct pollfd p = {dry[1], POLLIN, 0};
    int rc = tn_poll(&p, 1);
    errno = rc == 0 ? ETIMEDOUT : errno; /* as poll has it */
    return rc > 0 ? rc : -1;
}
static ssize_t call_recv(int fd, void *to)
{
    return recv(fd, to, 8, MSG_DONTWAIT);
}
static ssize_t p_io(void)
{
    return tn_io(dry[1], TN_IO_IN, call_recv, text, TN_FOREVER, NULL);
}
/* -1 and errno; in two steps, since errno's place is another one after the call. */
static ssize_t selected(struct tn_arm arm)
{
    unsigned which;
    int rc = tn_select(&arm, 1, &which, TN_FOREVER, NULL);
    errno = rc;
    return rc == 0 ? 1 : -1;
}
static ssize_t p_readable(void)
{
    return selected((struct tn_arm)TN_READABLE(dry[1]));
}
static ssize_t p_writable(void)
{
    while (send(full[0], text, sizeof text, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
        ;
    return selected((struct tn_arm)TN_WRITABLE(full[0]));
}

static const struct row {
    const char *name;
    ssize_t (*call)(void);
    bool writes; /* it is called again until it would block */
} rows[] = {
    {"tn_read_until", p_read, false},
    {"tn_readv_until", p_readv, false},
    {"tn_recv_until", p_recv, false},
    {"tn_recvfrom_until", p_recvfrom, false},
    {"tn_recvmsg_until", p_recvmsg, false},
    {"tn_write_until", p_write, true},
    {"tn_writev_until", p_writev, true},
    {"tn_send_until", p_send, true},
    {"tn_sendto_until", p_sendto, true},
    {"tn_sendmsg_until", p_sendmsg, true},
    {"tn_sendfile_until", p_sendfile, true},
    {"tn_accept_until", p_accept, false},
    {"tn_connect_until", p_connect, false},
    {"tn_poll_until", p_poll, false},
    {"tn_io", p_io, false},
    {"TN_READABLE", p_readable, false},
    {"TN_WRITABLE", p_writable, false},
};
enum { ROWS = sizeof rows / sizeof rows[0] };
static const char others[] = " tn_socket tn_shutdown tn_close tn_io_object ";

/* ---- what they do ---- */

enum way { BEFORE, MEANWHILE, LATE, TELLS };
static enum way way;
static _Atomic(int) began;
static _Atomic(bool) refused; /* BEFORE, LATE: the group was over before its member's member was spawned */

static void *calls(void *row)
{
    const struct row *r = row;
    ssize_t n;
    while (way == BEFORE && tn_cancelled() == 0)
        tn_yield();
    atomic_store(&began, 1);
    do
        n = r->call();
    while (r->writes && n > 0);
    int wanted = way == LATE ? ETIMEDOUT : ECANCELED, told = errno;
    if (!CHECK_EQUAL(n, -1) || !CHECK_EQUAL(told, wanted))
        harness_note("%s, told in way %d", r->name, way);
    return NULL;
}

static tn_fibre *member(tn_group *g, void *(*fn)(void *), void *arg)
{
    tn_fibre *f = NULL;
    int rc = tn_spawn(&f, &(struct tn_attr){.group = g}, fn, arg);
    if (way != MEANWHILE && rc == ECANCELED)
        refused = true;
    CHECK(rc == 0 || refused);
    return f;
}

/* A member with a group of its own, which has no deadline. */
static void *nests(void *row)
{
    tn_group within;
    tn_group_open(&within, TN_FOREVER);
    member(&within, calls, row);
    int rc = tn_group_close(&within);
    CHECK(rc == (way == LATE ? 0 : ECANCELED) || refused);
    return NULL;
}

/* A listener whose queue is full: further connections are not even refused. */
static void crowd(int fd[4])
{
    struct sockaddr_in a = loopback(busy);
    for (int i = 0; i < 4; i++) {
        fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        connect(fd[i], (struct sockaddr *)&a, sizeof a);
    }
}

/* Whoever comes next has what comes next. */
static void as_it_was(void)
{
    char got[8] = "";
    CHECK_EQUAL(tn_write(dry[0], "hello", 5), 5);
    CHECK_EQUAL(tn_read(dry[1], got, sizeof got), 5);
    CHECK(memcmp(got, "hello", 5) == 0);
    tn_fibre *f = start(connects, lonely);
    int fd = tn_accept(lonely, NULL, NULL);
    CHECK(fd >= 0);
    CHECK_EQUAL(tn_close((int)end_of(f)), 0);
    CHECK_EQUAL(tn_close(fd), 0);
    CHECK_EQUAL(tn_shutdown(full[0], SHUT_WR), 0);
    CHECK(end_of(start(reads_to_end, full[1])) >= 0);
}

static void one(const struct row *r, unsigned late_ms)
{
    tn_group g;
    int pending[4];
    dialled = -1;
    open_pair(UNIX_STREAM, dry);
    open_pair(UNIX_STREAM, full);
    lonely = listener();
    busy = tn_socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = loopback(-1);
    CHECK(bind(busy, (struct sockaddr *)&a, sizeof a) == 0 && listen(busy, 0) == 0);
    crowd(pending);
    atomic_store(&began, 0);
    tn_group_open(&g, way == LATE ? in_ms(late_ms) : TN_FOREVER);
    member(&g, nests, (void *)(uintptr_t)r);
    if (way != LATE) {
        while (way == MEANWHILE && atomic_load(&began) == 0)
            tn_yield();
        CHECK_EQUAL(tn_sleep(way == MEANWHILE ? 1000000 : 0), 0); /* as a rule it waits */
        tn_group_cancel(&g);
    }
    int rc = tn_group_close(&g);
    CHECK(rc == (way == LATE ? 0 : ECANCELED) || refused);
    as_it_was();
    if (dialled >= 0)
        CHECK_EQUAL(tn_close(dialled), 0);
    for (int i = 0; i < 4; i++)
        close(pending[i]);
    CHECK_EQUAL(tn_close(busy), 0);
    CHECK_EQUAL(tn_close(lonely), 0);
    close_pair(full);
    close_pair(dry);
}

static void *each(void *arg)
{
    file = memfd_create("points", MFD_CLOEXEC);
    CHECK(file >= 0 && write(file, text, sizeof text) == sizeof text);
    for (size_t i = 0; i < ROWS; i++)
        for (way = BEFORE; way < TELLS; way++) {
            unsigned late_ms = 5;
            do { /* who came to it too late tries once more, and with more time */
                refused = false;
                one(&rows[i], late_ms);
                late_ms *= 2;
            } while (refused);
        }
    CHECK_EQUAL(close(file), 0);
    return arg;
}

static void test_rows(void)
{
    fibres(each);
}

/* ---- each has its place ---- */

static unsigned functions;

static void has_place(const char *name)
{
    char word[80];
    bool row = false;
    for (size_t i = 0; i < ROWS; i++)
        row = row || strcmp(rows[i].name, name) == 0;
    snprintf(word, sizeof word, " %s ", name);
    if (!CHECK(row != (strstr(others, word) != NULL)))
        harness_note("%s: in one list, please", name);
    if (row && !CHECK(said(name, "| yes |")))
        harness_note("%s: docs/groups.md does not say so", name);
    functions++;
}

static void test_places(void)
{
    for (int i = 1; i < n_files; i++)
        each_function(files[i], has_place);
    CHECK(functions >= ROWS);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"each function has its place", test_places},
        {"each is a cancellation point", test_rows},
    };
    points_files(argc - 2, argv + 2);
    return io_main(2, argv, "io_points", tests, sizeof tests / sizeof tests[0]);
}
