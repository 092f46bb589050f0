/* SPDX-License-Identifier: MIT
 *
 * Descriptors that are neither pipes nor sockets as others use them: terminals, timers, signals, processes, messages of the kernel,
 * queues, and numbers that change hands behind the library's back before anybody has waited. Each is waited for twice at least, so
 * that an event of the first time does not do for the second. Run for each poller.
 */
#include "io.h"

#include <limits.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <mqueue.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <termios.h>

enum { SOON = 2000000, LATE = 20000 /* ms: what comes later has not come */ };

/* ---- who waits, and who makes what it waits for happen a little later ---- */

struct later {
    void (*happens)(struct later *l);
    int fd;
    const char *text;
};

static void *happens_later(void *arg)
{
    struct later *l = arg;
    CHECK_EQUAL(tn_sleep(SOON), 0);
    l->happens(l);
    return NULL;
}

/* Reads so much when it happens. */
static ssize_t read_when(struct later l, int from, void *to, size_t n)
{
    tn_fibre *f = start(happens_later, (intptr_t)&l);
    ssize_t got = tn_read_until(from, to, n, in_ms(LATE), NULL);
    int err = errno;
    end_of(f);
    errno = err;
    return got;
}

static void writes(struct later *l)
{
    CHECK_EQUAL(tn_write(l->fd, l->text, strlen(l->text)), (ssize_t)strlen(l->text));
}

static void closes(struct later *l)
{
    CHECK_EQUAL(tn_close(l->fd), 0);
}

/* ---- terminals ---- */

static int terminal(int *peer)
{
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct termios t;
    if (fd < 0 || grantpt(fd) != 0 || unlockpt(fd) != 0)
        return -1;
    *peer = open(ptsname(fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(*peer >= 0 && tcgetattr(*peer, &t) == 0);
    t.c_lflag &= ~(tcflag_t)ECHO;
    CHECK_EQUAL(tcsetattr(*peer, TCSANOW, &t), 0);
    return fd;
}

static void *types(void *arg)
{
    char text[64];
    static char flood[4000]; /* of which there are no lines */
    int peer, fd = terminal(&peer);
    if (fd < 0)
        return "no terminal";
    for (int i = 0; i < 3; i++) {
        CHECK(read_when((struct later){writes, fd, "line\n"}, peer, text, sizeof text) == 5 &&
              memcmp(text, "line\n", 5) == 0);
        CHECK(read_when((struct later){writes, peer, "said"}, fd, text, sizeof text) == 4 &&
              memcmp(text, "said", 4) == 0);
    }
    CHECK_EQUAL(tn_write(fd, "half a ", 7), 7); /* no line yet */
    CHECK(tn_read_until(peer, text, sizeof text, in_ms(2), NULL) == -1 && errno == ETIMEDOUT);
    CHECK(read_when((struct later){writes, fd, "line\nmore\n"}, peer, text, sizeof text) == 12);
    CHECK_EQUAL(tn_read_until(peer, text, sizeof text, in_ms(LATE), NULL), 5); /* a line at a time */
    CHECK(read_when((struct later){writes, fd, "\x04"}, peer, text, sizeof text) == 0);
    memset(flood, 'x', sizeof flood); /* it fills, and is emptied */
    ssize_t sent = 0, got = 0, n;
    while ((n = tn_write_until(peer, flood, sizeof flood, in_ms(5), NULL)) > 0)
        sent += n;
    CHECK(n == -1 && errno == ETIMEDOUT);
    while (got < sent && CHECK((n = tn_read_until(fd, flood, sizeof flood, in_ms(LATE), NULL)) > 0))
        got += n;
    CHECK_EQUAL(tn_write_until(peer, "x", 1, in_ms(LATE), NULL), 1);
    CHECK_EQUAL(tn_read_until(fd, text, 1, in_ms(LATE), NULL), 1);
    CHECK(read_when((struct later){closes, peer, NULL}, fd, text, sizeof text) == -1 &&
          errno == EIO); /* it hangs up */
    CHECK(tn_read_until(fd, text, sizeof text, in_ms(LATE), NULL) == -1 && errno == EIO);
    peer = open(ptsname(fd), O_RDWR | O_NOCTTY | O_CLOEXEC); /* and is there again */
    CHECK(peer >= 0 && read_when((struct later){writes, peer, "back"}, fd, text, sizeof text) == 4);
    CHECK_EQUAL(tn_close(fd), 0);
    CHECK_EQUAL(tn_read_until(peer, text, sizeof text, in_ms(LATE), NULL), 0);
    CHECK_EQUAL(tn_close(peer), 0);
    return arg;
}

/* ---- timers, signals, watches, processes, messages ---- */

static void *ticks(void *arg)
{
    uint64_t times = 0, all = 0;
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec each = {{0, 1000000}, {0, 1000000}}, none = {{0, 0}, {0, 0}};
    CHECK_EQUAL(timerfd_settime(fd, 0, &each, NULL), 0);
    for (int i = 0; i < 20; i++)
        if (CHECK_EQUAL(tn_read_until(fd, &times, sizeof times, in_ms(LATE), NULL), sizeof times))
            all += times;
    CHECK(all >= 20);
    CHECK_EQUAL(timerfd_settime(fd, 0, &none, NULL), 0);
    (void)!tn_read_until(fd, &times, sizeof times, 0, NULL);
    CHECK(tn_read_until(fd, &times, sizeof times, in_ms(3), NULL) == -1 && errno == ETIMEDOUT);
    CHECK_EQUAL(timerfd_settime(fd, 0, &each, NULL), 0);
    CHECK_EQUAL(tn_read_until(fd, &times, sizeof times, in_ms(LATE), NULL), sizeof times);
    CHECK_EQUAL(tn_close(fd), 0);
    return arg;
}

static void sends_signal(struct later *l)
{
    CHECK_EQUAL(kill(getpid(), l->fd), 0);
}

/* It is blocked in all threads (main), so that none but the descriptor has it. */
static void *hears_signals(void *arg)
{
    struct signalfd_siginfo info;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    for (int i = 0; i < 5; i++)
        CHECK(read_when((struct later){sends_signal, SIGUSR2, NULL}, fd, &info, sizeof info) == sizeof info &&
              info.ssi_signo == SIGUSR2);
    CHECK(tn_read_until(fd, &info, sizeof info, in_ms(2), NULL) == -1 && errno == ETIMEDOUT);
    CHECK_EQUAL(tn_close(fd), 0);
    return arg;
}

static char folder[] = "/tmp/tenter-kinds-XXXXXX";

static void makes_file(struct later *l)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, l->text);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
}

