/* SPDX-License-Identifier: MIT
 *
 * A server of HTTP/1.1 (keep-alive, pipelined, one text for every GET) twice in each repetition: a fibre for each connection,
 * and the barest thing that could be in its place, a thread with a loop around epoll_wait. Both find the requests and answer
 * them by the same code, for the same generator: a plain thread that keeps so many requests under way on each of so many
 * connections over TCP, and whose own time does not count. What is compared is processor time a request.
 */
#include "bench_tenter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <tenter_io.h>
#include <unistd.h>

enum { DEPTH_MAX = 64, CONNECTIONS_MAX = 4096, ROOM = 4096, EVENTS = 64 };
#define REQUEST "GET /plaintext HTTP/1.1\r\nHost: tenter\r\n\r\n"
#define ANSWER \
    "HTTP/1.1 200 OK\r\nServer: tenter\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, world!"
enum { REQUEST_SIZE = sizeof REQUEST - 1, ANSWER_SIZE = sizeof ANSWER - 1, ANSWERS = ROOM / 4 };

static struct bench *bench;
static char answers[ANSWERS * ANSWER_SIZE]; /* as many as can be due at once: each request has 4 characters or more */
static int64_t connections, depth, rounds;  /* rounds: of `depth` requests on each connection, in a repetition */
static tn_cluster *cluster;
static _Atomic(int64_t) served; /* connections that are over */

/* ---- both servers ---- */

struct connection {
    int fd;
    size_t have;
    char text[ROOM];
};

/* The bytes of the answers that are due; what is left is the beginning of a request. */
static size_t due(struct connection *c)
{
    char *at = c->text, *end = c->text + c->have, *over;
    size_t n = 0;
    for (; (over = memmem(at, (size_t)(end - at), "\r\n\r\n", 4)) != NULL; at = over + 4)
        n++;
    c->have = (size_t)(end - at);
    if (c->have != 0 && n != 0)
        memmove(c->text, at, c->have);
    if (c->have == ROOM)
        bench_die(bench, BENCH_INTERNAL, "a request without an end");
    return n * ANSWER_SIZE;
}

static int listener(struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || bind(fd, (struct sockaddr *)address, size) != 0 || listen(fd, 4096) != 0 ||
        getsockname(fd, (struct sockaddr *)address, &size) != 0)
        bench_die(bench, BENCH_INTERNAL, "no listener: %s", strerror(errno));
    return fd;
}

