/* SPDX-License-Identifier: MIT
 *
 * Each call beside the POSIX one of its name, on two pairs of descriptors that are alike. What is done to the one pair by the
 * system's calls, blocking, by a thread for each side, is done to the other one by ours, by fibres: in random sequences, in which
 * one side goes on while the other one's call waits. Results, errno, bytes, flags and the sizes of addresses are the same, and
 * so is which calls wait, and what ends that. Run for each poller.
 *
 * Time decides nothing: a call that is done on one pair alone is waited for on the other one; of two that wait, when the
 * thread is seen to sleep, nothing is told but that they go on waiting.
 */
#include "io.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { SEQPACKET = PAIRS, KINDS };
enum { ROOM = 400, STEPS = 60 };

static uint64_t random_state;

static unsigned below(unsigned n)
{
    return (unsigned)(harness_random(&random_state) % n);
}

/* One call's arguments, the same for both; and what came of it. */
struct call {
    int what, flags;
    size_t n, cut;
    off_t offset;
    bool passes; /* a descriptor, with a message */
    unsigned short events;
};

struct came {
    ssize_t n;
    int err, flags;
    size_t controls;
    socklen_t size;
    off_t offset;
    unsigned short events[2];
    char bytes[ROOM];
};

enum {
    READ,
    READV,
    RECV,
    RECVFROM,
    RECVMSG,
    IN_WAYS,
    WRITE = IN_WAYS,
    WRITEV,
    SEND,
    SENDTO,
    SENDMSG,
    SENDFILE,
    CLOSED_IN,
    CLOSED_OUT,
    ACCEPT,
    POLL,
    WAYS
};

static int file_fd;

#define BOTH(name, ...) (ours ? tn_##name##_until(fd, __VA_ARGS__, until, NULL) : name(fd, __VA_ARGS__))

/* `ours`: by the library. */
static void make(const struct call *c, struct came *came, int fd, bool ours)
{
    tn_time until = (c->flags & MSG_DONTWAIT) != 0 ? 0 : TN_FOREVER;
    char out[ROOM];
    struct sockaddr_storage a;
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.room = {0}};
    memset(came, 0, sizeof *came);
    memset(&a, 0, sizeof a);
    for (size_t i = 0; i < c->n; i++)
        out[i] = (char)(i * 7 + c->cut);
    char *at = c->what >= IN_WAYS ? out : came->bytes;
    struct iovec v[3] = {{at, c->cut}, {at + c->cut, 0}, {at + c->cut, c->n - c->cut}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 3};
    struct pollfd p[2] = {{fd, (short)c->events, 0}, {fd, (short)(c->events ^ POLLOUT), 0}};
    if (c->what == RECVMSG || (c->what == SENDMSG && c->passes)) {
        m.msg_control = control.room;
        m.msg_controllen = sizeof control.room;
    }
    m.msg_name = c->what == RECVMSG ? &a : NULL;
    m.msg_namelen = c->what == RECVMSG ? sizeof a : 0;
    if (c->what == SENDMSG && c->passes) {
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        *h = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(h), &file_fd, sizeof file_fd);
    }
    came->size = sizeof a;
    came->offset = c->offset;
    errno = 0;
    came->n = c->what == READ         ? BOTH(read, at, c->n)
              : c->what == READV      ? BOTH(readv, v, 3)
              : c->what == RECV       ? BOTH(recv, at, c->n, c->flags)
              : c->what == RECVFROM   ? BOTH(recvfrom, at, c->n, c->flags, (struct sockaddr *)&a, &came->size)
              : c->what == RECVMSG    ? BOTH(recvmsg, &m, c->flags)
              : c->what == WRITE      ? BOTH(write, at, c->n)
              : c->what == WRITEV     ? BOTH(writev, v, 3)
              : c->what == SEND       ? BOTH(send, at, c->n, c->flags)
              : c->what == SENDTO     ? BOTH(sendto, at, c->n, c->flags, NULL, 0)
              : c->what == SENDMSG    ? BOTH(sendmsg, &m, c->flags)
              : c->what == SENDFILE   ? BOTH(sendfile, file_fd, &came->offset, c->n)
              : c->what == CLOSED_IN  ? (ours ? tn_shutdown : shutdown)(fd, SHUT_RD)
              : c->what == CLOSED_OUT ? (ours ? tn_shutdown : shutdown)(fd, SHUT_WR)
              : c->what == ACCEPT     ? BOTH(accept, NULL, NULL)
              : ours                  ? tn_poll_until(p, 2, c->cut == 0 ? TN_FOREVER : 0, NULL)
                                      : poll(p, 2, c->cut == 0 ? -1 : 0);
    for (int i = 0; i < 2; i++)
        came->events[i] = (unsigned short)p[i].revents;
    came->err = came->n >= 0 ? 0 : ours && until == 0 && errno == ETIMEDOUT ? EAGAIN : errno;
    if (c->what == RECVMSG && came->n >= 0) {
        came->flags = m.msg_flags;
        came->controls = m.msg_controllen;
        came->size = m.msg_namelen;
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        if (h != NULL && h->cmsg_type == SCM_RIGHTS) {
            int got;
            memcpy(&got, CMSG_DATA(h), sizeof got);
            came->flags |= fcntl(got, F_GETFD) << 24;
            close(got);
        }
    }
}

