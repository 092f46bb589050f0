/* SPDX-License-Identifier: MIT
 *
 * Input and output in rough weather: no descriptors left, signals, connections refused, regular files, several at once,
 * others that yield for ever, runtimes that stop, and processes that fork. Run for each poller.
 */
#include "io.h"

#include <stdio.h>

/* ---- echo, by many, with migration where the build forces it ---- */

enum { ECHOES = 40 };

static void *echoes(void *arg)
{
    char text[512];
    ssize_t n;
    int fd = (int)(intptr_t)arg;
    while ((n = tn_read(fd, text, sizeof text)) > 0)
        for (ssize_t done = 0, m; done < n; done += m) {
            m = tn_write(fd, text + done, (size_t)(n - done));
            if (!CHECK(m > 0))
                return NULL;
        }
    CHECK_EQUAL(tn_close(fd), 0);
    return NULL;
}

static void *asks(void *arg)
{
    int fd = (int)(intptr_t)arg, rounds = stress ? 5000 : 100;
    uint64_t random = harness_seed() + (uint64_t)fd;
    for (int i = 0; i < rounds; i++) {
        unsigned char out[512], in[512];
        size_t n = 1 + harness_random(&random) % sizeof out;
        memset(out, (int)(harness_random(&random) % 256), n);
        CHECK_EQUAL(tn_write(fd, out, n), n);
        for (size_t done = 0; done < n;) {
            ssize_t m = tn_read(fd, in + done, n - done);
            if (!CHECK(m > 0))
                return NULL;
            done += (size_t)m;
        }
        CHECK(memcmp(out, in, n) == 0);
        if (harness_random(&random) % 8 == 0)
            tn_yield();
    }
    CHECK_EQUAL(tn_close(fd), 0);
    return NULL;
}

static void *many_echo(void *arg)
{
    tn_fibre *f[2 * ECHOES];
    for (int i = 0; i < ECHOES; i++) {
        int fd[2];
        open_pair(i % 3 == 0 ? UNIX_STREAM : TCP, fd);
        f[2 * i] = start(echoes, fd[0]);
        f[2 * i + 1] = start(asks, fd[1]);
    }
    for (int i = 0; i < 2 * ECHOES; i++)
        end_of(f[i]);
    return arg;
}

static void echo(void)
{
    unsigned before = harness_count("fd");
    fibres(many_echo);
    CHECK_EQUAL(harness_count("fd"), before);
}

/* ---- signals ---- */

static void nothing(int signal)
{
    (void)signal;
}

static void signals(void)
{
    struct sigaction act = {.sa_handler = nothing}, before; /* calls are not restarted */
    struct itimerval every = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};
    CHECK_EQUAL(sigaction(SIGALRM, &act, &before), 0);
    CHECK_EQUAL(setitimer(ITIMER_REAL, &every, NULL), 0);
    fibres(many_echo);
    CHECK_EQUAL(setitimer(ITIMER_REAL, &off, NULL), 0);
    CHECK_EQUAL(sigaction(SIGALRM, &before, NULL), 0);
}

/* ---- no descriptor is left ---- */

static void *accepts(void *arg)
{
    return (void *)(intptr_t)tn_accept((int)(intptr_t)arg, NULL, NULL);
}

static void *accept_exhausted(void *arg)
{
    struct rlimit before, now;
    int l = listener(), client = tn_socket(AF_INET, SOCK_STREAM, 0), last, number = 0;
    struct sockaddr_in a = loopback(l);
    CHECK_EQUAL(tn_connect(client, (struct sockaddr *)&a, sizeof a), 0); /* which may need one to wait by */
    last = dup(l);
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &before), 0);
    now = before;
    now.rlim_cur = (rlim_t)last + 1; /* all below are in use */
    while (fcntl(number, F_GETFD) >= 0)
        number++;
    CHECK(number > last || (stress && number > 0));
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &now), 0);
    CHECK(tn_accept_until(l, NULL, NULL, in_ms(5), NULL) == -1 &&
          (errno == EMFILE || (receives_ahead() && errno == ETIMEDOUT)));
    tn_fibre *f = start(accepts, l);
    CHECK_EQUAL(tn_sleep(5000000), 0);
    CHECK_EQUAL(close(last), 0);
    int got = (int)end_of(f);
    CHECK_EQUAL(got, last);
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &before), 0);
    CHECK_EQUAL(tn_write(client, "x", 1), 1);
    char c;
    CHECK_EQUAL(tn_read(got, &c, 1), 1);
    CHECK_EQUAL(tn_close(got), 0);
    CHECK_EQUAL(tn_close(client), 0);
    CHECK_EQUAL(tn_close(l), 0);
    return arg;
}

