/* SPDX-License-Identifier: MIT
 *
 * A thread of the generator: a loop around epoll over its share of the connections.
 *
 * Closed load: each connection has --depth requests under way, and the next one is due when one is answered. Open load:
 * requests become due by a clock of the thread's, each at some connection; where --depth of that are under way they wait. Latency
 * is from when a request was due, so that it has in it what the server, the connection or this loop made it wait. A request that
 * is given up after --timeout counts as that long.
 */
#include "loadgen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 128, INPUT = 65536, WAIT_AT_MOST = 1 << 20, TICK = 50000000 };

struct conn {
    int fd, number; /* fd -1: it is closed */
    int begun;      /* requests, since it was opened */
    int result;     /* of an answer of which `skip` bytes are to come */
    size_t skip;
    struct request *ring; /* `flying` from `head` have been asked, `waiting` after them not */
    unsigned room, head, flying, waiting;
    struct buffer out, in; /* in: the beginning of an answer */
    size_t sent;
};

struct loop {
    struct thread *t;
    int events, n;
    struct conn *all;
    uint64_t now, outstanding;
    bool gone; /* the server */
    char input[INPUT];
};

/* ---- sockets ---- */

bool connection_within(void)
{
    return load.to.any.sa_family == AF_INET && ntohl(load.to.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* How a connection that is being made ends, after --timeout at the latest: 0, or an error. */
static int outcome(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    uint64_t now, until = bench_now() + (uint64_t)(load.timeout * 1e9);
    int error = ETIMEDOUT, n, left;
    do {
        left = (now = bench_now()) < until ? (int)((until - now) / 1000000) + 1 : 0;
        n = poll(&p, 1, left);
    } while (n < 0 ? errno == EINTR : n == 0 && left > 0); /* who was stopped looks once more */
    if (n > 0)
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof error});
    return n < 0 ? errno : error;
}

/* False: errno says why. */
static bool connects(int fd, bool waits)
{
    if (connect(fd, &load.to.any, load.to.size) != 0 &&
        (errno != EINPROGRESS || (waits && (errno = outcome(fd)) != 0)))
        return false;
    return !waits || fcntl(fd, F_SETFL, 0) == 0;
}

int connection_open(int number, bool waits)
{
    int one = 1, addresses = connection_within() ? 250 : 1;
    for (int i = 0; i < addresses; i++) {
        int address = (number + i) % (load.addresses > i ? load.addresses : i + 1);
        int fd = socket(load.to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            return -1;
        if (address != 0) {
            struct sockaddr_in from = {.sin_family = AF_INET,
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)address)};
            setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
            bind(fd, (struct sockaddr *)&from, sizeof from);
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (connects(fd, waits))
            return fd;
        int error = errno;
        close(fd);
        errno = error;
        if (error != EADDRNOTAVAIL) /* that one has no port left: another address has */
            return -1;
    }
    return -1;
}

/* What this machine has not got is no fault of the server's. */
static _Noreturn void cannot(int number, int error)
{
    char to[BENCH_ADDRESS_TEXT];
    bool lacks = error == EMFILE || error == ENFILE || error == EADDRNOTAVAIL || error == EAFNOSUPPORT;
    bench_die(load.b, lacks ? BENCH_UNSUPPORTED : BENCH_INTERNAL, "connection %d of %d to %s: %s%s", number + 1,
              load.connections, bench_address_text(&load.to, to), bench_address_wrong(&load.to, false, error),
              error == EMFILE ? ": raise what `ulimit -Hn` says, or take fewer --connections" : "");
}

/* False: the server is gone. Where there has been none, and nothing is measured, that ends the process. */
static bool opens(struct loop *l, struct conn *c, bool waits)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLOUT | EPOLLET, .data.ptr = c};
    c->fd = connection_open(c->number, waits);
    if (c->fd < 0 && (errno == ECONNREFUSED || errno == ETIMEDOUT || errno == EHOSTUNREACH || errno == ENETUNREACH) &&
        (!waits || load.b->filled > 0 || bench_given(load.b, "server"))) {
        l->gone = true;
        return false;
    }
    if (c->fd < 0 || epoll_ctl(l->events, EPOLL_CTL_ADD, c->fd, &event) != 0)
        cannot(c->number, errno);
    c->begun = 0;
    return true;
}