static bool alike(const struct came *a, const struct came *b)
{
    return a->n == b->n && a->err == b->err && a->flags == b->flags && a->controls == b->controls &&
           a->size == b->size && a->offset == b->offset && a->events[0] == b->events[0] &&
           a->events[1] == b->events[1] && memcmp(a->bytes, b->bytes, ROOM) == 0;
}

static struct call any_call(int kind)
{
    static const int in_flags[] = {
        0, 0, 0, MSG_PEEK, MSG_TRUNC, MSG_DONTWAIT, MSG_WAITALL, MSG_CMSG_CLOEXEC, MSG_OOB, MSG_PEEK | MSG_TRUNC};
    static const int out_flags[] = {0, 0, MSG_DONTWAIT, MSG_EOR, MSG_DONTROUTE};
    struct call c = {.what = (int)below(WAYS), .n = below(4) == 0 ? below(3) : below(ROOM)};
    if ((c.what == CLOSED_IN || c.what == CLOSED_OUT) && below(8) != 0)
        c.what = (int)below(CLOSED_IN);
    c.n +=
        kind == TCP && c.n == 0 && c.what < IN_WAYS; /* for nothing the system waits until it is woken, by whatever */
    c.cut = c.n != 0 ? below((unsigned)c.n + 1) : 0;
    c.flags = c.what >= WRITE  ? out_flags[below(sizeof out_flags / sizeof *out_flags)] | MSG_NOSIGNAL
              : c.what >= RECV ? in_flags[below(sizeof in_flags / sizeof *in_flags)]
                               : 0;
    if (c.what < IN_WAYS && (c.flags & MSG_TRUNC) != 0 && kind == TCP) /* which throws bytes away there */
        c.flags &= ~MSG_TRUNC;
    if (c.what < IN_WAYS &&
        (kind == UNIX_DATAGRAM || kind == UDP)) /* of which EAGAIN is no answer, shut down (docs/io.md) */
        c.flags &= ~MSG_DONTWAIT;
    if (c.what > SENDMSG || c.what == WRITE || c.what == WRITEV)
        c.flags = 0;
    c.offset = (off_t)below(200);
    c.passes = below(3) == 0;
    c.events = (unsigned short)(below(2) != 0 ? POLLIN | POLLRDHUP : POLLIN | POLLPRI | POLLOUT);
    return c;
}

/* ---- who makes them ---- */

/* A side of a pair. */
struct side {
    int fd;
    bool ours, open;
    _Atomic(bool) done; /* the call */
    struct came came;
    sem_t go; /* the thread, if it is not ours */
    pthread_t thread;
    _Atomic(pid_t) id;
    tn_fibre *fibre;
};