static void *watches(void *arg)
{
    _Alignas(struct inotify_event) char events[1024];
    int fd = inotify_init1(IN_CLOEXEC);
    CHECK(inotify_add_watch(fd, folder, IN_CREATE) > 0);
    for (int i = 0; i < 5; i++) {
        ssize_t n = read_when((struct later){makes_file, -1, "file"}, fd, events, sizeof events);
        CHECK(n > (ssize_t)sizeof(struct inotify_event) &&
              strcmp(((struct inotify_event *)(void *)events)->name, "file") == 0);
    }
    CHECK_EQUAL(tn_close(fd), 0);
    return arg;
}

static void *counts(void *arg)
{
    uint64_t value = 3;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(tn_write(fd, &value, sizeof value), sizeof value);
        for (int k = 0; k < 3; k++) { /* one event told of three */
            uint64_t one = 0;
            CHECK(tn_read_until(fd, &one, sizeof one, in_ms(LATE), NULL) == sizeof one && one == 1);
        }
        CHECK(tn_read_until(fd, &value, sizeof value, in_ms(2), NULL) == -1 && errno == ETIMEDOUT);
    }
    value = UINT64_MAX - 1; /* full: who adds waits until somebody has taken */
    CHECK_EQUAL(tn_write(fd, &value, sizeof value), sizeof value);
    value = 1;
    CHECK(tn_write_until(fd, &value, sizeof value, in_ms(2), NULL) == -1 && errno == ETIMEDOUT);
    CHECK_EQUAL(tn_read_until(fd, &value, sizeof value, in_ms(LATE), NULL), sizeof value);
    CHECK_EQUAL(tn_write_until(fd, &value, sizeof value, in_ms(LATE), NULL), sizeof value);
    CHECK_EQUAL(tn_close(fd), 0);
    return arg;
}

