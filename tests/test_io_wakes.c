/* SPDX-License-Identifier: MIT
 *
 * Whom an event wakes, told by counters: one worker where all are asleep; and, where all are busy, nobody before its turn comes
 * (the fibre that polls is in the background).
 */
#include "io.h"

enum { WORKERS = 3, EVENTS = 50 };

static _Atomic(int) received;

static void *receives(void *arg)
{
    char c;
    while (tn_read((int)(intptr_t)arg, &c, 1) == 1)
        atomic_fetch_add(&received, 1);
    return NULL;
}

/* Until nobody has parked for 20 ms. */
static uint64_t announced(tn_cluster *cl)
{
    uint64_t before = 0, now = counter(cl, "announce");
    for (int i = 0; i < 500 && before != now; i++, now = counter(cl, "announce")) {
        before = now;
        nap_us(20000);
    }
    return now;
}

static void all_asleep(void)
{
    if (migration_forced())
        SKIP("each ready fibre is for any worker");
    struct tn_config c = with_poller(WORKERS);
    tn_runtime *r;
    tn_fibre *f;
    int fd[2];
    c.idle = TN_IDLE_BLOCK;
    CHECK_EQUAL(tn_start(&r, &c), 0);
    tn_cluster *cl = tn_cluster_first(r);
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    atomic_store(&received, 0);
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = r}, receives, (void *)(intptr_t)fd[1]), 0);
    CHECK_EQUAL(write(fd[0], "x", 1), 1); /* it is armed then, and all is warm */
    CHECK(EVENTUALLY(atomic_load(&received) == 1));
    uint64_t before = announced(cl), after = before;
    for (int i = 1; i <= EVENTS; i++) {
        uint64_t until = after + 1;
        CHECK_EQUAL(write(fd[0], "x", 1), 1);
        CHECK(EVENTUALLY(atomic_load(&received) == i + 1 && counter(cl, "announce") >= until));
        after = counter(cl, "announce");
    }
    after = announced(cl);
    harness_note("%d events, and a worker parked %llu times", EVENTS, (unsigned long long)(after - before));
    CHECK_EQUAL(after - before, EVENTS);
    CHECK_EQUAL(tn_close(fd[0]), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK_EQUAL(tn_stop(r), 0);
    CHECK_EQUAL(tn_close(fd[1]), 0);
}

static _Atomic(bool) enough;

static void *yields_on(void *arg)
{
    while (!atomic_load(&enough))
        tn_yield();
    return arg;
}

/* Others yield for longer than any poll takes, then are no more. */
static void *busy(void *arg)
{
    tn_cluster *cl = tn_cluster_self();
    tn_fibre *f[2], *reader;
    int fd[2];
    atomic_store(&received, 0);
    atomic_store(&enough, false);
    open_pair(UNIX_STREAM, fd);
    reader = start(receives, fd[1]);
    CHECK_EQUAL(tn_write(fd[0], "x", 1), 1);
    while (atomic_load(&received) == 0)
        CHECK_EQUAL(tn_sleep(1000000), 0);
    for (int i = 0; i < 2; i++)
        f[i] = start(yields_on, 0);
    uint64_t before = counter(cl, "background");
    CHECK_EQUAL(tn_write(fd[0], "x", 1), 1);
    for (int i = 0; i < 20000; i++)
        tn_yield();
    CHECK_EQUAL(counter(cl, "background"), before);
    CHECK_EQUAL(atomic_load(&received), 2); /* by a look of the busy worker's own */
    atomic_store(&enough, true);
    for (int i = 0; i < 2; i++)
        end_of(f[i]);
    for (int i = 0; i < 100 && counter(cl, "background") == before; i++) { /* now and then that look comes first */
        CHECK_EQUAL(tn_write(fd[0], "x", 1), 1);
        while (atomic_load(&received) < i + 3)
            CHECK_EQUAL(tn_sleep(100000), 0);
    }
    CHECK(counter(cl, "background") > before);
    CHECK_EQUAL(tn_close(fd[0]), 0);
    end_of(reader);
    CHECK_EQUAL(tn_close(fd[1]), 0);
    return arg;
}

static void all_busy(void)
{
    if (migration_forced())
        SKIP("each ready fibre is for any worker");
    struct tn_config c = with_poller(1);
    c.scheduler = "pushing";
    CHECK_EQUAL(tn_run(&c, busy, NULL, NULL), 0);
}

static const struct test tests[] = {{"all are asleep", all_asleep}, {"all are busy", all_busy}};

int main(int argc, char **argv)
{
    return io_main(argc, argv, "io_wakes", tests, sizeof tests / sizeof tests[0]);
}