/* The same side of both pairs. */
struct twin {
    struct side side[2]; /* theirs, ours */
    struct call call;
    bool waits, parted;
    int coming; /* bytes that have been sent to it and are not taken */
};

static struct twin twins[2];
static bool over;

static struct twin *twin_of(const struct side *s)
{
    return &twins[s == &twins[1].side[0] || s == &twins[1].side[1]];
}

static void *makes(void *arg)
{
    struct side *s = arg;
    make(&twin_of(s)->call, &s->came, s->fd, s->ours);
    atomic_store_explicit(&s->done, true, memory_order_release); /* T0 release */
    return NULL;
}

static void *thread_main(void *arg)
{
    struct side *s = arg;
    atomic_store_explicit(&s->id, (pid_t)syscall(SYS_gettid), memory_order_relaxed); /* relaxed: a number alone */
    while (sem_wait(&s->go) == 0 && !over)
        makes(s);
    return NULL;
}

static bool is_done(struct side *s)
{
    return atomic_load_explicit(&s->done, memory_order_acquire); /* T0 acquire */
}

static void begins(struct twin *t)
{
    for (int i = 0; i < 2; i++)
        atomic_store_explicit(&t->side[i].done, false, memory_order_relaxed); /* relaxed: who is told does it later */
    sem_post(&t->side[0].go);
    CHECK_EQUAL(tn_spawn(&t->side[1].fibre, NULL, makes, &t->side[1]), 0);
}

static void nap(void)
{
    CHECK_EQUAL(tn_sleep(30000), 0);
}

static const char *const names[] = {"read",     "readv",       "recv",         "recvfrom", "recvmsg",
                                    "write",    "writev",      "send",         "sendto",   "sendmsg",
                                    "sendfile", "shutdown in", "shutdown out", "accept",   "poll"};

static void told(const char *who, const struct side *s)
{
    const struct came *c = &s->came;
    harness_note("  %s: %zd, %s, flags %x, controls %zu, size %u, offset %ld, events %x %x", who, c->n,
                 strerror(c->err), (unsigned)c->flags, c->controls, (unsigned)c->size, (long)c->offset, c->events[0],
                 c->events[1]);
}

static bool ended(struct twin *t)
{
    const struct call *c = &t->call;
    /* With MSG_WAITALL ours tells an error at once (tenter_io.h): here the two part. */
    t->parted = (c->flags & MSG_WAITALL) != 0 && t->side[0].came.n > 0 && t->side[1].came.err == ECONNRESET;
    bool good = t->parted || CHECK(alike(&t->side[0].came, &t->side[1].came));
    if (!good) {
        harness_note("side %d: %s of %zu (cut %zu), flags %x", (int)(t - twins), names[c->what], c->n, c->cut,
                     (unsigned)c->flags);
        told("theirs", &t->side[0]);
        told("ours", &t->side[1]);
    }
    t->waits = false;
    CHECK_EQUAL(tn_join(t->side[1].fibre, NULL), 0);
    return good;
}

/* Both are done, and alike; or both wait, unless it `must` end. */
static bool looks(struct twin *t, bool must)
{
    /* relaxed: a number alone */
    pid_t id = atomic_load_explicit(&t->side[0].id, memory_order_relaxed);
    for (int times = 0, asleep = 0; times < 200000; times++, nap()) { /* by the clock who was stopped would be late */
        bool theirs = is_done(&t->side[0]), ours = is_done(&t->side[1]);
        if (theirs && ours)
            return ended(t);
        asleep = !theirs && !ours && harness_sleeps(id) ? asleep + 1 : 0;
        t->waits = asleep >= 4 && !must;
        if (t->waits)
            return true;
    }
    CHECK(!"both have gone on, or neither");
    harness_note("side %d: %s of %zu, flags %x: %s waits", (int)(t - twins), names[t->call.what], t->call.n,
                 (unsigned)t->call.flags,
                 is_done(&t->side[0])   ? "ours"
                 : is_done(&t->side[1]) ? "the system's"
                                        : "each");
    told("theirs", &t->side[0]);
    told("ours", &t->side[1]);
    return false;
}