/* It is readable when the process has ended, and nothing is ever read there. */
static void *waits_for_process(void *arg)
{
    for (int i = 0; i < 2; i++) {
        int status, gate[2];
        CHECK_EQUAL(pipe2(gate, O_CLOEXEC), 0);
        pid_t child = fork();
        if (child == 0) {
            char c;
            close(gate[1]);
            _exit(read(gate[0], &c, 1) == 0 ? 7 : 1);
        }
        int fd = (int)syscall(SYS_pidfd_open, child, 0);
        struct pollfd p = {fd, POLLIN, 0};
        CHECK_EQUAL(tn_poll_until(&p, 1, in_ms(2), NULL), 0);
        close(gate[0]);
        struct later l = {closes, gate[1], NULL};
        tn_fibre *f = start(happens_later, (intptr_t)&l);
        CHECK(tn_poll_until(&p, 1, in_ms(LATE), NULL) == 1 && p.revents == POLLIN);
        end_of(f);
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
        CHECK_EQUAL(tn_close(fd), 0);
    }
    return arg;
}

static ssize_t call_receives(int fd, void *arg)
{
    return mq_receive((mqd_t)fd, arg, 64, NULL);
}

static ssize_t call_sends(int fd, void *arg)
{
    return mq_send((mqd_t)fd, arg, strlen(arg) + 1, 0);
}

static void queues(struct later *l)
{
    CHECK_EQUAL(tn_io(l->fd, TN_IO_OUT, call_sends, (void *)(uintptr_t)l->text, in_ms(LATE), NULL), 0);
}

/* Calls that have no name here. */
static void *takes_messages(void *arg)
{
    char name[64], text[64];
    snprintf(name, sizeof name, "/tenter-kinds-%d", (int)getpid());
    struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = sizeof text};
    mqd_t q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
    if (q == (mqd_t)-1)
        return arg; /* this system has none */
    for (int i = 0; i < 3; i++) {
        struct later l = {queues, (int)q, "hello"};
        tn_fibre *f = start(happens_later, (intptr_t)&l);
        CHECK(tn_io((int)q, TN_IO_IN, call_receives, text, in_ms(LATE), NULL) == 6 && strcmp(text, "hello") == 0);
        end_of(f);
    }
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_io((int)q, TN_IO_OUT, call_sends, text, in_ms(LATE), NULL), 0);
    CHECK(tn_io((int)q, TN_IO_OUT, call_sends, text, in_ms(2), NULL) == -1 && errno == ETIMEDOUT); /* full */
    CHECK_EQUAL(mq_unlink(name), 0);
    CHECK_EQUAL(tn_close((int)q), 0);
    return arg;
}

/* Messages of the kernel come as datagrams. */
static void *asks_kernel(void *arg)
{
    struct {
        struct nlmsghdr head;
        struct rtgenmsg body;
    } ask = {{.nlmsg_len = sizeof ask, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
             {AF_UNSPEC}};
    static char answer[65536];
    int fd = tn_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    if (fd < 0)
        return arg;
    for (int i = 0; i < 2; i++) {
        bool done = false;
        CHECK_EQUAL(tn_send(fd, &ask, sizeof ask, 0), sizeof ask);
        while (!done) {
            ssize_t n = tn_recv_until(fd, answer, sizeof answer, 0, in_ms(LATE), NULL);
            if (!CHECK(n > 0))
                break;
            done = ((struct nlmsghdr *)(void *)answer)->nlmsg_type == NLMSG_DONE;
        }
    }
    CHECK(tn_recv_until(fd, answer, sizeof answer, 0, in_ms(2), NULL) == -1 && errno == ETIMEDOUT);
    CHECK_EQUAL(tn_close(fd), 0);
    return arg;
}

/* A set of descriptors is one, too. */
static void *nests(void *arg)
{
    int set = epoll_create1(EPOLL_CLOEXEC), one = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = one};
    uint64_t value = 1;
    CHECK_EQUAL(epoll_ctl(set, EPOLL_CTL_ADD, one, &event), 0);
    for (int i = 0; i < 3; i++) {
        struct pollfd p = {set, POLLIN, 0};
        CHECK_EQUAL(tn_poll_until(&p, 1, in_ms(2), NULL), 0);
        CHECK_EQUAL(write(one, &value, sizeof value), sizeof value);
        CHECK_EQUAL(tn_poll_until(&p, 1, in_ms(LATE), NULL), 1);
        CHECK_EQUAL(epoll_wait(set, &event, 1, 0), 1);
        CHECK_EQUAL(read(one, &value, sizeof value), sizeof value);
    }
    CHECK(tn_read_until(set, &value, sizeof value, in_ms(LATE), NULL) == -1 && errno == EINVAL);
    CHECK_EQUAL(tn_close(set), 0);
    CHECK_EQUAL(close(one), 0);
    return arg;
}

