/* SPDX-License-Identifier: MIT
 *
 * Front-end: a fibre for each connection.
 *
 * No call has a deadline: a timer for each would cost a tenth of a request. One more fibre looks over all connections some
 * times within --patience, and shuts down those that have made no progress, which wakes theirs. So do all end when the server
 * does: as members of a group (tenter_group.h) they could be cancelled, but then each of their waits is entered there and taken
 * out again, under the group's lock.
 */
#include "server.h"

#include "../workloads/bench_tenter.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <tenter_io.h>
#include <tenter_sync.h>
#include <unistd.h>

static struct bench *bench;
static tn_time patience;
static tn_latch serving = TN_LATCH_INIT(0); /* fibres that have a connection */
static tn_token ending;
static int mutex_design;

static tn_mutex lock = TN_MUTEX_INIT;
static struct connections live =
    TAILQ_HEAD_INITIALIZER(live); /* under the lock; who has been shut down is not in it */

ssize_t front_send(struct connection *c, const void *from, size_t n, int flags)
{
    return tn_send(c->fd, from, n, flags);
}

ssize_t front_sendfile(struct connection *c)
{
    return tn_sendfile(c->fd, c->out.file, &c->out.at, server_some(c));
}

bool front_passes(void)
{
    tn_yield();
    return true;
}

void front_close(int fd)
{
    tn_close(fd);
}

static ssize_t receives(struct connection *c)
{
    return tn_recv(c->fd, c->in + c->have, SERVICE_ROOM - c->have, 0);
}

/* Out of the list, in which `tqe_prev` says that it is. */
static void leaves(struct connection *c)
{
    if (c->others.tqe_prev != NULL)
        TAILQ_REMOVE(&live, c, others);
    c->others.tqe_prev = NULL;
}

/* Its fibre finds that it is over. With the lock. */
static void shuts(struct connection *c)
{
    leaves(c);
    tn_shutdown(c->fd, SHUT_RDWR);
}

static void *looks_over(void *arg)
{
    while (tn_sleep_until(tn_now() + patience / 4, &ending) == 0) {
        struct connection *c, *next;
        uint64_t now = server_now();
        tn_mutex_lock(&lock);
        for (c = TAILQ_FIRST(&live); c != NULL; c = next) {
            next = TAILQ_NEXT(c, others);
            if (server_since(c) + (uint64_t)patience <= now && !server_takes(c, now)) {
                server_count(&server_totals->silent, 1);
                shuts(c);
            }
        }
        tn_mutex_unlock(&lock);
    }
    return arg;
}

static void *serves(void *arg)
{
    struct connection *c = arg;
    ssize_t n;
    bool sent = true;
    while (sent && c->ends == 0 && (n = receives(c)) > 0)
        sent = server_serves(c, (size_t)n);
    if (sent && c->ends == SERVICE_ERROR) {
        tn_shutdown(c->fd, SHUT_WR);
        while (receives(c) > 0)
            ;
    }
    tn_mutex_lock(&lock);
    leaves(c);
    tn_mutex_unlock(&lock);
    server_closed(c);
    tn_latch_down(&serving, 1);
    return NULL;
}

static void begins(struct connection *c)
{
    tn_mutex_lock(&lock);
    TAILQ_INSERT_TAIL(&live, c, others);
    tn_mutex_unlock(&lock);
    tn_latch_up(&serving, 1);
    if (tn_spawn(NULL, NULL, serves, c) != 0) {
        tn_latch_down(&serving, 1);
        server_count(&server_totals->refused, 1);
        tn_mutex_lock(&lock);
        leaves(c);
        tn_mutex_unlock(&lock);
        server_closed(c);
    }
}

static void *listens(void *listener)
{
    for (int fd; (fd = tn_accept((int)(intptr_t)listener, NULL, NULL)) >= 0;) {
        struct connection *c = server_accepted(fd);
        if (c != NULL)
            begins(c);
    }
    if (errno == ENOSYS)
        bench_die(bench, BENCH_UNSUPPORTED, "a build with -Dpoller=null has no input and output");
    return NULL;
}

static void *first(void *arg)
{
    sigset_t ends;
    struct signalfd_siginfo signal;
    tn_fibre *acceptor, *watcher;
    struct connection *c;
    int listener;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    int signals = signalfd(-1, &ends, SFD_NONBLOCK | SFD_CLOEXEC);
    server_open(bench, &listener, 1);
    tn_token_init(&ending);
    bench_tenter_counters_start();
    if (signals < 0 || tn_spawn(&acceptor, NULL, listens, (void *)(intptr_t)listener) != 0 ||
        tn_spawn(&watcher, NULL, looks_over, NULL) != 0)
        bench_die(bench, BENCH_INTERNAL, "no memory");
    tn_read(signals, &signal, sizeof signal);
    tn_close(listener);
    tn_join(acceptor, NULL);
    tn_token_fire(&ending);
    tn_join(watcher, NULL);
    tn_mutex_lock(&lock);
    while ((c = TAILQ_FIRST(&live)) != NULL)
        shuts(c);
    tn_mutex_unlock(&lock);
    tn_latch_wait(&serving);
    tn_close(signals);
    bench_tenter_counters_stop(bench);
    return arg;
}

static void run(struct bench *b)
{
    bench = b;
    patience = (tn_time)server_patience(b);
    mutex_design = (int)bench_int(b, "mutex");
    bench_tenter_run(b, "", first, NULL);
}

/* ---- locks ---- */

struct service_lock {
    tn_mutex mutex;
};

struct service_lock *service_lock_new(void)
{
    struct service_lock *l = malloc(sizeof *l);
    if (l != NULL)
        tn_mutex_init(&l->mutex, &(struct tn_mutex_attr){.design = mutex_design});
    return l;
}

void service_lock_free(struct service_lock *l)
{
    free(l);
}

void service_lock(struct service_lock *l)
{
    tn_mutex_lock(&l->mutex);
}

void service_unlock(struct service_lock *l)
{
    tn_mutex_unlock(&l->mutex);
}

static const struct bench_option own[] = {
    {"mutex", BENCH_CHOICE, "default", 0, 0, "default|spin|spin-block|block|fair|baton", "",
     "design of the service's locks, in the order of TN_MUTEX_*", NULL, 0, 0, false},
};

const struct front front = {.suffix = "",
                            .about = "a fibre a connection",
                            .takes = BENCH_TAKES_SCHEDULER,
                            .own = own,
                            .n = sizeof own / sizeof *own,
                            .run = run};
