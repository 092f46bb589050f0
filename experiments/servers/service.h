/* SPDX-License-Identifier: MIT
 *
 * A server is a service and a front-end, linked. The service (httpd.c) knows a protocol, and nothing of how connections are
 * served; a front-end (fibre.c, event.c, pthread.c) serves connections, and knows no protocol. What they share is server.c.
 * So `httpd`, `httpd-event` and `httpd-pthread` differ in the front-end alone.
 */
#ifndef SERVICE_H
#define SERVICE_H

#include "../workloads/bench.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

enum {
    SERVICE_ROOM = 8192, /* all the input that a service is ever shown at once */
    SERVICE_ENOUGH =
        65536,          /* with more than that to be sent it takes no more input, so that answers do not pile up */
    SERVICE_CLOSE = -1, /* what feed returns: send what there is, then close the connection */
    SERVICE_ERROR = -2  /* the same, of a client who may be sending yet and is to see the answer all the same */
};

/* What is to be sent to a client. */
struct reply {
    char *text; /* `size` bytes, in memory for `room` */
    size_t size, room;
    int file; /* -1; or what is sent after the text: `left` bytes of this descriptor, from `at`. Who sends it closes it */
    off_t at;
    size_t left;
    uint64_t requests; /* that have been answered, also where the answer is silence; the service counts them */
};

/* Memory for n more bytes behind the text: write them there, and add how many there are to `size`. NULL: there is none. */
char *reply_room(struct reply *r, size_t n);

/* False: there is no memory. */
static inline bool reply_add(struct reply *r, const void *text, size_t n)
{
    char *to = reply_room(r, n);
    if (to == NULL)
        return false;
    memcpy(to, text, n);
    r->size += n;
    return true;
}

struct service {
    const char *name;               /* "httpd" */
    const char *about;              /* one sentence, for --help */
    const struct bench_option *own; /* options of its own, n of them */
    size_t n;

    /* Once, before there are connections or threads. Ends the process (bench_die) where an option is wrong. What it returns
     * is handed to open and stop. In a front-end of several processes each has a copy of what was made here. */
    void *(*start)(struct bench *b);

    /* At the end, when there are no connections any more. What it wants in the record it says by bench_count. */
    void (*stop)(void *all, struct bench *b);

    /* A connection begins and ends. Several at once, in different threads. NULL: no memory, the connection is closed. */
    void *(*open)(void *all);
    void (*close)(void *one);

    /* Take input and add the answers to `out`, which may hold earlier ones that are not sent yet. One thread at a time is in
     * this with one connection, but several with different ones; which of them may change from call to call. It may wait in
     * service_lock and nowhere else.
     *
     * Returns how many of the n > 0 bytes were taken; the rest is shown again, with more behind it where this is not enough
     * (so 0 means: more is needed). Of SERVICE_ROOM bytes some must be taken, or it is an error. What is taken may be a part
     * of something long: the service remembers where it is. After it has put a file into `out`, or when that has more than
     * SERVICE_ENOUGH bytes, it returns, and is shown the rest when all of it has been sent. Or SERVICE_CLOSE, SERVICE_ERROR. */
    ssize_t (*feed)(void *one, const char *in, size_t n, struct reply *out);
};

/* Of the service that the program is linked with. */
extern const struct service service;

/* Mutual exclusion among connections, as the front-end has it: fibres wait as fibres, threads as threads, and where only one
 * thread serves nobody ever waits. Not recursive. NULL: no memory. */
struct service_lock;
struct service_lock *service_lock_new(void);
void service_lock_free(struct service_lock *l);
void service_lock(struct service_lock *l);
void service_unlock(struct service_lock *l);

#endif