/* ---- what is refused as the system refuses it ---- */

static void *is_refused(void *arg)
{
    static struct iovec many[IOV_MAX + 1];
    char c;
    int fd[2], path = open("/", O_PATH | O_CLOEXEC);
    for (size_t i = 0; i <= IOV_MAX; i++)
        many[i] = (struct iovec){&c, 1};
    CHECK(tn_read(path, &c, 1) == -1 && errno == EBADF);
    CHECK_EQUAL(tn_close(path), 0);
    for (int kind = PIPE; kind < PAIRS; kind++) {
        open_pair(kind, fd);
        for (int i = 0; i < 2; i++) { /* before it is waited for, and after */
            struct msghdr m = {.msg_iov = many, .msg_iovlen = IOV_MAX + 1};
            tn_time until = in_ms(LATE);
            CHECK(tn_readv_until(fd[1], many, IOV_MAX + 1, until, NULL) == -1 && errno == EINVAL);
            CHECK(tn_writev_until(fd[0], many, IOV_MAX + 1, until, NULL) == -1 && errno == EINVAL);
            CHECK(tn_sendmsg_until(fd[0], &m, MSG_NOSIGNAL, until, NULL) == -1);
            CHECK(errno == EMSGSIZE || (kind == PIPE && errno == ENOTSOCK)); /* whichever is found first */
            CHECK(tn_recvmsg_until(fd[1], &m, 0, until, NULL) == -1);
            CHECK(errno == EMSGSIZE || (kind == PIPE && errno == ENOTSOCK));
            CHECK(tn_accept_until(fd[1], NULL, NULL, until, NULL) == -1 &&
                  errno == (kind == PIPE                         ? ENOTSOCK
                            : kind == TCP || kind == UNIX_STREAM ? EINVAL
                                                                 : EOPNOTSUPP));
            CHECK(tn_now() < until);
            CHECK(tn_read_until(fd[1], &c, 1, in_ms(1), NULL) == -1 && errno == ETIMEDOUT);
        }
        close_pair(fd);
    }
    return arg;
}

/* ---- a number that another one is put in place of before anybody has waited there ---- */

/* Nobody of ours has used it, so nothing has to be said to us. */
static void *changes_hands(void *arg)
{
    char text[8];
    int fd[2];
    for (int i = 0; i < 10; i++) {
        int was[2];
        CHECK_EQUAL(pipe2(was, O_CLOEXEC), 0);
        open_pair(i % PAIRS, fd);
        CHECK_EQUAL(dup2(fd[1], was[0]), was[0]);
        CHECK_EQUAL(tn_close(fd[1]), 0);
        CHECK(read_when((struct later){writes, fd[0], "over"}, was[0], text, 4) == 4 && memcmp(text, "over", 4) == 0);
        CHECK_EQUAL(tn_close(was[0]), 0);
        CHECK_EQUAL(tn_close(was[1]), 0);
        CHECK_EQUAL(tn_close(fd[0]), 0);
    }
    return arg;
}

/* All from there on are closed without a word; what comes by tn_socket, tn_accept is known to be new. */
static void *closes_range(void *arg)
{
    char text[8];
    int fd[2], low = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < 10; i++) {
        open_pair(TCP, fd);
        CHECK(tn_read_until(fd[1], text, 1, in_ms(1), NULL) == -1 && errno == ETIMEDOUT);
        int first = fd[0] < fd[1] ? fd[0] : fd[1], last = fd[0] < fd[1] ? fd[1] : fd[0];
        for (int k = first; k <= last; k++)
            if (k == fd[0] || k == fd[1])
                CHECK_EQUAL(close(k), 0);
        open_pair(TCP, fd);
        CHECK(read_when((struct later){writes, fd[0], "new"}, fd[1], text, 3) == 3 && memcmp(text, "new", 3) == 0);
        CHECK(read_when((struct later){writes, fd[1], "old"}, fd[0], text, 3) == 3 && memcmp(text, "old", 3) == 0);
        close_pair(fd);
    }
    CHECK_EQUAL(tn_close(low), 0);
    return arg;
}

