/* SPDX-License-Identifier: MIT
 *
 * Front-end: a thread of the system for each connection. --workers is how many processors they may use.
 */
#include "server.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define STACK 65536

static uint64_t patience;
static pthread_attr_t attr;

/* Under `lock`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t none_left = PTHREAD_COND_INITIALIZER;
static struct connections live = TAILQ_HEAD_INITIALIZER(live);
static bool ending;

/* Is the call to be made again: it was interrupted, or its time was over, and the client is still taking what was sent? */
static bool again(struct connection *c, ssize_t n)
{
    if (n >= 0 || (errno != EINTR && errno != EAGAIN))
        return false;
    int err = errno;
    bool so = err == EINTR || server_takes(c, server_now());
    errno = err;
    return so;
}

ssize_t front_send(struct connection *c, const void *from, size_t n, int flags)
{
    ssize_t sent;
    while (again(c, sent = send(c->fd, from, n, flags)))
        ;
    return sent;
}

ssize_t front_sendfile(struct connection *c)
{
    ssize_t sent;
    while (again(c, sent = sendfile(c->fd, c->out.file, &c->out.at, server_some(c))))
        ;
    return sent;
}

bool front_passes(void)
{
    return true; /* the system sees to it */
}

void front_close(int fd)
{
    close(fd);
}

/* The descriptor's own time-out is for silence; a trickle is found here, so it may take twice the time. */
static ssize_t receives(struct connection *c)
{
    ssize_t n;
    while (again(c, n = recv(c->fd, c->in + c->have, SERVICE_ROOM - c->have, 0)))
        ;
    if ((n < 0 && errno == EAGAIN) || (n > 0 && server_now() - server_since(c) > patience)) {
        server_count(&server_totals->silent, 1);
        return -1;
    }
    return n;
}

static void *serves(void *arg)
{
    struct connection *c = arg;
    ssize_t n;
    bool sent = true;
    while (sent && c->ends == 0 && (n = receives(c)) > 0)
        sent = server_serves(c, (size_t)n);
    if (!sent && errno == EAGAIN)
        server_count(&server_totals->silent, 1);
    if (sent && c->ends == SERVICE_ERROR) {
        shutdown(c->fd, SHUT_WR);
        while (receives(c) > 0)
            ;
    }
    pthread_mutex_lock(&lock);
    TAILQ_REMOVE(&live, c, others);
    server_closed(
        c); /* under the lock: its number must not be another's when run shuts down all that are in the list */
    if (TAILQ_EMPTY(&live))
        pthread_cond_signal(&none_left);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void begins(int fd)
{
    struct timeval limit = {.tv_sec = (time_t)(patience / 1000000000u),
                            .tv_usec = (suseconds_t)(patience / 1000 % 1000000)};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    struct connection *c = server_accepted(fd);
    pthread_t thread;
    if (c == NULL)
        return;
    pthread_mutex_lock(&lock);
    TAILQ_INSERT_TAIL(&live, c, others);
    pthread_mutex_unlock(&lock);
    if (pthread_create(&thread, &attr, serves, c) != 0) {
        server_count(&server_totals->refused, 1);
        pthread_mutex_lock(&lock);
        TAILQ_REMOVE(&live, c, others);
        server_closed(c);
        pthread_mutex_unlock(&lock);
    }
}

static bool is_ending(void)
{
    pthread_mutex_lock(&lock);
    bool is = ending;
    pthread_mutex_unlock(&lock);
    return is;
}

static void *listens(void *listener)
{
    while (!is_ending()) {
        int fd = accept4((int)(intptr_t)listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            begins(fd);
        else if (server_shortage(errno))
            nanosleep(&(struct timespec){.tv_nsec = 10000000},
                      NULL); /* someone may go; the others wait in the backlog */
    }
    return NULL;
}

static void run(struct bench *b)
{
    int listener, signal;
    pthread_t acceptor;
    sigset_t ends;
    struct connection *c;
    if (bench_int(b, "pin"))
        bench_die(b, BENCH_UNSUPPORTED,
                  "--pin: a thread a connection has no workers to pin; --workers confines all of them");
    bench_binary_peer(b, "pthread", gnu_get_libc_version(),
                      "\"stack\": 65536, \"differs\": \"a thread a connection\"");
    bench_confine((unsigned)bench_int(b, "workers"));
    patience = server_patience(b);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    server_open(b, &listener, 1);
    if (pthread_create(&acceptor, NULL, listens, (void *)(intptr_t)listener) != 0)
        bench_die(b, BENCH_INTERNAL, "no thread");
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigwait(&ends, &signal);
    pthread_mutex_lock(&lock);
    ending = true;
    pthread_mutex_unlock(&lock);
    shutdown(listener, SHUT_RDWR);
    pthread_join(acceptor, NULL);
    close(listener);
    pthread_mutex_lock(&lock);
    TAILQ_FOREACH(c, &live, others)
    shutdown(c->fd, SHUT_RDWR);
    while (!TAILQ_EMPTY(&live))
        pthread_cond_wait(&none_left, &lock);
    pthread_mutex_unlock(&lock);
}

const struct front front = {.suffix = "-pthread", .about = "a thread a connection", .run = run};
