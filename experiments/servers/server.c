/* SPDX-License-Identifier: MIT
 *
 * What the front-ends share; see server.h.
 */
#include "server.h"

#include "bench_address.h"

#include <errno.h>
#include <netinet/in.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct server_totals *server_totals;

static void *all; /* the service's */
static struct bench_addresses where;
static uint64_t work, every;

/* ---- replies ---- */

char *reply_room(struct reply *r, size_t n)
{
    if (n > r->room - r->size) {
        size_t room = r->room < 256 ? 256 : r->room;
        while (room - r->size < n)
            if ((room *= 2) > SIZE_MAX / 4)
                return NULL;
        char *text = realloc(r->text, room);
        if (text == NULL)
            return NULL;
        r->text = text;
        r->room = room;
    }
    return r->text + r->size;
}

/* All of it has been sent. What an idle connection keeps is small. */
static void emptied(struct connection *c)
{
    c->out.size = c->sent = 0;
    if (c->out.room > 4096) {
        free(c->out.text);
        c->out.text = NULL;
        c->out.room = 0;
    }
}

/* ---- a connection ---- */

/* At the time that it is made, since what comes before it may have waited. */
static void progress(struct connection *c)
{
    /* relaxed, both: as server_since */
    atomic_store_explicit(&c->since, server_now(), memory_order_relaxed);
    atomic_store_explicit(&c->untaken, 0, memory_order_relaxed);
}

/* Bytes that were sent and not taken. */
static int untaken(const struct connection *c)
{
    int left = 0;
    return ioctl(c->fd, SIOCOUTQ, &left) == 0 ? left : 0;
}

bool server_takes(struct connection *c, uint64_t now)
{
    int left = untaken(c),
        before = atomic_load_explicit(&c->untaken, memory_order_relaxed); /* relaxed, all: as server_since */
    if (before != 0 ? left >= before : left == 0)
        return false;
    atomic_store_explicit(&c->untaken, left, memory_order_relaxed);
    atomic_store_explicit(&c->since, now, memory_order_relaxed);
    return true;
}

