/* SPDX-License-Identifier: MIT
 *
 * A service (kvcache, httpd) without a front-end, fed as server.c feeds it, on a clock that stands until it is moved.
 * What is shown to the service is a block of its own each time, so that a sanitizer sees where it reads on. Link with --wrap
 * for clock_gettime and the calls of memory. Included once.
 */
#ifndef KVPEER_H
#define KVPEER_H

#include "harness.h"
#include "nomem.h"

#include "service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t memory_mib = 64, item_bytes = 1048576;
static _Atomic(time_t) second = 1000;

/* The second of the day, which goes as that one does. */
static inline time_t today(void)
{
    return 1790000000 + atomic_load(&second);
}

/* ---- what the service gets elsewhere ---- */

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    if (clock != CLOCK_MONOTONIC_COARSE && clock != CLOCK_REALTIME)
        return __real_clock_gettime(clock, t);
    *t = (struct timespec){.tv_sec = clock == CLOCK_REALTIME ? today() : atomic_load(&second)};
    return 0;
}

int64_t bench_int(const struct bench *b, const char *name)
{
    (void)b;
    return strcmp(name, "memory") == 0 ? memory_mib : item_bytes;
}

void bench_die(const struct bench *b, int code, const char *format, ...)
{
    (void)b;
    fputs(format, stderr);
    exit(code);
}

void bench_count(struct bench *b, const char *name, double value)
{
    (void)b, (void)name, (void)value;
}

char *reply_room(struct reply *r, size_t n)
{
    if (n > r->room - r->size) {
        char *text = realloc(r->text, r->size + n);
        if (text == NULL)
            return NULL;
        r->text = text;
        r->room = r->size + n;
    }
    return r->text + r->size;
}

/* ---- texts ---- */

struct text {
    char *at;
    size_t size, room;
};

static void add(struct text *t, const void *from, size_t n)
{
    if (t->size + n > t->room) {
        t->room = 2 * (t->size + n) + 64;
        t->at = __real_realloc(t->at, t->room);
    }
    if (n != 0)
        memcpy(t->at + t->size, from, n);
    t->size += n;
}

static void drop(struct text *t)
{
    __real_free(t->at);
    *t = (struct text){NULL, 0, 0};
}

/* ---- a connection ---- */

struct peer {
    void *one;
    struct text in; /* what has not been taken */
    struct reply out;
    struct text got;
    size_t most; /* that ever waited to be sent */
    bool closed;
};

static void open_peer(struct peer *p)
{
    *p = (struct peer){.one = service.open(NULL), .out.file = -1};
}

static void close_peer(struct peer *p)
{
    if (p->one != NULL)
        service.close(p->one);
    free(p->out.text);
    drop(&p->in);
    drop(&p->got);
}

static void feed_peer(struct peer *p)
{
    for (;;) {
        size_t n = p->in.size < SERVICE_ROOM ? p->in.size : SERVICE_ROOM;
        if (n == 0 || p->closed)
            break;
        char *shown = __real_malloc(n);
        memcpy(shown, p->in.at, n);
        ssize_t taken = service.feed(p->one, shown, n, &p->out);
        __real_free(shown);
        bool full = p->out.size > SERVICE_ENOUGH;
        p->most = p->out.size > p->most ? p->out.size : p->most;
        if (p->out.size > 0)
            add(&p->got, p->out.text, p->out.size);
        p->out.size = 0;
        p->closed = taken < 0;
        if (taken <= 0 && !full) {
            CHECK(taken < 0 || n < SERVICE_ROOM); /* of so many it must take some */
            break;
        }
        memmove(p->in.at, p->in.at + taken, p->in.size - (size_t)taken);
        p->in.size -= (size_t)taken;
    }
}

/* At most `piece` bytes come at once. */
static void sends_in(struct peer *p, const char *text, size_t n, size_t piece)
{
    for (size_t at = 0, some; at < n && !p->closed; at += some) {
        some = n - at < piece ? n - at : piece;
        add(&p->in, text + at, some);
        feed_peer(p);
    }
}

#endif
