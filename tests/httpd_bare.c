/* SPDX-License-Identifier: MIT
 *
 * The yardstick of the web servers: the least that answers GET /plaintext, kept alive and pipelined, by one loop around
 * epoll_wait. With its options and its end as the others have them, since loadgen starts it as it does these.
 */
#include "httpd_bare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { EVENTS = 64 };

static void accepts(int events, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct bare *c = fd >= 0 ? bare_accepted(fd) : NULL;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (c == NULL || epoll_ctl(events, EPOLL_CTL_ADD, fd, &event) != 0) {
        free(c);
        if (fd >= 0)
            close(fd);
    }
}

/* False: that was its end. */
static bool serves(struct bare *c)
{
    ssize_t n = recv(c->fd, c->text + c->have, BARE_ROOM - c->have, 0);
    if (n <= 0)
        return n < 0 && errno == EAGAIN;
    size_t due = bare_due(c, (size_t)n);
    return c->have < BARE_ROOM && (due == 0 || send(c->fd, bare_answers, due, MSG_NOSIGNAL) == (ssize_t)due);
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = BARE_OPTIONS("loops");
    static struct bench b = {.program = "httpd-bare",
                             .about = "the barest server of one text, until SIGTERM",
                             .clock = "none: a generator measures it",
                             .own = own,
                             .n = sizeof own / sizeof *own};
    struct bench_addresses where;
    struct epoll_event some[EVENTS];
    int listener;
    struct utsname system;
    bench_start(&b, argc, argv);
    uname(&system);
    bench_binary_peer(&b, "epoll", system.release, "\"differs\": \"the barest loop\"");
    int signals = bare_open(0);
    bench_resolve(&b, "address", bench_text(&b, "address"), (int)bench_int(&b, "port"), &where);
    bench_listen(&b, &where, &listener, 1);
    fcntl(listener, F_SETFL, O_NONBLOCK); /* who has come may be gone */
    int events = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(events, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN, .data.ptr = &listener});
    epoll_ctl(events, EPOLL_CTL_ADD, signals, &(struct epoll_event){.events = EPOLLIN, .data.ptr = &signals});
    for (bool ending = false; !ending;) {
        int n = epoll_wait(events, some, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            struct bare *c = some[i].data.ptr;
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
    bare_record(&b);
    return bench_finish(&b);
}