/* ---- files that are sent, from odd places ---- */

static void *sends_file(void *arg)
{
    static char text[8192], got[8192];
    int fd[2], file = memfd_create("file", MFD_CLOEXEC), other = memfd_create("other", MFD_CLOEXEC);
    memset(text, 'f', sizeof text);
    CHECK_EQUAL(tn_write(file, text, 5000), 5000);
    static const struct {
        off_t at;
        size_t n;
        ssize_t sent;
        int err;
    } odd[] = {{0, 5000, 5000, 0},
               {1, SIZE_MAX >> 1, -1, EINVAL},
               {1, SIZE_MAX >> 2, 4999, 0},
               {4999, 10, 1, 0},
               {5000, 10, 0, 0},
               {1 << 30, 10, 0, 0},
               {0, 0, 0, 0},
               {-1, 10, -1, EINVAL},
               {4097, 903, 903, 0}};
    for (int kind = PIPE; kind < PAIRS; kind++) {
        open_pair(kind, fd);
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
            off_t at = odd[i].at;
            ssize_t n = tn_sendfile_until(fd[0], file, &at, odd[i].n, in_ms(LATE), NULL);
            int err = errno;
            if (kind == UNIX_DATAGRAM || kind == UDP) { /* in datagrams of its choice */
                while (n > 0 && CHECK(tn_read_until(fd[1], got, sizeof got, in_ms(LATE), NULL) > 0) &&
                       tn_read_until(fd[1], got, sizeof got, 0, NULL) > 0)
                    ;
                continue;
            }
            CHECK(n == odd[i].sent && (n >= 0 || err == odd[i].err) && at == odd[i].at + (n > 0 ? n : 0));
            for (ssize_t left = n, some; left > 0; left -= some)
                if (!CHECK((some = tn_read_until(fd[1], got, (size_t)left, in_ms(LATE), NULL)) > 0))
                    break;
        }
        CHECK_EQUAL(lseek(file, 4990, SEEK_SET), 4990); /* from where it stands */
        if (kind == PIPE || kind == TCP)
            CHECK(tn_sendfile_until(fd[0], file, NULL, 100, in_ms(LATE), NULL) == 10 &&
                  lseek(file, 0, SEEK_CUR) == 5000 && tn_read_until(fd[1], got, 100, in_ms(LATE), NULL) == 10);
        CHECK(tn_sendfile_until(fd[0], fd[1], NULL, 10, in_ms(LATE), NULL) == -1); /* from what is no file */
        close_pair(fd);
    }
    off_t at = 4000;
    CHECK(tn_sendfile_until(other, file, &at, 5000, in_ms(LATE), NULL) == 1000 && at == 5000);
    CHECK_EQUAL(tn_close(file), 0);
    CHECK_EQUAL(tn_close(other), 0);
    return arg;
}

/* ---- all of them ---- */

#define TEST(name, fn)     \
    static void name(void) \
    {                      \
        fibres(fn);        \
    }
TEST(terminals, types)
TEST(timers, ticks)
TEST(signals, hears_signals)
TEST(watched, watches)
TEST(semaphores, counts)
TEST(messages, takes_messages)
TEST(kernel, asks_kernel)
TEST(sets, nests)
TEST(refused_calls, is_refused)
TEST(hands, changes_hands)
TEST(ranges, closes_range)
TEST(sent_files, sends_file)

static void processes(void)
{
#ifdef __SANITIZE_THREAD__
    SKIP("ThreadSanitizer sees a fork of many threads");
#endif
    fibres(waits_for_process);
}

static const struct test tests[] = {
    {"terminals", terminals},
    {"timers", timers},
    {"signals", signals},
    {"watches", watched},
    {"semaphores", semaphores},
    {"processes", processes},
    {"queues", messages},
    {"the kernel's messages", kernel},
    {"sets", sets},
    {"refused", refused_calls},
    {"dup2 before use", hands},
    {"closed without a word", ranges},
    {"files from odd places", sent_files},
};

int main(int argc, char **argv)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (mkdtemp(folder) == NULL)
        return 99;
    int rc = io_main(argc, argv, "io_kinds", tests, sizeof tests / sizeof tests[0]);
    rmdir(folder);
    return rc;
}