static void exhausted(void)
{
    fibres(accept_exhausted);
}

/* ---- connections ---- */

/* Received ahead, the kernel accepts until the thread that asked for it has heard that it is closed. */
static bool is_refused(const struct sockaddr_in *a)
{
    int fd = tn_socket(AF_INET, SOCK_STREAM, 0);
    bool refused = tn_connect(fd, (const struct sockaddr *)a, sizeof *a) == -1 && errno == ECONNREFUSED;
    CHECK_EQUAL(tn_close(fd), 0);
    return refused;
}

static void *connections(void *arg)
{
    int l = listener(), n = 0, many[64];
    struct sockaddr_in a = loopback(l);
    CHECK(tn_accept_until(l, NULL, NULL, in_ms(2), NULL) == -1 && errno == ETIMEDOUT);
    CHECK_EQUAL(tn_close(l), 0);
    CHECK(is_refused(&a) || (receives_ahead() && EVENTUALLY(is_refused(&a))));
    struct sockaddr_un u = {.sun_family = AF_UNIX};
    snprintf(u.sun_path + 1, sizeof u.sun_path - 1, "tenter-test-%d", (int)getpid()); /* an abstract name */
    l = tn_socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQUAL(bind(l, (struct sockaddr *)&u, sizeof u), 0);
    CHECK_EQUAL(listen(l, 1), 0);
    int rc;
    do { /* until nobody is taken in any more; nothing tells when one is */
        many[n] = tn_socket(AF_UNIX, SOCK_STREAM, 0);
        rc = tn_connect_until(many[n], (struct sockaddr *)&u, sizeof u, in_ms(3), NULL);
    } while (rc == 0 && ++n < 64);
    CHECK(rc == -1 && errno == ETIMEDOUT);
    tn_fibre *f = start(accepts, l);
    CHECK_EQUAL(tn_connect(many[n], (struct sockaddr *)&u, sizeof u), 0);
    CHECK_EQUAL(tn_close((int)end_of(f)), 0);
    for (int i = 0; i <= n; i++)
        CHECK_EQUAL(tn_close(many[i]), 0);
    CHECK_EQUAL(tn_close(l), 0);
    return arg;
}

static void connecting(void)
{
    fibres(connections);
}

/* ---- regular files; any other call ---- */

static ssize_t call_eventfd(int fd, void *arg)
{
    return eventfd_read(fd, arg);
}

static void *waits_for_number(void *arg)
{
    eventfd_t n = 0;
    CHECK_EQUAL(tn_io((int)(intptr_t)arg, TN_IO_IN, call_eventfd, &n, TN_FOREVER, NULL), 0);
    return (void *)(intptr_t)n;
}

