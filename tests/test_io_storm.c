/* SPDX-License-Identifier: MIT
 *
 * Connections that are opened and torn down at random: half-closed, reset, left silent, full, used through dup as well. Afterwards
 * nothing of them is left: no descriptor, no fibre, no byte. Run for each poller.
 */
#include "io.h"
#include "nomem.h"

static tn_time until;
static _Atomic(uint64_t) opened, moved;

/* As long as something comes; who gives up tries again, or leaves it at that. */
static void *takes(void *arg)
{
    char text[300];
    uint64_t random = harness_seed() + (uint64_t)(intptr_t)arg;
    for (;;) {
        tn_time deadline =
            harness_random(&random) % 3 != 0 ? TN_FOREVER : tn_now() + harness_random(&random) % 2000000;
        ssize_t n =
            tn_read_until((int)(intptr_t)arg, text, 1 + harness_random(&random) % sizeof text, deadline, NULL);
        if (n > 0)
            atomic_fetch_add(&moved, (uint64_t)n);
        else if (n == 0 || errno != ETIMEDOUT)
            return arg;
    }
}

static void gives(int fd, uint64_t *random)
{
    char text[700] = "";
    for (unsigned i = (unsigned)(harness_random(random) % 6); i > 0; i--) {
        size_t n = 1 + harness_random(random) % sizeof text;
        tn_time deadline = tn_now() + harness_random(random) % 5000000;
        if (tn_send_until(fd, text, n, MSG_NOSIGNAL, deadline, NULL) < 0)
            return; /* it is full, or the other side has gone */
        if (harness_random(random) % 2 == 0)
            tn_yield();
    }
}

/* Several read on one side and one on the other. A side is closed when nobody reads there any more: who would read on might
 * find the number's next owner. */
static void one_connection(uint64_t *random)
{
    int fd[2], copy = -1;
    tn_fibre *f[2], *g;
    open_pair(harness_random(random) % 4 == 0 ? TCP : UNIX_STREAM, fd);
    atomic_fetch_add(&opened, 1);
    unsigned readers = 1 + (unsigned)(harness_random(random) % 2), how = (unsigned)(harness_random(random) % 3);
    for (unsigned i = 0; i < readers; i++)
        f[i] = start(takes, fd[1]);
    g = start(takes, fd[0]);
    gives(fd[0], random);
    gives(fd[1], random);
    if (how == 0)
        copy = dup(fd[0]);
    if (how == 1) {
        struct linger reset = {1, 0};
        CHECK_EQUAL(setsockopt(fd[0], SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    }
    if (harness_random(random) % 2 == 0)
        CHECK_EQUAL(tn_sleep(harness_random(random) % 300000), 0);
    CHECK_EQUAL(tn_shutdown(fd[1], SHUT_WR), 0);
    end_of(g);
    CHECK_EQUAL(tn_close(fd[0]), 0);
    if (copy >= 0)
        CHECK_EQUAL(tn_close(copy), 0);
    for (unsigned i = 0; i < readers; i++)
        end_of(f[i]);
    CHECK_EQUAL(tn_close(fd[1]), 0);
}

static void *one_after_another(void *arg)
{
    uint64_t random = harness_seed() + 31 * (uint64_t)(intptr_t)arg;
    do
        one_connection(&random);
    while (tn_now() < until);
    return NULL;
}

/* Fibres are threads to ThreadSanitizer, which has room for 8128 of them; each connection has five at most. */
#ifdef __SANITIZE_THREAD__
enum { MOST = 1000 };
#else
enum { MOST = 5000 };
#endif

/* As many at once as the descriptors allow. */
static void *storms(void *arg)
{
    struct rlimit limit;
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
    unsigned most = limit.rlim_cur > 4 * MOST ? MOST : (unsigned)limit.rlim_cur / 4, n = stress ? most : 100;
    tn_fibre **f = calloc(n, sizeof *f);
    until = tn_now() + (stress ? 20 : 1) * (tn_time)1000000000;
    for (unsigned i = 0; i < n; i++)
        f[i] = start(one_after_another, (intptr_t)i + 1);
    for (unsigned i = 0; i < n; i++)
        end_of(f[i]);
    free(f);
    return arg;
}

static void storm(void)
{
    for (int workers = 1; workers <= 2; workers++) {
        unsigned before = harness_count("fd");
        long blocks_before = atomic_load(&blocks);
        struct tn_config c = with_poller(workers);
        atomic_store(&opened, 0);
        CHECK_EQUAL(tn_run(&c, storms, NULL, NULL), 0);
        harness_note("%llu connections, %llu bytes", (unsigned long long)atomic_load(&opened),
                     (unsigned long long)atomic_load(&moved));
        CHECK_EQUAL(harness_count("fd"), before);
        CHECK_EQUAL(atomic_load(&blocks), blocks_before);
    }
}

static const struct test tests[] = {{"opened and torn down at random", storm}};

int main(int argc, char **argv)
{
    return io_main(argc, argv, "io_storm", tests, sizeof tests / sizeof tests[0]);
}
