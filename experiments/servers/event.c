/* SPDX-License-Identifier: MIT
 *
 * Front-end: loops around epoll_wait, --workers of them, each a thread. With --copies each is a process, with a listening
 * socket and a service of its own (N-copy, 000 §4.4): they share nothing, and the kernel shares connections out.
 *
 * Level-triggered: a connection is looked at for reading, or, while an answer does not go out, for writing and nothing else,
 * so that who does not read is not read from. Connections stand in a list in the order of their last progress, of which the
 * first are held against --patience.
 */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENTS = 64, SHORTAGE = 10000000 /* ns until accept is tried again */ };

struct loop {
    struct bench *bench;
    int number, events, listener, signals;
    bool ends;
    uint64_t now;
    uint64_t accepts; /* there was a shortage: when to try again; 0: there was none */
    struct connections live;
};

static uint64_t patience;

ssize_t front_send(struct connection *c, const void *from, size_t n, int flags)
{
    return send(c->fd, from, n, flags);
}

ssize_t front_sendfile(struct connection *c)
{
    return sendfile(c->fd, c->out.file, &c->out.at, server_some(c));
}

bool front_passes(void)
{
    errno = EAGAIN;
    return false;
}

void front_close(int fd)
{
    close(fd);
}

static bool watch(struct loop *l, int how, int fd, uint32_t events, void *what)
{
    struct epoll_event event = {.events = events, .data.ptr = what};
    return epoll_ctl(l->events, how, fd, &event) == 0;
}

static void end_of(struct loop *l, struct connection *c)
{
    TAILQ_REMOVE(&l->live, c, others);
    server_closed(c); /* its descriptor leaves the events with it */
}

static void must_watch(struct loop *l, int how, int fd, uint32_t events, void *what)
{
    if (!watch(l, how, fd, events, what))
        bench_die(l->bench, BENCH_INTERNAL, "epoll_ctl: %s", strerror(errno));
}

/* One connection each time: the others' loops get some, too. */
static void accepts(struct loop *l)
{
    int fd = accept4(l->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (server_shortage(errno)) {
            must_watch(l, EPOLL_CTL_DEL, l->listener, 0, NULL);
            l->accepts = l->now + SHORTAGE;
        }
        return;
    }
    struct connection *c = server_accepted(fd);
    if (c == NULL)
        return;
    TAILQ_INSERT_TAIL(&l->live, c, others);
    if (!watch(l, EPOLL_CTL_ADD, fd, EPOLLIN, c)) {
        server_count(&server_totals->refused, 1);
        end_of(l, c);
    }
}

/* Feed n bytes, and look for writing as long as not all has gone out. */
static void serves(struct loop *l, struct connection *c, size_t n, bool writing)
{
    uint64_t since = server_since(c);
    bool done = server_serves(c, n);
    if (!done && errno != EAGAIN && errno != EINTR) {
        end_of(l, c);
        return;
    }
    if (done && c->ends == SERVICE_CLOSE) {
        end_of(l, c);
        return;
    }
    if (done && c->ends == SERVICE_ERROR)
        shutdown(c->fd, SHUT_WR);
    if (done == writing)
        must_watch(l, EPOLL_CTL_MOD, c->fd, done ? EPOLLIN : EPOLLOUT, c);
    if (server_since(c) != since && TAILQ_NEXT(c, others) != NULL) {
        TAILQ_REMOVE(&l->live, c, others);
        TAILQ_INSERT_TAIL(&l->live, c, others);
    }
}

static void event_of(struct loop *l, struct connection *c, uint32_t events)
{
    if ((events & EPOLLOUT) != 0) {
        serves(l, c, 0, true);
        return;
    }
    ssize_t n = recv(c->fd, c->in + c->have, SERVICE_ROOM - c->have, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        end_of(l, c);
    else if (c->ends == 0) /* else it is let pass */
        serves(l, c, (size_t)n, false);
}

static void ends_silent(struct loop *l)
{
    struct connection *c;
    while ((c = TAILQ_FIRST(&l->live)) != NULL && server_since(c) + patience <= l->now) {
        if (server_takes(c, l->now)) {
            TAILQ_REMOVE(&l->live, c, others);
            TAILQ_INSERT_TAIL(&l->live, c, others);
            continue;
        }
        server_count(&server_totals->silent, 1);
        end_of(l, c);
    }
}

/* Milliseconds until something is to be done, -1: there is nothing. */
static int sleeps(const struct loop *l)
{
    struct connection *c = TAILQ_FIRST(&l->live);
    uint64_t at = c != NULL ? server_since(c) + patience : UINT64_MAX;
    at = l->accepts != 0 && l->accepts < at ? l->accepts : at;
    return at == UINT64_MAX ? -1 : at <= l->now ? 0 : (int)((at - l->now) / 1000000 + 1);
}

static void turn(struct loop *l)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(l->events, events, EVENTS, sleeps(l));
    l->now = server_now();
    for (int i = 0; i < n; i++) {
        void *what = events[i].data.ptr;
        if (what == &l->listener)
            accepts(l);
        else if (what == &l->signals)
            l->ends = true; /* it is not read: it is for all loops */
        else
            event_of(l, what, events[i].events);
    }
    ends_silent(l);
    if (l->accepts != 0 && l->accepts <= l->now) {
        l->accepts = 0;
        must_watch(l, EPOLL_CTL_ADD, l->listener, EPOLLIN, &l->listener);
    }
}