static void *files_and_others(void *arg)
{
    char name[] = "/tmp/tenter-io-XXXXXX", text[64];
    int file = mkstemp(name), fd[2], number = eventfd(0, 0);
    off_t offset = 2;
    CHECK_EQUAL(unlink(name), 0);
    CHECK_EQUAL(tn_write(file, "hello, world", 12), 12);
    CHECK_EQUAL(lseek(file, 0, SEEK_SET), 0);
    CHECK_EQUAL(tn_read(file, text, sizeof text), 12);
    CHECK_EQUAL(tn_read(file, text, sizeof text), 0);
    for (int kind = UNIX_STREAM; kind <= TCP; kind += TCP - UNIX_STREAM) {
        open_pair(kind, fd);
        CHECK_EQUAL(tn_sendfile(fd[0], file, &offset, 10), 10);
        CHECK_EQUAL(tn_read(fd[1], text, sizeof text), 10);
        CHECK(memcmp(text, "llo, world", 10) == 0);
        offset = 2;
        close_pair(fd);
    }
    struct pollfd p = {file, POLLIN, 0};
    CHECK_EQUAL(tn_poll(&p, 1), 1);
    struct tn_arm arm = TN_READABLE(file);
    unsigned which;
    CHECK(tn_select(&arm, 1, &which, TN_FOREVER, NULL) == 0 && arm.rc == 0);
    CHECK_EQUAL(tn_close(file), 0);
    tn_fibre *f = start(waits_for_number, number);
    CHECK_EQUAL(tn_sleep(1000000), 0);
    CHECK_EQUAL(eventfd_write(number, 7), 0);
    CHECK_EQUAL(end_of(f), 7);
    CHECK(tn_io(number, 2, call_eventfd, NULL, TN_FOREVER, NULL) == -1 && errno == EINVAL);
    CHECK_EQUAL(tn_close(number), 0);
    return arg;
}

static void files(void)
{
    fibres(files_and_others);
}

/* ---- several at once ---- */

static int told_fd;

static void *tells(void *channel)
{
    int item = 9;
    CHECK_EQUAL(tn_sleep(2000000), 0);
    if (channel != NULL)
        CHECK_EQUAL(tn_channel_send(channel, &item), 0);
    else
        CHECK_EQUAL(tn_write(told_fd, "x", 1), 1);
    return NULL;
}

static void *several(void *arg)
{
    const int stream =
        receives_ahead() ? UNIX_STREAM : TCP; /* of TCP what is received ahead is not seen by who looks */
    char c;
    int fd[PAIRS][2], item = 0;
    struct pollfd p[PAIRS];
    tn_channel channel = TN_CHANNEL_INIT(NULL, sizeof(int), 0);
    for (int i = 0; i < PAIRS; i++) {
        open_pair(i, fd[i]);
        p[i] = (struct pollfd){fd[i][1], POLLIN, 0};
    }
    CHECK_EQUAL(tn_poll_until(p, PAIRS, in_ms(2), NULL), 0);
    CHECK_EQUAL(tn_poll_until(p, PAIRS, 0, NULL), 0);
    CHECK_EQUAL(tn_poll_until(NULL, 0, in_ms(2), NULL), 0);
    for (int i = 0; i < 2 * PAIRS; i++) {
        if (i == PAIRS + TCP && stream != TCP)
            continue;
        told_fd = fd[i % PAIRS][0];
        tn_fibre *f = start(tells, 0);
        CHECK_EQUAL(tn_poll(p, PAIRS), 1);
        CHECK(p[i % PAIRS].revents == POLLIN);
        end_of(f);
        CHECK_EQUAL(tn_read(fd[i % PAIRS][1], &c, 1), 1);
    }
    for (int i = 0; i < 9; i++) { /* a channel, two descriptors */
        unsigned which, wanted = (unsigned)i % 3;
        struct tn_arm arms[3] = {TN_READABLE(fd[stream][1]), TN_READABLE(fd[PIPE][1]), TN_RECEIVE(&channel, &item)};
        told_fd = fd[wanted == 0 ? stream : PIPE][0];
        tn_fibre *f = start(tells, wanted == 2 ? (intptr_t)&channel : 0);
        CHECK_EQUAL(tn_select(arms, 3, &which, TN_FOREVER, NULL), 0);
        CHECK(which == wanted && arms[which].rc == 0);
        if (which != 2)
            CHECK_EQUAL(tn_read_until(fd[wanted == 0 ? stream : PIPE][1], &c, 1, 0, NULL), 1);
        end_of(f);
    }
    struct tn_arm out = TN_WRITABLE(fd[TCP][0]), none = TN_READABLE(9999);
    unsigned which;
    CHECK(tn_select(&out, 1, &which, TN_FOREVER, NULL) == 0 && out.rc == 0);
    CHECK(tn_select(&none, 1, &which, TN_FOREVER, NULL) == 0 && none.rc == EBADF);
    for (int i = 0; i < PAIRS; i++)
        close_pair(fd[i]);
    return arg;
}