struct connection *server_accepted(int fd)
{
    struct connection *c = malloc(sizeof *c);
    int one = 1;
    if (c != NULL) {
        memset(c, 0, offsetof(struct connection, in));
        c->fd = fd;
        progress(c);
        c->out.file = -1;
        c->one = service.open(all);
    }
    if (c == NULL || c->one == NULL) {
        free(c);
        front_close(fd);
        server_count(&server_totals->refused, 1);
        return NULL;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return c;
}

void server_closed(struct connection *c)
{
    server_count(&server_totals->connections, 1);
    server_count(&server_totals->requests, c->out.requests);
    service.close(c->one);
    if (c->out.file >= 0)
        close(c->out.file);
    free(c->out.text);
    front_close(c->fd);
    free(c);
}

/* For those of `n` more requests whose turn it is: here, and not in the service, whose parser may be a library, in which nobody is
 * preempted. */
static void computes(uint64_t n)
{
    if (work == 0 || n == 0)
        return;
    uint64_t was = atomic_fetch_add_explicit(&server_totals->turns, n, memory_order_relaxed); /* relaxed: a number */
    uint64_t due = (was + n) / every - was / every;
    server_count(&server_totals->computed, due);
    bench_work(due * work);
}

static bool enough(const struct connection *c)
{
    return c->out.file >= 0 || c->out.size > SERVICE_ENOUGH;
}

static void fed(struct connection *c, size_t n)
{
    size_t taken = 0;
    uint64_t before = c->out.requests;
    c->have += n;
    while (taken < c->have && c->ends == 0 && !enough(c)) {
        ssize_t some = service.feed(c->one, c->in + taken, c->have - taken, &c->out);
        if (some == 0)
            break;
        if (some < 0)
            c->ends = (int)some;
        else
            taken += (size_t)some;
    }
    c->have = c->ends != 0 ? 0 : c->have - taken;
    if (c->have == SERVICE_ROOM) /* a fault of the service; better one connection than all */
        c->ends = SERVICE_ERROR;
    c->more = c->have != 0 && enough(c) && c->ends == 0;
    if (c->have != 0 && taken != 0)
        memmove(c->in, c->in + taken, c->have);
    computes(c->out.requests - before);
    if (c->out.requests != before)
        progress(c);
}

/* An answer of so much may be taken for long after all of it was sent. */
enum { LONG = 16384 };

static bool sends(struct connection *c)
{
    bool is_long = c->out.file >= 0 || c->out.size > LONG;
    while (c->sent < c->out.size) {
        ssize_t n = front_send(c, c->out.text + c->sent, c->out.size - c->sent,
                               MSG_NOSIGNAL | (c->out.file >= 0 ? MSG_MORE : 0));
        if (n < 0)
            return false;
        c->sent += (size_t)n;
        progress(c);
    }
    while (c->out.file >= 0) {
        if (c->out.left != 0) {
            ssize_t n = front_sendfile(c);
            if (n <= 0) {
                errno = n == 0 ? EIO : errno; /* it has become shorter, and the client been promised more */
                return false;
            }
            c->out.left -= (size_t)n;
            progress(c);
            if (c->out.left != 0 && !front_passes())
                return false;
        }
        if (c->out.left == 0) {
            close(c->out.file);
            c->out.file = -1;
        }
    }
    if (is_long) /* relaxed: as server_since */
        atomic_store_explicit(&c->untaken, untaken(c), memory_order_relaxed);
    emptied(c);
    return true;
}

bool server_serves(struct connection *c, size_t n)
{
    if (n != 0)
        fed(c, n);
    while (sends(c)) {
        if (!c->more)
            return true;
        fed(c, 0);
    }
    return false;
}

uint64_t server_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool server_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

/* ---- the beginning and the end ---- */

void server_open(struct bench *b, int *listeners, int n)
{
    all = service.start(b);
    bench_listen(b, &where, listeners, n);
}

uint64_t server_patience(const struct bench *b)
{
    return (uint64_t)(bench_real(b, "patience") * 1e9);
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static uint64_t total(_Atomic(uint64_t) *count)
{
    return atomic_load_explicit(count, memory_order_relaxed); /* relaxed: who counted has been joined */
}

static void record(struct bench *b)
{
    struct rusage self, children;
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    double cpu =
        seconds(self.ru_utime) + seconds(self.ru_stime) + seconds(children.ru_utime) + seconds(children.ru_stime);
    uint64_t requests = total(&server_totals->requests);
    int rep = (int)bench_int(b, "warmup"); /* all of it counts */
    bench_sample(b, "requests", "1", (double)requests, rep);
    bench_sample(b, "connections", "1", (double)total(&server_totals->connections), rep);
    if (requests != 0)
        bench_sample(b, "cpu", "ns", cpu * 1e9 / (double)requests, rep);
    bench_count(b, "silent_connections", (double)total(&server_totals->silent));
    bench_count(b, "refused_connections", (double)total(&server_totals->refused));
    if (work != 0) {
        bench_count(b, "computed", (double)total(&server_totals->computed));
        bench_work_check(b);
    }
    bench_count(b, "greatest_resident_kib",
                (double)(self.ru_maxrss > children.ru_maxrss ? self.ru_maxrss : children.ru_maxrss));
}

int main(int argc, char **argv)
{
    static const struct bench_option common[] = {
        BENCH_ADDRESS_OPTION,
        {"port", BENCH_INT, "0", 0, 65535, NULL, "", "to listen at; 0: one that is free", NULL, 0, 0, false},
        {"patience", BENCH_REAL, "30", 0.01, 86400, NULL, "s", "a connection ends that makes no progress for so long",
         NULL, 0, 0, false},
        {"work", BENCH_INT, "0", 0, 1e9, NULL, "ns", "computing for each --every-th request", NULL, 0, 0, false},
        {"every", BENCH_INT, "1", 1, 1e9, NULL, "", "which requests --work is for", NULL, 0, 0, false},
    };
    enum { COMMON = sizeof common / sizeof *common };
    static struct bench b;
    static char name[64], about[256];
    struct bench_option *own = calloc(COMMON + front.n + service.n, sizeof *own);
    struct rlimit files;
    sigset_t ends;
    if (own == NULL)
        abort();
    memcpy(own, common, sizeof common);
    if (front.n != 0)
        memcpy(own + COMMON, front.own, front.n * sizeof *own);
    if (service.n != 0)
        memcpy(own + COMMON + front.n, service.own, service.n * sizeof *own);
    snprintf(name, sizeof name, "%s%s", service.name, front.suffix);
    snprintf(about, sizeof about, "%s, %s; until SIGTERM or SIGINT", service.about, front.about);
    b = (struct bench){
        .program = name,
        .about = about,
        .clock =
            "cpu: processor time of the server from its start to its end, for each request; that is one repetition, "
            "whatever --warmup and --reps are, and has no histogram",
        .takes = front.takes,
        .own = own,
        .n = COMMON + front.n + service.n};
    bench_start(&b, argc, argv);
    if (!bench_int(&b, "print-config")) /* here, on the process's own stack: a resolver takes what it likes */
        bench_resolve(&b, "address", bench_text(&b, "address"), (int)bench_int(&b, "port"), &where);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    signal(SIGPIPE, SIG_IGN); /* sendfile has no MSG_NOSIGNAL */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    server_totals = mmap(NULL, sizeof *server_totals, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (server_totals == MAP_FAILED)
        bench_die(&b, BENCH_INTERNAL, "no memory");
    work = (uint64_t)bench_int(&b, "work");
    every = (uint64_t)bench_int(&b, "every");
    if (work != 0)
        bench_work_calibrate();
    front.run(&b);
    service.stop(all, &b);
    record(&b);
    int code = bench_finish(&b);
    free(own);
    return code;
}
