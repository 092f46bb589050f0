/* SPDX-License-Identifier: MIT
 *
 * Numbers of descriptors that are used again: nothing of their former life reaches the next owner, whoever of that life has yet
 * to run, in whichever runtime. Run for each poller.
 */
#include "io.h"

/* The old description lives on by another number (dup): its events are not the new owner's. */
static void *uses_number_again(void *arg)
{
    for (int round = 0; round < (stress ? 500 : 20); round++) {
        char c;
        int old[2], new[2], kept;
        open_pair(UNIX_STREAM, old);
        CHECK(tn_read_until(old[1], &c, 1, in_ms(1), NULL) == -1); /* armed */
        kept = dup(old[1]);
        CHECK_EQUAL(tn_write(old[0], "x", 1), 1); /* perhaps told, perhaps not */
        if (round % 2 == 0)
            tn_yield();
        int number = old[1];
        CHECK_EQUAL(tn_close(old[1]), 0);
        open_pair(UNIX_STREAM, new);
        CHECK_EQUAL(new[0], number);
        CHECK_EQUAL(tn_write(old[0], "y", 1), 1);
        CHECK(tn_read_until(new[0], &c, 1, in_ms(1), NULL) == -1 && errno == ETIMEDOUT);
        CHECK(tn_read(kept, &c, 1) == 1 && c == 'x');
        CHECK(tn_read(kept, &c, 1) == 1 && c == 'y');
        CHECK_EQUAL(tn_write(new[1], "z", 1), 1);
        CHECK(tn_read(new[0], &c, 1) == 1 && c == 'z');
        close_pair(new);
        CHECK_EQUAL(tn_close(kept), 0);
        CHECK_EQUAL(tn_close(old[0]), 0);
    }
    return arg;
}

static void number_again(void)
{
    fibres(uses_number_again);
}

/* Several were told that it was closed, and have not run yet when the number is already somebody else's. */
static void *is_told_late(void *arg)
{
    char c;
    CHECK(tn_read((int)(intptr_t)arg, &c, 1) == -1 && errno == ECANCELED);
    return NULL;
}

static void *passes_number_on(void *arg)
{
    for (int round = 0; round < (stress ? 500 : 20); round++) {
        char c;
        int old[2], new[2];
        tn_fibre *f[3];
        open_pair(UNIX_STREAM, old);
        for (int i = 0; i < 3; i++)
            f[i] = start(is_told_late, old[1]);
        CHECK_EQUAL(tn_sleep(500000), 0);
        CHECK_EQUAL(tn_close(old[1]), 0);
        open_pair(UNIX_STREAM, new);
        CHECK_EQUAL(new[0], old[1]);
        CHECK_EQUAL(tn_write(new[1], "z", 1), 1);
        CHECK(tn_read(new[0], &c, 1) == 1 && c == 'z');
        for (int i = 0; i < 3; i++)
            end_of(f[i]);
        close_pair(new);
        CHECK_EQUAL(tn_close(old[0]), 0);
    }
    return arg;
}

/* Of several workers one might come to read only when the number is the next owner's. */
static void of_one_worker(void *(*fn)(void *))
{
    struct tn_config c = with_poller(1);
    CHECK_EQUAL(tn_run(&c, fn, NULL, NULL), 0);
}

static void number_passed_on(void)
{
    of_one_worker(passes_number_on);
}

/* Who waits is woken by an event, and the number is somebody else's before it runs: an ordinary pipe's, which nobody has made
 * non-blocking. (If it runs first, it has its byte.) */
static _Atomic(int) about_to_read;

static ssize_t call_read(int fd, void *to)
{
    return read(fd, to, 1);
}

static void *reads_x(void *arg)
{
    char c = 0;
    atomic_fetch_add(&about_to_read, 1);
    ssize_t n = tn_io((int)(intptr_t)arg, TN_IO_IN, call_read, &c, TN_FOREVER, NULL);
    CHECK(n == 1 ? c == 'x' : errno == ECANCELED);
    return (void *)(intptr_t)(n == 1);
}

static void *writes_x(void *arg)
{
    while (atomic_load(&about_to_read) == 0)
        tn_yield();
    CHECK_EQUAL(write((int)(intptr_t)arg, "x", 1), 1);
    return NULL;
}

static void *closes_when_told(void *arg)
{
    int behind = 0;
    for (int round = 0; round < (stress ? 500 : 20); round++) {
        char c = 0;
        int old[2], new[2];
        unsigned which;
        open_pair(UNIX_STREAM, old);
        atomic_store(&about_to_read, 0);
        struct tn_arm arm = TN_READABLE(old[1]);
        tn_fibre *f = start(reads_x, old[1]), *g = start(writes_x, old[0]);
        int rc = tn_select(&arm, 1, &which, in_ms(5), NULL); /* who reads may have taken it already */
        CHECK(rc == ETIMEDOUT || (rc == 0 && arm.rc == 0));
        CHECK_EQUAL(tn_close(old[1]), 0);
        CHECK_EQUAL(pipe(new), 0);
        CHECK_EQUAL(new[0], old[1]);
        CHECK_EQUAL(write(new[1], "n", 1), 1);
        behind += end_of(f) == 0;
        end_of(g);
        CHECK(tn_read(new[0], &c, 1) == 1 && c == 'n');
        CHECK_EQUAL(tn_close(new[0]), 0);
        CHECK_EQUAL(close(new[1]), 0);
        CHECK_EQUAL(tn_close(old[0]), 0);
    }
    harness_note("%d times it was too late", behind);
    return arg;
}