/* Close it; what is under way there is lost. */
static void closes(struct loop *l, struct conn *c)
{
    l->outstanding -= c->flying;
    c->head = (c->head + c->flying) % (c->room != 0 ? c->room : 1);
    c->flying = 0;
    c->skip = c->sent = c->out.size = c->in.size = 0;
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

/* ---- requests ---- */

static void push(struct loop *l, struct conn *c, uint64_t due)
{
    if (c->flying + c->waiting == c->room) {
        unsigned room = c->room == 0 ? 4 : 2 * c->room;
        struct request *ring = malloc(room * sizeof *ring);
        if (ring == NULL)
            bench_die(load.b, BENCH_INTERNAL, "no memory");
        for (unsigned i = 0; i < c->room; i++)
            ring[i] = c->ring[(c->head + i) % c->room];
        free(c->ring);
        c->ring = ring;
        c->head = 0;
        c->room = room;
    }
    struct request *r = &c->ring[(c->head + c->flying + c->waiting++) % c->room];
    *r = (struct request){.due = due};
    if (load.memcached) {
        r->key = chance_pick(&l->t->seed, load.of_keys, (uint32_t)load.keys);
        r->write = load.writes > 0 && (double)(bench_random(&l->t->seed) >> 11) * 0x1p-53 < load.writes;
    }
    l->outstanding++;
}

/* False: the connection is no more. */
static bool flush(struct conn *c)
{
    while (c->sent < c->out.size) {
        ssize_t n = send(c->fd, c->out.text + c->sent, c->out.size - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        c->sent += (size_t)n;
    }
    c->sent = c->out.size = 0;
    return true;
}

static void refill(struct loop *l, struct conn *c)
{
    unsigned want = load.rate > 0 || l->now >= l->t->end ? 0 : (unsigned)load.depth;
    while (c->flying + c->waiting < want)
        push(l, c, l->now);
}

static void broken(struct loop *l, struct conn *c)
{
    if (errno == ECONNREFUSED)
        l->gone = true;
    l->t->errors += c->flying;
    l->t->reconnects++;
    closes(l, c);
}

/* Ask all that may be asked now. */
static void pump(struct loop *l, struct conn *c)
{
    for (int tries = 0; tries < 3 && !l->gone; tries++) {
        refill(l, c);
        if (load.per_connection != 0 && c->begun == load.per_connection && c->flying == 0 && c->fd >= 0)
            closes(l, c);
        if (c->waiting == 0)
            return;
        if (c->fd < 0 && !opens(l, c, false))
            return;
        while (c->waiting > 0 && c->flying < (unsigned)load.depth &&
               (load.per_connection == 0 || c->begun < load.per_connection)) {
            const struct request *r = &c->ring[(c->head + c->flying) % c->room];
            c->begun++;
            text_ask(&c->out, r, c->begun == load.per_connection);
            c->flying++;
            c->waiting--;
            l->t->begun++;
            if (load.rate > 0)
                hdr_record_n(l->t->late, l->now - r->due, 1);
        }
        if (flush(c))
            return;
        broken(l, c);
    }
}

/* ---- answers ---- */

static void took(struct thread *t, uint64_t ns)
{
    hdr_record_n(t->latency, ns, 1);
    t->sum += (double)ns;
    t->squares += (double)ns * (double)ns;
}

static void finished(struct loop *l, struct conn *c)
{
    struct thread *t = l->t;
    const struct request *r = &c->ring[c->head];
    t->answered = true;
    if (c->result == ANSWER_BAD)
        t->errors++;
    if (c->result == ANSWER_MISS)
        t->misses++;
    if (l->now < t->end && c->result != ANSWER_BAD)
        t->answers++;
    if (r->due < t->end)
        took(t, l->now - r->due);
    c->head = (c->head + 1) % c->room;
    c->flying--;
    l->outstanding--;
    if (load.rate == 0 && l->now < t->end)
        push(l, c, l->now);
}

/* Go through n bytes of answers, of which the beginning of the last may be kept. False: that is nonsense. */
static bool answered(struct loop *l, struct conn *c, const char *from, size_t n)
{
    while (n > 0) {
        if (c->skip > 0) {
            size_t some = c->skip < n ? c->skip : n;
            c->skip -= some;
            from += some;
            n -= some;
            if (c->skip == 0)
                finished(l, c);
            continue;
        }
        size_t taken = 0;
        c->result = c->flying > 0 ? text_answer(&c->ring[c->head], from, n, &taken, &c->skip) : ANSWER_NONSENSE;
        if (c->result == ANSWER_NONSENSE) {
            text_nonsense(l->t->nonsense, sizeof l->t->nonsense, c->flying > 0 ? &c->ring[c->head] : NULL, from, n);
            return false;
        }
        if (c->result == ANSWER_BAD && l->t->error[0] == '\0')
            text_line(l->t->error, sizeof l->t->error, from, n);
        if (c->result == ANSWER_MORE) {
            c->skip = 0;
            memcpy(buffer_room(&c->in, n), from, n);
            c->in.size += n;
            return true;
        }
        from += taken;
        n -= taken;
        if (c->skip == 0)
            finished(l, c);
    }
    return true;
}

/* `last`: nothing will be told any more, so that the end of it all is looked for behind what there is. */
static void receives(struct loop *l, struct conn *c, bool last)
{
    size_t kept, room;
    ssize_t n;
    do {
        kept = c->in.size;
        if (kept > 0)
            memcpy(l->input, c->in.text, kept);
        c->in.size = 0;
        room = INPUT - kept;
        n = recv(c->fd, l->input + kept, room, MSG_DONTWAIT);
        if (n <= 0)
            break;
        l->now = bench_now();
        if (!answered(l, c, l->input, kept + (size_t)n)) {
            l->t->wrong = l->t->nonsense;
            closes(l, c);
            return;
        }
    } while (last || (size_t)n == room);
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) {
        if (n < 0 && kept > 0) {
            memcpy(buffer_room(&c->in, kept), l->input, kept);
            c->in.size = kept;
        }
        pump(l, c);
        return;
    }
    errno = n == 0 ? 0 : errno;
    broken(l, c);
    pump(l, c);
}

/* ---- the loop ---- */

/* The first n requests of a connection will not be answered. */
static void lost(struct loop *l, const struct conn *c, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct request *r = &c->ring[(c->head + i) % c->room];
        if (r->due < l->t->end)
            took(l->t, l->now - r->due);
    }
    l->t->timeouts += n;
}