static void without_delay(int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/* ---- by fibres ---- */

static void *serves(void *fd)
{
    struct connection c = {.fd = (int)(intptr_t)fd};
    ssize_t n;
    while ((n = tn_recv(c.fd, c.text + c.have, ROOM - c.have, 0)) > 0) {
        c.have += (size_t)n;
        size_t left = due(&c);
        for (const char *from = answers; left > 0; from += n, left -= (size_t)n)
            if ((n = tn_send(c.fd, from, left, MSG_NOSIGNAL)) < 0)
                break;
    }
    tn_close(c.fd);
    atomic_fetch_add_explicit(&served, 1, memory_order_release); /* S0 */
    return NULL;
}

static void *listens(void *listening)
{
    for (int fd; (fd = tn_accept((int)(intptr_t)listening, NULL, NULL)) >= 0;) {
        without_delay(fd);
        if (tn_spawn(NULL, NULL, serves, (void *)(intptr_t)fd) != 0)
            bench_die(bench, BENCH_INTERNAL, "no memory for a fibre");
    }
    if (errno == ENOSYS)
        bench_die(bench, BENCH_UNSUPPORTED, "a build with -Dpoller=null has no input and output");
    return NULL;
}

/* ---- by a loop ---- */

static void loop_accepts(int events, int listening, struct connection *c)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    *c = (struct connection){.fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (c->fd < 0 || epoll_ctl(events, EPOLL_CTL_ADD, c->fd, &event) != 0)
        bench_die(bench, BENCH_INTERNAL, "accept: %s", strerror(errno));
    without_delay(c->fd);
}

/* False: that was its end. */
static bool loop_serves(struct connection *c)
{
    ssize_t n = recv(c->fd, c->text + c->have, ROOM - c->have, 0);
    if (n < 0 && errno == EAGAIN)
        return true;
    if (n <= 0) {
        close(c->fd);
        return false;
    }
    c->have += (size_t)n;
    size_t bytes = due(c);
    if (bytes != 0 && send(c->fd, answers, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        bench_die(bench, BENCH_INTERNAL, "the generator does not read");
    return true;
}

static void *loop(void *listening)
{
    struct connection *all = calloc((size_t)connections, sizeof *all);
    int events = epoll_create1(EPOLL_CLOEXEC);
    if (all == NULL || events < 0)
        bench_die(bench, BENCH_INTERNAL, "no memory");
    for (int64_t i = 0; i < connections; i++)
        loop_accepts(events, (int)(intptr_t)listening, &all[i]);
    for (int64_t left = connections; left > 0;) {
        struct epoll_event event[EVENTS];
        int n = epoll_wait(events, event, EVENTS, -1);
        for (int i = 0; i < n; i++)
            left -= !loop_serves(event[i].data.ptr);
    }
    close(events);
    free(all);
    return NULL;
}

/* ---- the generator ---- */

static uint64_t of_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Processor time of all threads but the calling one. */
static int64_t others_cpu(void)
{
    return (int64_t)(of_clock(CLOCK_PROCESS_CPUTIME_ID) - of_clock(CLOCK_THREAD_CPUTIME_ID));
}

struct stream {
    int fd;
    int64_t rounds;  /* that are left */
    size_t expected; /* bytes of answers under way */
};

static void send_round(struct stream *s)
{
    static char requests[DEPTH_MAX * REQUEST_SIZE];
    if (requests[0] == '\0')
        for (int i = 0; i < DEPTH_MAX; i++)
            memcpy(requests + i * REQUEST_SIZE, REQUEST, REQUEST_SIZE);
    size_t bytes = (size_t)depth * REQUEST_SIZE;
    if (send(s->fd, requests, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        bench_die(bench, BENCH_INTERNAL, "send: %s", strerror(errno));
    s->expected = (size_t)depth * ANSWER_SIZE;
    s->rounds--;
}

/* False: it has had all its answers. */
static bool receives(struct stream *s)
{
    static char text[DEPTH_MAX * ANSWER_SIZE];
    size_t before = (size_t)depth * ANSWER_SIZE - s->expected;
    ssize_t n = recv(s->fd, text, s->expected, MSG_DONTWAIT);
    if (n <= 0 && errno == EAGAIN)
        return true;
    if (n <= 0 || memcmp(text, answers + before, (size_t)n) != 0) {
        bench_invalid(bench, "not the answer that was expected");
        return false;
    }
    s->expected -= (size_t)n;
    if (s->expected == 0 && s->rounds > 0)
        send_round(s);
    return s->expected != 0 || s->rounds > 0;
}

/* All requests of a repetition. Returns the others' processor time for each, in ns; `*rate`: requests a second. */
static double load(const struct sockaddr_in *address, double *rate)
{
    struct stream *all = calloc((size_t)connections, sizeof *all);
    int events = epoll_create1(EPOLL_CLOEXEC);
    if (all == NULL || events < 0)
        bench_die(bench, BENCH_INTERNAL, "no memory");
    for (int64_t i = 0; i < connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
        all[i] = (struct stream){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .rounds = rounds};
        if (all[i].fd < 0 || connect(all[i].fd, (const struct sockaddr *)address, sizeof *address) != 0 ||
            epoll_ctl(events, EPOLL_CTL_ADD, all[i].fd, &event) != 0)
            bench_die(bench, BENCH_INTERNAL, "no connection: %s", strerror(errno));
        without_delay(all[i].fd);
    }
    int64_t cpu = others_cpu();
    uint64_t start = bench_now();
    for (int64_t i = 0; i < connections; i++)
        send_round(&all[i]);
    for (int64_t left = connections; left > 0;) {
        struct epoll_event event[EVENTS];
        int n = epoll_wait(events, event, EVENTS, -1);
        for (int i = 0; i < n; i++)
            left -= !receives(event[i].data.ptr);
    }
    double requests = (double)(connections * depth * rounds);
    *rate = requests * 1e9 / (double)(bench_now() - start);
    double used = (double)(others_cpu() - cpu) / requests;
    for (int64_t i = 0; i < connections; i++)
        close(all[i].fd);
    close(events);
    free(all);
    return used;
}

static double load_loop(double *rate)
{
    struct sockaddr_in address;
    int listening = listener(&address);
    pthread_t thread;
    if (pthread_create(&thread, NULL, loop, (void *)(intptr_t)listening) != 0)
        bench_die(bench, BENCH_INTERNAL, "no thread for the loop");
    double used = load(&address, rate);
    pthread_join(thread, NULL);
    close(listening);
    return used;
}

static double load_fibres(double *rate)
{
    struct sockaddr_in address;
    int listening = listener(&address);
    tn_fibre *f;
    atomic_store_explicit(&served, 0, memory_order_relaxed); /* no fibre is about */
    if (tn_spawn(&f, &(struct tn_attr){.cluster = cluster}, listens, (void *)(intptr_t)listening) != 0)
        bench_die(bench, BENCH_INTERNAL, "no memory for a fibre");
    double used = load(&address, rate);
    while (atomic_load_explicit(&served, memory_order_acquire) != connections) /* S0 */
        usleep(100);
    tn_close(listening);
    tn_join(f, NULL);
    return used;
}

static void generator(void)
{
    for (int rep = 0; rep < bench_reps(bench); rep++) {
        double used[2] = {0}, rate[2] = {0};
        for (int i = 0; i < 2; i++) /* in turns: which of them is first changes */
            if ((i + rep) % 2 == 0)
                used[0] = load_fibres(&rate[0]);
            else
                used[1] = load_loop(&rate[1]);
        bench_sample(bench, "cpu", "ns", used[0], rep);
        bench_sample(bench, "cpu_loop", "ns", used[1], rep);
        bench_sample(bench, "cpu_ratio", "1", used[0] / used[1], rep);
        bench_sample(bench, "throughput", "1/s", rate[0], rep);
        bench_sample(bench, "throughput_loop", "1/s", rate[1], rep);
    }
}

static void *first(void *arg)
{
    cluster = tn_cluster_self();
    bench_tenter_outside(bench, generator);
    return arg;
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"workers", BENCH_INT, "1", 1, 64, NULL, "threads", "of the fibres; the loop has one thread", NULL, 0, 0,
         false},
        {"connections", BENCH_INT, "64", 1, CONNECTIONS_MAX, NULL, "", "that stay", NULL, 0, 0, false},
        {"depth", BENCH_INT, "1", 1, DEPTH_MAX, NULL, "", "requests under way on each connection", NULL, 0, 0, false},
        {"requests", BENCH_INT, "40000", 1, 1e9, NULL, "", "of a repetition, for each server; a round at least", NULL,
         0, 0, false},
    };
    static struct bench b = {
        .program = "requests",
        .about = "requests of HTTP/1.1 to a server of fibres, and to a bare loop around epoll_wait",
        .clock = "cpu: processor time of all threads but the generator's, from the first request to "
                 "the last answer, for each request",
        .takes = BENCH_TAKES_SCHEDULER,
        .own = own,
        .n = sizeof own / sizeof *own};
    bench = &b;
    bench_start(&b, argc, argv);
    connections = bench_int(&b, "connections");
    depth = bench_int(&b, "depth");
    rounds = bench_int(&b, "requests") / (connections * depth);
    rounds = rounds < 1 ? 1 : rounds;
    for (int i = 0; i < ANSWERS; i++)
        memcpy(answers + i * ANSWER_SIZE, ANSWER, ANSWER_SIZE);
    bench_tenter_run(&b, "", first, NULL);
    return bench_finish(&b);
}