/* Its descriptors, before connections can have taken them all. */
static void prepare(struct loop *l)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    TAILQ_INIT(&l->live);
    l->signals = signalfd(-1, &ends, SFD_NONBLOCK | SFD_CLOEXEC);
    l->events = epoll_create1(EPOLL_CLOEXEC);
    if (l->signals < 0 || l->events < 0)
        bench_die(l->bench, BENCH_INTERNAL, "no descriptors: %s", strerror(errno));
}

static void *loop(void *arg)
{
    struct loop *l = arg;
    struct connection *c;
    if (bench_int(l->bench, "pin"))
        bench_pin((unsigned)l->number);
    must_watch(l, EPOLL_CTL_ADD, l->signals, EPOLLIN, &l->signals);
    must_watch(l, EPOLL_CTL_ADD, l->listener, EPOLLIN | EPOLLEXCLUSIVE, &l->listener);
    for (l->now = server_now(); !l->ends;)
        turn(l);
    while ((c = TAILQ_FIRST(&l->live)) != NULL)
        end_of(l, c);
    close(l->events);
    close(l->signals);
    return NULL;
}

/* Each loop a process; the parent hands on the signal that ends them. */
static void copies(struct bench *b, struct loop *loops, int n)
{
    pid_t *children = calloc((size_t)n, sizeof *children), parent = getpid();
    sigset_t ends;
    int signal;
    struct sigaction quiet = {.sa_handler = SIG_DFL,
                              .sa_flags = SA_NOCLDSTOP}; /* who is only stopped has not ended */
    if (children == NULL)
        bench_die(b, BENCH_INTERNAL, "no memory");
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    sigaction(SIGCHLD, &quiet, NULL);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    for (int i = 0; i < n; i++) {
        children[i] = fork();
        if (children[i] < 0)
            bench_die(b, BENCH_INTERNAL, "fork: %s", strerror(errno));
        if (children[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            prepare(&loops[i]);
            if (getppid() == parent)
                loop(&loops[i]);
            _exit(0);
        }
    }
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigwait(&ends, &signal);
    if (signal == SIGCHLD)
        bench_die(b, BENCH_INTERNAL, "a copy has ended");
    for (int i = 0; i < n; i++)
        kill(children[i], SIGTERM);
    for (int i = 0; i < n; i++)
        waitpid(children[i], NULL, 0);
    free(children);
}

static void threads(struct bench *b, struct loop *loops, int n)
{
    pthread_t *all = calloc((size_t)n, sizeof *all);
    for (int i = 0; i < n; i++)
        prepare(&loops[i]);
    for (int i = 0; i < n; i++)
        if (all == NULL || pthread_create(&all[i], NULL, loop, &loops[i]) != 0)
            bench_die(b, BENCH_INTERNAL, "no thread for a loop");
    for (int i = 0; i < n; i++)
        pthread_join(all[i], NULL);
    free(all);
}

static void run(struct bench *b)
{
    int n = (int)bench_int(b, "workers");
    bool apart = bench_int(b, "copies") != 0;
    struct loop *loops = calloc((size_t)n, sizeof *loops);
    int *listeners = calloc((size_t)n, sizeof *listeners);
    struct utsname system;
    if (loops == NULL || listeners == NULL || uname(&system) != 0)
        bench_die(b, BENCH_INTERNAL, "no memory");
    bench_binary_peer(b, "epoll", system.release,
                      apart ? "\"differs\": \"loops, each a process\"" : "\"differs\": \"loops, each a thread\"");
    patience = server_patience(b);
    server_open(b, listeners, apart ? n : 1);
    for (int i = 0; i < (apart ? n : 1); i++) /* two loops may be told of one connection */
        if (fcntl(listeners[i], F_SETFL, O_NONBLOCK) != 0)
            bench_die(b, BENCH_INTERNAL, "fcntl: %s", strerror(errno));
    for (int i = 0; i < n; i++)
        loops[i] = (struct loop){.bench = b, .number = i, .listener = listeners[apart ? i : 0]};
    if (apart)
        copies(b, loops, n);
    else
        threads(b, loops, n);
    for (int i = 0; i < (apart ? n : 1); i++)
        close(listeners[i]);
    free(listeners);
    free(loops);
}

static const struct bench_option own[] = {
    {"copies", BENCH_FLAG, NULL, 0, 1, NULL, "", "each loop is a process, with a listening socket of its own", NULL,
     0, 0, false},
};

const struct front front = {
    .suffix = "-event", .about = "by loops around epoll_wait", .own = own, .n = sizeof own / sizeof *own, .run = run};