static void at_once(void)
{
    fibres(several);
}

/* ---- others yield for ever ---- */

static _Atomic(bool) enough;
static _Atomic(uint64_t) turns;

static void *yields_on(void *arg)
{
    while (!atomic_load(&enough)) {
        atomic_fetch_add(&turns, 1);
        tn_yield();
    }
    return arg;
}

static void *reads_one(void *arg)
{
    char c;
    CHECK_EQUAL(tn_read((int)(intptr_t)arg, &c, 1), 1);
    return NULL;
}

/* A worker that has looked and is interrupted is as late as the system runs it again; one worker alone is bounded by the
 * turns of its fibres, each a switch: 64 where workers poll, 4096 under the others, and what is ready before. */
static void *read_among_yielders(void *arg)
{
    tn_fibre *f[8];
    int fd[2];
    open_pair(UNIX_STREAM, fd);
    atomic_store(&enough, false);
    for (int i = 0; i < 8; i++)
        f[i] = start(yields_on, 0);
    tn_fibre *reader = start(reads_one, fd[1]);
    for (int i = 0; i < 200; i++)
        tn_yield();
    atomic_store(&turns, 0);
    CHECK_EQUAL(tn_write(fd[0], "x", 1), 1);
    end_of(reader);
    harness_note("%llu turns of others until the reader ran", (unsigned long long)atomic_load(&turns));
    CHECK(tn_workers(tn_cluster_self()) > 1 || atomic_load(&turns) < (strncmp(poller, "worker", 6) == 0  ? 64
                                                                      : strncmp(poller, "uring", 5) == 0 ? 2 * 64
                                                                                                         : 4096) +
                                                                         40);
    atomic_store(&enough, true);
    for (int i = 0; i < 8; i++)
        end_of(f[i]);
    close_pair(fd);
    return arg;
}

static void fair(void)
{
    fibres(read_among_yielders);
}

/* ---- runtimes that stop, and others ---- */

static int kept_fd;

static void *leaves_waiters(void *arg)
{
    for (int i = 0; i < 3; i++)
        tn_detach(start(reads_one, kept_fd));
    CHECK_EQUAL(tn_sleep(2000000), 0);
    return arg; /* and the runtime stops */
}

static void *finds_it_usable(void *arg)
{
    CHECK_EQUAL(write((int)(intptr_t)arg, "x", 1), 1);
    reads_one((void *)(intptr_t)kept_fd);
    char c;
    CHECK(tn_read_until(kept_fd, &c, 1, in_ms(2), NULL) == -1 && errno == ETIMEDOUT);
    return arg;
}

static void *finds_it_in_use(void *arg)
{
    char c;
    CHECK(tn_read_until(kept_fd, &c, 1, in_ms(2), NULL) == -1 && errno == EBUSY);
    return arg;
}

static _Atomic(bool) has_it;

static void *has_it_in_use(void *arg)
{
    char c;
    CHECK(tn_read_until(kept_fd, &c, 1, in_ms(1), NULL) == -1 && errno == ETIMEDOUT);
    atomic_store(&has_it, true);
    reads_one((void *)(intptr_t)kept_fd);
    return arg;
}