static void told_too_late(void)
{
    of_one_worker(closes_when_told);
}

/* ---- of several runtimes ---- */

static _Atomic(bool) busy, enough;

static void *reads_z(void *arg)
{
    char c = 0;
    atomic_fetch_add(&about_to_read, 1);
    CHECK(tn_read_until((int)(intptr_t)arg, &c, 1, in_ms(20000), NULL) == 1 && c == 'z');
    return NULL;
}

static void *reads_in_vain(void *arg)
{
    char c;
    CHECK(tn_read_until((int)(intptr_t)arg, &c, 1, in_ms(1), NULL) == -1 && errno == ETIMEDOUT);
    return NULL;
}

static void *is_told_at_last(void *arg)
{
    atomic_fetch_add(&about_to_read, 1);
    return is_told_late(arg);
}

static void *keeps_worker(void *arg)
{
    CHECK_EQUAL(tn_sleep(2000000), 0); /* the others wait, in whatever state */
    atomic_store(&busy, true);
    while (!atomic_load(&enough))
        nap_us(200);
    return arg;
}

static tn_fibre *start_in(tn_runtime *r, void *(*fn)(void *), int fd)
{
    tn_fibre *f = NULL;
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = r}, fn, (void *)(intptr_t)fd), 0);
    return f;
}

static void renews(int old[2], int new[2])
{
    CHECK_EQUAL(tn_close(old[1]), 0);
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, new), 0);
    CHECK_EQUAL(new[0], old[1]);
}

/* One reads and one waits for its turn, of a runtime whose only worker is busy: the next owner waits for neither. */
static void passed_on_while_busy(void)
{
    struct tn_config c = with_poller(1);
    tn_runtime *r;
    tn_fibre *f[3];
    int old[2], new[2];
    atomic_store(&about_to_read, 0);
    atomic_store(&busy, false);
    atomic_store(&enough, false);
    CHECK_EQUAL(tn_start(&r, &c), 0);
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, old), 0);
    for (int i = 0; i < 2; i++)
        f[i] = start_in(r, is_told_at_last, old[1]);
    CHECK(EVENTUALLY(atomic_load(&about_to_read) == 2));
    f[2] = start_in(r, keeps_worker, 0);
    CHECK(EVENTUALLY(atomic_load(&busy)));
    renews(old, new);
    CHECK_EQUAL(write(new[1], "z", 1), 1);
    CHECK_EQUAL(tn_run(&c, reads_z, (void *)(intptr_t) new[0], NULL), 0);
    atomic_store(&enough, true);
    for (int i = 0; i < 3; i++)
        end_of(f[i]);
    CHECK_EQUAL(tn_stop(r), 0);
    close_pair(new);
    CHECK_EQUAL(tn_close(old[0]), 0);
}

/* A runtime stops that had the number before: who waits there now goes on waiting. */
static void former_owner_stops(void)
{
    struct tn_config c = with_poller(1);
    tn_runtime *r[2];
    int old[2], new[2];
    atomic_store(&about_to_read, 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(tn_start(&r[i], &c), 0);
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, old), 0);
    end_of(start_in(r[0], reads_in_vain, old[1]));
    renews(old, new);
    tn_fibre *f = start_in(r[1], reads_z, new[0]);
    CHECK(EVENTUALLY(atomic_load(&about_to_read) == 1));
    nap_us(3000);
    CHECK_EQUAL(tn_stop(r[0]), 0);
    CHECK_EQUAL(write(new[1], "z", 1), 1);
    end_of(f);
    CHECK_EQUAL(tn_stop(r[1]), 0);
    close_pair(new);
    CHECK_EQUAL(tn_close(old[0]), 0);
}

/* So does a thread, when the runtime stops whose fibres used the same descriptor. */
static void thread_goes_on(void)
{
    struct tn_config c = with_poller(1);
    tn_runtime *r;
    pthread_t thread;
    int fd[2];
    atomic_store(&about_to_read, 0);
    CHECK_EQUAL(tn_start(&r, &c), 0);
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    end_of(start_in(r, reads_in_vain, fd[1]));
    CHECK_EQUAL(pthread_create(&thread, NULL, reads_z, (void *)(intptr_t)fd[1]), 0);
    CHECK(EVENTUALLY(atomic_load(&about_to_read) == 1));
    nap_us(3000);
    CHECK_EQUAL(tn_stop(r), 0);
    CHECK_EQUAL(write(fd[0], "z", 1), 1);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    close_pair(fd);
}

static const struct test tests[] = {
    {"a number used again", number_again},
    {"those that waited have yet to run", number_passed_on},
    {"who was woken by an event has yet to run", told_too_late},
    {"those that waited are of a busy runtime", passed_on_while_busy},
    {"the runtime stops that had it before", former_owner_stops},
    {"a thread waits, and the runtime stops", thread_goes_on},
};

int main(int argc, char **argv)
{
    return io_main(argc, argv, "io_again", tests, sizeof tests / sizeof tests[0]);
}