static void gives_up(struct loop *l)
{
    uint64_t patience = (uint64_t)(load.timeout * 1e9);
    for (int i = 0; i < l->n; i++) {
        struct conn *c = &l->all[i];
        if (c->flying == 0 || c->ring[c->head].due + patience > l->now)
            continue;
        lost(l, c, c->flying);
        l->t->reconnects++;
        closes(l, c);
        pump(l, c);
    }
}

/* What has become due is asked, and when the next one is due: UINT64_MAX, none is. */
static uint64_t offers(struct loop *l, uint64_t due)
{
    double mean = 1e9 * load.threads / load.rate;
    while (due <= l->now && due < l->t->end) {
        l->t->due++;
        if (l->outstanding < WAIT_AT_MOST) {
            struct conn *c = &l->all[chance_pick(&l->t->seed, load.of_connections, (uint32_t)l->n)];
            push(l, c, due);
            pump(l, c);
        }
        due += (uint64_t)chance_gap(&l->t->seed, mean);
    }
    return due < l->t->end ? due : UINT64_MAX;
}

static double busy(const struct loop *l)
{
    double wall = (double)(l->now - l->t->start);
    return wall > 0 ? 1 - (double)l->t->waited / wall : 0;
}

static void turns(struct loop *l)
{
    struct thread *t = l->t;
    struct epoll_event events[EVENTS];
    uint64_t look = t->start + TICK, over = t->end + (uint64_t)(load.timeout * 1e9) + 2 * (uint64_t)TICK;
    uint64_t due =
        load.rate > 0 ? t->start + (uint64_t)chance_gap(&t->seed, 1e9 * load.threads / load.rate) : UINT64_MAX;
    l->now = bench_now();
    for (int i = 0; i < l->n; i++)
        pump(l, &l->all[i]);
    /* Also where we have slept over the end: what was due before it is asked. */
    while (!l->gone && t->wrong == NULL && l->now < over &&
           atomic_load_explicit(&load.stopped, memory_order_relaxed) == 0 && /* relaxed: a flag alone */
           !atomic_load_explicit(&load.over, memory_order_relaxed) &&        /* relaxed: so is this */
           (l->now < t->end || l->outstanding > 0 || due < t->end)) {
        if (load.rate > 0)
            due = offers(l, due);
        if (t->busy < 0 && l->now >= t->end)
            t->busy = busy(l);
        uint64_t until = due < look ? due : look;
        l->now = bench_now();
        uint64_t left = until > l->now ? until - l->now : 0;
        int n = epoll_pwait2(l->events, events, EVENTS, &(struct timespec){.tv_nsec = (long)left}, NULL);
        uint64_t before = l->now;
        l->now = bench_now();
        t->waited += left > 0 ? l->now - before : 0; /* else it only looked, however long that took */
        for (int i = 0; i < n && !l->gone; i++) {
            struct conn *c = events[i].data.ptr;
            if ((events[i].events & EPOLLOUT) != 0 && c->fd >= 0 && c->out.size > 0 && !flush(c)) {
                broken(l, c);
                pump(l, c);
            } else if ((events[i].events & ~(uint32_t)EPOLLOUT) != 0 && c->fd >= 0)
                receives(l, c, (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
        }
        if (l->now >= look) {
            gives_up(l);
            look = l->now + TICK;
        }
    }
    if (l->gone)
        t->wrong = "the server is gone: it takes no connection";
    if (t->wrong != NULL)
        atomic_store_explicit(&load.over, true, memory_order_relaxed); /* relaxed: a flag alone */
    for (int i = 0; i < l->n; i++)
        lost(l, &l->all[i], l->all[i].flying + l->all[i].waiting);
    t->busy = t->busy < 0 ? busy(l) : t->busy;
}

/* One request on each connection, which does not count: then the server has all of them. */
static void first_answers(struct loop *l)
{
    struct thread *t = l->t, before = *t;
    t->start = t->end = bench_now();
    for (int i = 0; i < l->n; i++)
        push(l, &l->all[i], t->end);
    turns(l);
    hdr_clear(t->late);
    before.wrong = t->wrong;
    before.answered = t->answered;
    before.closed = t->errors > 0 && !t->answered;
    memcpy(before.error, t->error, sizeof before.error);
    memcpy(before.nonsense, t->nonsense, sizeof before.nonsense);
    before.seed = t->seed;
    *t = before;
}

void thread_run(struct thread *t, _Atomic(int) *ready, _Atomic(uint64_t) *at)
{
    struct loop *l = calloc(1, sizeof *l);
    int n = load.connections / load.threads + (t->number < load.connections % load.threads);
    if (l == NULL || (l->all = calloc((size_t)n + 1, sizeof *l->all)) == NULL ||
        (l->events = epoll_create1(EPOLL_CLOEXEC)) < 0)
        bench_die(load.b, BENCH_INTERNAL, "no memory");
    l->t = t;
    l->n = n;
    prctl(PR_SET_TIMERSLACK, 1UL); /* arrivals are nearer than the 50 us that a wait is allowed to be late */
    for (int i = 0; i < n; i++)
        l->all[i] = (struct conn){.fd = -1, .number = i * load.threads + t->number};
    for (int i = 0; i < n && opens(l, &l->all[i], true); i++)
        ;
    first_answers(l);
    atomic_fetch_add_explicit(ready, 1, memory_order_release);               /* G0 */
    while ((t->start = atomic_load_explicit(at, memory_order_acquire)) == 0) /* G1 */
        usleep(200);
    t->end = t->start + (uint64_t)(load.duration * 1e9);
    while (t->wrong == NULL && bench_now() < t->start)
        bench_relax();
    if (t->wrong == NULL && !load.silent)
        turns(l);
    if (t->wrong != NULL)
        atomic_fetch_add_explicit(ready, 1, memory_order_relaxed); /* relaxed: a hint to wait no longer */
    for (int i = 0; i < n; i++) {
        closes(l, &l->all[i]);
        free(l->all[i].ring);
        free(l->all[i].out.text);
        free(l->all[i].in.text);
    }
    close(l->events);
    free(l->all);
    free(l);
}