/* ---- sequences ---- */

/* What is on its way by TCP is there, in both pairs; or was thrown away, in both. */
static void settle(struct twin *t, int kind)
{
    int a = 0, b = 0;
    for (int same = 0; kind == TCP && same < 50; nap()) {
        if (ioctl(t->side[0].fd, FIONREAD, &a) != 0 || ioctl(t->side[1].fd, FIONREAD, &b) != 0 ||
            (a == t->coming && b == t->coming))
            return;
        same = a == b ? same + 1 : 0;
    }
    t->coming = a;
}

/* So is that the other side was closed, or has shut down: under uring when the kernel has let go of what waited there. */
static void both_know(const struct twin *t)
{
    for (int i = 0; i < 10000 && t->side[0].open; i++, nap()) {
        struct pollfd a = {t->side[0].fd, POLLIN | POLLOUT | POLLRDHUP, 0}, b = a;
        b.fd = t->side[1].fd;
        if (poll(&a, 1, 0) == poll(&b, 1, 0) && a.revents == b.revents)
            break;
    }
}

/* By TCP it may take a moment until the call of t, which waits, ends by what has come. */
static bool must_end(const struct twin *t, int kind)
{
    const struct call *c = &t->call;
    return kind == TCP && c->what < IN_WAYS && t->coming > 0 &&
           ((c->flags & MSG_WAITALL) == 0 || t->coming >= (int)c->n);
}

/* Bytes that were sent, or taken, by the call of t, which is over. */
static void account(struct twin *t)
{
    const struct call *c = &t->call;
    int n = t->side[0].came.n > 0 ? (int)t->side[0].came.n : 0;
    if (c->what >= WRITE && c->what <= SENDFILE)
        twins[t == twins].coming += n;
    if (c->what <= READV || (c->what < IN_WAYS && (c->flags & MSG_PEEK) == 0))
        t->coming -= n;
}

/* What waits on the other side than t's, which has just done something. */
static bool others(struct twin *t, int kind)
{
    struct twin *other = &twins[t == twins];
    if (!other->waits)
        return true;
    bool good = looks(other, must_end(other, kind));
    if (good && !other->waits)
        account(other);
    return good;
}

static bool one_call(struct twin *t, struct call c, int kind)
{
    settle(t, kind);
    t->call = c;
    begins(t);
    bool good = looks(t, false);
    if (good && !t->waits)
        account(t);
    if (good && !t->waits && (c.what == CLOSED_IN || c.what == CLOSED_OUT))
        both_know(&twins[t == twins]);
    return good && others(t, kind);
}

static bool closes(struct twin *t, int kind)
{
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(tn_close(t->side[i].fd), 0); /* theirs, too: TCP has made it by tn_accept */
        t->side[i].open = false;
    }
    both_know(&twins[t == twins]);
    return others(t, kind);
}

/* The call that waits there is ended by a call of one who is neither side's thread nor fibre. */
static bool rescued(struct twin *t)
{
    struct twin *other = &twins[t == twins];
    char text[ROOM];
    if (t->call.what < IN_WAYS || t->call.what == POLL || t->call.what == ACCEPT)
        for (int i = 0; i < 2; i++)
            CHECK_EQUAL(tn_shutdown(t->side[i].fd, SHUT_RDWR), 0);
    else
        for (int i = 0; i < 2; i++)
            CHECK(recv(other->side[i].fd, text, sizeof text, MSG_DONTWAIT) >= 0);
    bool good = looks(t, false);
    if (good && !t->waits)
        account(t);
    return good;
}

