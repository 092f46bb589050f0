/* SPDX-License-Identifier: MIT
 *
 * The yardstick of the web servers: the least that answers GET /plaintext, kept alive and pipelined, by one loop around
 * epoll_wait. It parses nothing: each blank line is answered by one text, and a client that misbehaves is closed on. With its
 * options and its end as the others have them, since loadgen starts it as it does these.
 */
#include "../experiments/workloads/bench_address.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#define ANSWER \
    "HTTP/1.1 200 OK\r\nServer: tenter\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, world!"
enum { SIZE = sizeof ANSWER - 1, ROOM = 8192, AT_ONCE = ROOM / 4, EVENTS = 64 };

struct connection {
    int fd;
    size_t have;
    char text[ROOM];
};

static char answers[AT_ONCE * SIZE];
static uint64_t requests, connections;

static void accepts(int events, int listener)
{
    int one = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct connection *c = fd >= 0 ? malloc(sizeof *c) : NULL;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (c == NULL || epoll_ctl(events, EPOLL_CTL_ADD, fd, &event) != 0) {
        free(c);
        if (fd >= 0)
            close(fd);
        return;
    }
    c->fd = fd;
    c->have = 0;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    connections++;
}

/* False: that was its end. */
static bool serves(struct connection *c)
{
    ssize_t n = recv(c->fd, c->text + c->have, ROOM - c->have, 0);
    if (n <= 0)
        return n < 0 && errno == EAGAIN;
    c->have += (size_t)n;
    char *at = c->text, *end = c->text + c->have, *over;
    size_t due = 0;
    for (; (over = memmem(at, (size_t)(end - at), "\r\n\r\n", 4)) != NULL; at = over + 4)
        due++;
    c->have = (size_t)(end - at);
    if (c->have != 0 && due != 0)
        memmove(c->text, at, c->have);
    requests += due;
    return c->have < ROOM && (due == 0 || send(c->fd, answers, due * SIZE, MSG_NOSIGNAL) == (ssize_t)(due * SIZE));
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"workers", BENCH_INT, "1", 1, 1, NULL, "", "loops", NULL, 0, 0, false},
        BENCH_ADDRESS_OPTION,
        {"port", BENCH_INT, "0", 0, 65535, NULL, "", "to listen at; 0: one that is free", NULL, 0, 0, false}};
    static struct bench b = {.program = "httpd-bare",
                             .about = "the barest server of one text, until SIGTERM",
                             .clock = "none: a generator measures it",
                             .own = own,
                             .n = sizeof own / sizeof *own};
    struct bench_addresses where;
    struct epoll_event some[EVENTS];
    int listener;
    struct rlimit files;
    struct utsname system;
    sigset_t ends;
    bench_start(&b, argc, argv);
    uname(&system);
    bench_binary_peer(&b, "epoll", system.release, "\"differs\": \"the barest loop\"");
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    for (int i = 0; i < AT_ONCE; i++)
        memcpy(answers + i * SIZE, ANSWER, SIZE);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    bench_resolve(&b, "address", bench_text(&b, "address"), (int)bench_int(&b, "port"), &where);
    bench_listen(&b, &where, &listener, 1);
    fcntl(listener, F_SETFL, O_NONBLOCK); /* who has come may be gone */
    int events = epoll_create1(EPOLL_CLOEXEC), signals = signalfd(-1, &ends, SFD_CLOEXEC);
    epoll_ctl(events, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN, .data.ptr = &listener});
    epoll_ctl(events, EPOLL_CTL_ADD, signals, &(struct epoll_event){.events = EPOLLIN, .data.ptr = &signals});
    for (bool ending = false; !ending;) {
        int n = epoll_wait(events, some, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            struct connection *c = some[i].data.ptr;
            if (some[i].data.ptr == &listener) {
                accepts(events, listener);
            } else if (some[i].data.ptr == &signals) {
                ending = true;
            } else if (!serves(c)) {
                close(c->fd);
                free(c);
            }
        }
    }
    bench_sample(&b, "requests", "1", (double)requests, (int)bench_int(&b, "warmup"));
    bench_sample(&b, "connections", "1", (double)connections, (int)bench_int(&b, "warmup"));
    return bench_finish(&b);
}
