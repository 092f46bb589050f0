/* SPDX-License-Identifier: MIT
 *
 * What only the uring poller has: a kernel that forbids it, more results than there is room for, workers that leave while the
 * kernel has calls of theirs, fibres that give up beside others that do not. Workers leave so under the worker poller too,
 * where each has an instance of its own.
 */
#include "io.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static bool by_io_uring(void)
{
    char text[16384];
    tn_describe_cluster(tn_cluster_self(), text, sizeof text);
    return strstr(text, "\"poller_by\":\"io_uring\"") != NULL;
}

/* ---- forbidden ---- */

static void *echoes_by_epoll(void *arg)
{
    char text[16384], c;
    int fd[2];
    tn_describe_cluster(tn_cluster_self(), text, sizeof text);
    if (strstr(text, "\"poller_by\":\"epoll: io_uring says: Operation not permitted\"") == NULL)
        return NULL;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0 || tn_read_until(fd[0], &c, 1, in_ms(1), NULL) != -1 ||
        errno != ETIMEDOUT)
        return NULL;
    tn_fibre *f = start(reads_to_end, fd[0]);
    tn_sleep(1000000);
    if (tn_write(fd[1], "xy", 2) != 2 || tn_close(fd[1]) != 0 || end_of(f) != 2 || tn_close(fd[0]) != 0)
        return NULL;
    return arg;
}

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

static void forbidden(void)
{
    if (build_has("sanitize=thread"))
        SKIP("ThreadSanitizer knows no thread that is made in a child of fork");
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        int rc = forbid() ? 0 : 77;
        for (int workers = 1; rc == 0 && workers <= 2; workers++) {
            struct tn_config config = with_poller(workers);
            void *value = NULL;
            rc = tn_run(&config, echoes_by_epoll, (void *)1, &value) == 0 && value != NULL ? 0 : 1;
        }
        _exit(rc); /* a failed check would be the parent's */
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        SKIP("no filter of system calls here");
    CHECK_EQUAL(status, 0);
}

/* ---- more results than there is room for ---- */

enum { MANY = 4500 };

static _Atomic(int) received;

static void *receives_one(void *arg)
{
    char c;
    CHECK_EQUAL(tn_recv((int)(intptr_t)arg, &c, 1, 0), 1);
    atomic_fetch_add(&received, 1);
    return NULL;
}

static void *overflows(void *arg)
{
    static int fd[MANY][2];
    static tn_fibre *f[MANY];
    atomic_store(&received, 0);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fd[i]), 0);
        f[i] = start(receives_one, fd[i][1]);
    }
    CHECK_EQUAL(tn_sleep(20000000), 0);
    for (int i = 0; i < MANY; i++)
        CHECK_EQUAL(write(fd[i][0], "x", 1), 1); /* and nobody looks meanwhile, of one worker */
    for (int i = 0; i < MANY; i++) {
        end_of(f[i]);
        CHECK_EQUAL(tn_close(fd[i][1]), 0);
        CHECK_EQUAL(close(fd[i][0]), 0);
    }
    CHECK_EQUAL(atomic_load(&received), MANY);
    return arg;
}

static void overflow(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < 2 * MANY + 100)
        SKIP("fewer descriptors than that");
    fibres(overflows);
}

/* ---- workers that leave ---- */

static void others_come(tn_cluster *cl)
{
    for (int i = 0; i < 2; i++)
        while (tn_workers(cl) <= (unsigned)i + 1 && tn_workers_add(cl, 1) == EAGAIN) /* they are just leaving */
            CHECK_EQUAL(tn_sleep(100000), 0);
}