static void open_twins(int kind)
{
    int one = 1;
    for (int i = 0; i < 2; i++) {
        int fd[2];
        if (kind == SEQPACKET)
            CHECK_EQUAL(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd), 0);
        else
            open_pair(kind, fd);
        for (int k = 0; k < 2; k++) {
            struct twin *t = &twins[k];
            t->side[i].fd = fd[k];
            t->side[i].open = true;
            t->side[i].ours = i == 1;
            t->waits = t->parted = false;
            t->coming = 0;
            CHECK_EQUAL(fcntl(fd[k], F_SETFL, i == 0 ? 0 : O_NONBLOCK), 0);
            if (kind == TCP)
                CHECK_EQUAL(setsockopt(fd[k], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), 0);
        }
    }
}

static bool one_sequence(int kind)
{
    bool good = true;
    open_twins(kind);
    for (int step = 0; step < STEPS && good; step++) {
        struct twin *t = &twins[below(2)];
        if (!t->side[0].open || t->waits)
            t = &twins[t == twins];
        if (!t->side[0].open || twins[0].parted || twins[1].parted)
            break;
        if (t->waits)
            good = kind == PIPE ? (step = STEPS, true) : rescued(t); /* both do, or one and nobody else is there */
        else if (below(40) == 0)
            good = closes(t, kind);
        else
            good = one_call(t, any_call(kind), kind);
    }
    for (int k = 0; k < 2 && good; k++)
        if (twins[k].side[0].open && !twins[k].waits)
            good = closes(&twins[k], kind);
    for (int k = 0; k < 2 && good; k++)
        for (int times = 0; times < 20 && twins[k].waits && good; times++)
            good = rescued(&twins[k]);
    for (int k = 0; k < 2 && good; k++)
        if (twins[k].side[0].open)
            good = closes(&twins[k], kind);
    return good;
}

static void *sequences(void *arg)
{
    uint64_t seed = harness_seed();
    char name[] = "/tmp/tenter-io-XXXXXX", text[300];
    file_fd = mkstemp(name);
    CHECK_EQUAL(unlink(name), 0);
    memset(text, 'f', sizeof text);
    CHECK_EQUAL(write(file_fd, text, sizeof text), (ssize_t)sizeof text);
    over = false;
    for (int k = 0; k < 2; k++) {
        CHECK_EQUAL(sem_init(&twins[k].side[0].go, 0, 0), 0);
        CHECK_EQUAL(pthread_create(&twins[k].side[0].thread, NULL, thread_main, &twins[k].side[0]), 0);
    }
    for (int k = 0; k < 2; k++) /* relaxed: a number alone */
        while (atomic_load_explicit(&twins[k].side[0].id, memory_order_relaxed) == 0)
            nap();
    bool good = true;
    for (int round = 0; round < (stress ? 2000 : 120) && good && harness_round(seed + (uint64_t)round); round++) {
        random_state = seed + (uint64_t)round;
        int kind = (int)below(KINDS);
        if (kind == TCP && receives_ahead())
            kind = UNIX_STREAM; /* of TCP, what is there is not seen by who looks */
        good = one_sequence(kind);
        if (!good)
            harness_note("of descriptors of kind %d", kind);
    }
    over = true;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 2 && !good; i++) /* nothing else ends what waits */
            tn_close(twins[k].side[i].fd);
        if (!good)
            pthread_cancel(twins[k].side[0].thread);
        sem_post(&twins[k].side[0].go);
        CHECK_EQUAL(pthread_join(twins[k].side[0].thread, NULL), 0);
        sem_destroy(&twins[k].side[0].go);
        atomic_store_explicit(&twins[k].side[0].id, 0, memory_order_relaxed); /* relaxed: there is no thread */
    }
    CHECK_EQUAL(close(file_fd), 0);
    return arg;
}

static void all_agree(void)
{
    unsigned before = harness_count("fd");
    signal(SIGPIPE, SIG_IGN);
    fibres(sequences);
    CHECK_EQUAL(harness_count("fd"), before);
}

static const struct test tests[] = {
    {"beside the system's calls", all_agree},
};

int main(int argc, char **argv)
{
    return io_main(argc, argv, "io_twins", tests, sizeof tests / sizeof tests[0]);
}
