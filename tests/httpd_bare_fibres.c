/* SPDX-License-Identifier: MIT
 *
 * What is held against the yardstick: the same by fibres, one for each connection. What it costs more is the price of the
 * runtime and its poller, and of nothing else. On one worker.
 */
#include "httpd_bare.h"

#include "../experiments/workloads/bench_tenter.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <tenter_io.h>

static struct bench *bench;

static void *serves(void *arg)
{
    struct bare *c = arg;
    ssize_t n;
    while ((n = tn_recv(c->fd, c->text + c->have, BARE_ROOM - c->have, 0)) > 0) {
        size_t due = bare_due(c, (size_t)n);
        if (c->have == BARE_ROOM || (due != 0 && tn_send(c->fd, bare_answers, due, MSG_NOSIGNAL) != (ssize_t)due))
            break;
    }
    tn_close(c->fd);
    free(c);
    return NULL;
}

static void *listens(void *listener)
{
    for (int fd; (fd = tn_accept((int)(intptr_t)listener, NULL, NULL)) >= 0;) {
        struct bare *c = bare_accepted(fd);
        if (c == NULL || tn_spawn(NULL, NULL, serves, c) != 0) {
            free(c);
            tn_close(fd);
        }
    }
    if (errno == ENOSYS)
        bench_die(bench, BENCH_UNSUPPORTED, "a build with -Dpoller=null has no input and output");
    return NULL;
}

static void *first(void *signals)
{
    struct signalfd_siginfo signal;
    struct bench_addresses where;
    tn_fibre *acceptor;
    int listener;
    bench_resolve(bench, "address", bench_text(bench, "address"), (int)bench_int(bench, "port"), &where);
    bench_listen(bench, &where, &listener, 1);
    if (tn_spawn(&acceptor, NULL, listens, (void *)(intptr_t)listener) != 0)
        bench_die(bench, BENCH_INTERNAL, "no memory for a fibre");
    tn_read((int)(intptr_t)signals, &signal, sizeof signal);
    tn_close(listener);
    tn_join(acceptor, NULL);
    return NULL; /* who still waits for a request goes with the runtime */
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = BARE_OPTIONS("that run fibres");
    static struct bench b = {.program = "httpd-bare-fibres",
                             .about = "the barest server of one text, by fibres, until SIGTERM",
                             .clock = "none: a generator measures it",
                             .takes = BENCH_TAKES_SCHEDULER,
                             .own = own,
                             .n = sizeof own / sizeof *own};
    bench = &b;
    bench_start(&b, argc, argv);
    bench_tenter_run(&b, "", first, (void *)(intptr_t)bare_open(SFD_NONBLOCK));
    bare_record(&b);
    return bench_finish(&b);
}