static void *leaves_while_reading(void *arg)
{
    enum { READERS = 16 };
    int fd[READERS][2];
    tn_fibre *f[READERS];
    tn_cluster *cl = tn_cluster_self();
    for (int round = 0; round < (stress ? 200 : 10); round++) {
        atomic_store(&received, 0);
        for (int i = 0; i < READERS; i++) {
            open_pair(i % 2 == 0 ? UNIX_STREAM : TCP, fd[i]);
            f[i] = start(receives_one, fd[i][1]);
            tn_yield();
        }
        CHECK_EQUAL(tn_sleep(1000000), 0);
        int rc = tn_workers_remove(cl, 2);
        CHECK(rc == 0 || rc == EAGAIN); /* one may only just have been started */
        if (round % 2 == 0)
            CHECK_EQUAL(tn_sleep(1000000), 0);
        if (round % 4 < 2)
            others_come(cl);
        for (int i = 0; i < READERS; i++)
            CHECK_EQUAL(tn_write(fd[i][0], "x", 1), 1);
        for (int i = 0; i < READERS; i++) {
            end_of(f[i]);
            close_pair(fd[i]);
        }
        others_come(cl); /* if nobody has taken their place before */
    }
    return arg;
}

static void leaving(void)
{
    struct tn_config c = with_poller(3);
    c.slots = 3;
    CHECK_EQUAL(tn_run(&c, leaves_while_reading, NULL, NULL), 0);
}

/* ---- giving up, on whatever worker it was asked for ---- */

static void *gives_up(void *arg)
{
    char c;
    uint64_t random = harness_seed() + (uint64_t)(intptr_t)arg;
    intptr_t got = 0;
    for (int i = 0; i < (stress ? 2000 : 100); i++) {
        tn_time deadline = harness_random(&random) % 4 == 0 ? 0 : tn_now() + harness_random(&random) % 300000;
        ssize_t n = tn_recv_until((int)(intptr_t)arg, &c, 1, 0, deadline, NULL);
        CHECK(n == 1 || (n == -1 && errno == ETIMEDOUT));
        got += n == 1;
    }
    return (void *)got;
}

static void *sends(void *arg)
{
    uint64_t random = harness_seed() + 7 * (uint64_t)(intptr_t)arg;
    intptr_t put = 0;
    for (int i = 0; i < (stress ? 1000 : 50); i++) {
        CHECK_EQUAL(tn_send((int)(intptr_t)arg, "x", 1, 0), 1);
        put++;
        CHECK_EQUAL(tn_sleep(harness_random(&random) % 300000), 0);
    }
    return (void *)put;
}

static void *nothing_is_lost(void *arg)
{
    enum { PAIRS_OF = 12 };
    int fd[PAIRS_OF][2];
    tn_fibre *f[PAIRS_OF], *g[PAIRS_OF];
    CHECK(by_io_uring());
    for (int i = 0; i < PAIRS_OF; i++) {
        open_pair(i % 2 == 0 ? UNIX_STREAM : TCP, fd[i]);
        f[i] = start(gives_up, fd[i][1]);
        g[i] = start(sends, fd[i][0]);
    }
    for (int i = 0; i < PAIRS_OF; i++) {
        char rest[4096];
        intptr_t got = end_of(f[i]), put = end_of(g[i]);
        while (got < put) { /* what came later is still there */
            ssize_t n = tn_recv_until(fd[i][1], rest, sizeof rest, 0, in_ms(5000), NULL);
            if (!CHECK(n > 0))
                break;
            got += n;
        }
        CHECK_EQUAL(got, put);
        close_pair(fd[i]);
    }
    return arg;
}

static void giving_up(void)
{
    fibres(nothing_is_lost);
}

static const struct test tests[] = {
    {"workers that leave", leaving},
    {"forbidden", forbidden},
    {"more results than there is room for", overflow},
    {"giving up", giving_up},
};

int main(int argc, char **argv)
{
    bool all = argc > 1 && strncmp(argv[1], "uring", 5) == 0;
    return io_main(argc, argv, all ? "io_uring" : "io_leaving", tests, all ? sizeof tests / sizeof tests[0] : 1);
}