static void stops(void)
{
    int fd[2];
    CHECK_EQUAL(pipe(fd), 0);
    kept_fd = fd[0];
    for (int round = 0; round < 4; round++) {
        struct tn_config c = with_poller(1 + round % 2);
        CHECK_EQUAL(tn_run(&c, leaves_waiters, NULL, NULL), 0);
        CHECK_EQUAL(tn_run(&c, finds_it_usable, (void *)(intptr_t)fd[1], NULL), 0);
        CHECK_EQUAL(tn_start(&rt, &c), 0);
        tn_fibre *f;
        atomic_store(&has_it, false);
        CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, has_it_in_use, NULL), 0);
        while (!atomic_load(&has_it))
            nap_us(500);
        CHECK_EQUAL(tn_run(&c, finds_it_in_use, NULL, NULL), 0);
        CHECK_EQUAL(write(fd[1], "x", 1), 1);
        end_of(f);
        CHECK_EQUAL(tn_stop(rt), 0);
    }
    CHECK_EQUAL(tn_close(fd[0]), 0);
    CHECK_EQUAL(close(fd[1]), 0);
}

/* Of two clusters: who is told wakes a fibre of the other one. */
static tn_cluster *other;

static void *asks_and_echoes(void *arg)
{
    struct tn_config c = with_poller(1);
    CHECK_EQUAL(tn_cluster_create(arg, &c, &other), 0);
    for (int i = 0; i < 8; i++) {
        int fd[2];
        char x;
        tn_fibre *f[2];
        open_pair(TCP, fd);
        CHECK(tn_read_until(fd[i % 2], &x, 1, in_ms(1), NULL) == -1); /* armed here, used there */
        CHECK_EQUAL(tn_spawn(&f[0], &(struct tn_attr){.cluster = other}, echoes, (void *)(intptr_t)fd[0]), 0);
        f[1] = start(asks, fd[1]);
        end_of(f[0]);
        end_of(f[1]);
    }
    return arg;
}

static void clusters(void)
{
    struct tn_config c = with_poller(1);
    tn_fibre *f;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, asks_and_echoes, rt), 0);
    end_of(f);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- processes that fork: what the parent's fibres wait for is the child's to use ---- */

static void *child_uses(void *arg)
{
    char c;
    bool good = write((int)(intptr_t)arg, "x", 1) == 1 && tn_read_until(kept_fd, &c, 1, in_ms(5000), NULL) == 1;
    return good ? arg : NULL;
}

static void *forks(void *arg)
{
    char c;
    int fd[2], status = -1;
    open_pair(receives_ahead() ? UNIX_STREAM : TCP, fd); /* of TCP the parent would receive what is the child's */
    kept_fd = fd[1];
    for (int i = 0; i < 2; i++) { /* armed here, before and afterwards */
        CHECK(tn_read_until(fd[1], &c, 1, in_ms(1), NULL) == -1 && errno == ETIMEDOUT);
        pid_t child = fork();
        if (child == 0) {
            struct tn_config config = with_poller(1);
            void *value = NULL;
            int rc = tn_run(&config, child_uses, (void *)(intptr_t)fd[0], &value);
            _exit(rc == 0 && value != NULL ? 0 : 1); /* a failed check would be the parent's */
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    tn_fibre *f = start(reads_to_end, fd[1]);
    CHECK_EQUAL(tn_write(fd[0], "xy", 2), 2);
    CHECK_EQUAL(tn_close(fd[0]), 0);
    CHECK_EQUAL(end_of(f), 2);
    CHECK_EQUAL(tn_close(fd[1]), 0);
    return arg;
}

static void forking(void)
{
    if (build_has("sanitize=thread"))
        SKIP("ThreadSanitizer knows no thread that is made in a child of fork");
    fibres(forks);
}

static const struct test tests[] = {
    {"echo by many", echo},
    {"signals every millisecond", signals},
    {"no descriptor is left", exhausted},
    {"connections", connecting},
    {"files, and any other call", files},
    {"several at once", at_once},
    {"others yield for ever", fair},
    {"runtimes that stop, and others", stops},
    {"two clusters", clusters},
    {"fork", forking},
};

int main(int argc, char **argv)
{
    return io_main(argc, argv, "io_more", tests, sizeof tests / sizeof tests[0]);
}
