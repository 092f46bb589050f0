/* SPDX-License-Identifier: MIT
 *
 * The parts of loadgen: what is asked for and how an answer is recognised (loadgen_text.c), when (loadgen_random.c), over
 * which connections (loadgen_thread.c), and of whom (loadgen_server.c); or wrk in place of all that (loadgen_wrk.c).
 */
#ifndef LOADGEN_H
#define LOADGEN_H

#include "bench_address.h"
#include "hdr.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- what is asked for: the same in all threads, written before there are any ---- */

struct load {
    struct bench *b;
    bool memcached, wrk;
    int rep;                 /* the one under way; -1: none yet */
    struct bench_address to; /* the server */
    char host[300];          /* its name or address, as URLs have it */
    int threads, connections, depth, per_connection, addresses;
    double rate, duration, timeout, writes;
    const char *path;
    uint64_t keys;
    bool etc; /* sizes of the workload ETC */
    int key_size, value_size;
    int arrivals;                     /* which of "poisson|pareto|constant" */
    double *of_connections, *of_keys; /* cumulative, by skew; NULL: all alike */
    volatile _Atomic(int) stopped;    /* by that signal: what is under way ends; 0: by none */
    volatile _Atomic(bool) over;      /* a thread has met what is wrong: the others end the repetition too */
    bool silent;                      /* no connection has had its first answer: nothing is measured */
};
extern struct load load;

/* ---- chance ---- */

/* Nanoseconds until the next arrival, of `mean`, as load.arrivals says. */
double chance_gap(uint64_t *seed, double mean);
/* Below n, by the cumulative weights, or all alike. */
uint32_t chance_pick(uint64_t *seed, const double *cumulative, uint32_t n);
/* Weights 1, 2^-s, 3^-s … of n, cumulative, for s > 0; NULL otherwise. Ends the process where there is no memory. */
double *chance_skew(uint32_t n, double s);
/* The sizes of a key and of its value: always the same for one number. */
void chance_sizes(uint64_t number, uint32_t *key, uint32_t *value);

/* ---- texts ---- */

struct request {
    uint64_t due;
    uint64_t key; /* memcached: its number */
    bool write;
};

struct buffer {
    char *text;
    size_t size, room;
};
char *buffer_room(struct buffer *b, size_t n);

/* Append the request; `last`: of its connection. */
void text_ask(struct buffer *out, const struct request *r, bool last);

enum { ANSWER_MORE, ANSWER_GOOD, ANSWER_MISS, ANSWER_BAD, ANSWER_NONSENSE };

/* What the answer to `r` at the beginning of n bytes is, and how long: ANSWER_MORE, it is not all there; `*skip` bytes of it
 * that nobody needs to see come after `*taken`. ANSWER_BAD: it is an error. */
int text_answer(const struct request *r, const char *from, size_t n, size_t *taken, size_t *skip);

/* In words: why n bytes are ANSWER_NONSENSE, or with r == NULL, what was asked for by nobody; and which option to look at. */
void text_nonsense(char *to, size_t room, const struct request *r, const char *from, size_t n);
/* The first line of n bytes, as far as there is room, with a dot for what cannot be printed. */
const char *text_line(char *to, size_t room, const char *from, size_t n);

/* The keys are stored one after another; of memcached only. False, with a message in the record: they cannot be. */
bool text_preload(void);

/* ---- a thread with its connections ---- */

struct thread {
    int number;
    uint64_t seed;
    /* of a repetition */
    struct hdr *latency, *late;
    double sum, squares;              /* of latencies, in ns */
    uint64_t start, end;              /* of what counts */
    uint64_t answers, errors, misses; /* between the two */
    uint64_t due;                     /* so too, under open load: requests */
    uint64_t timeouts, reconnects, begun;
    bool answered;  /* anything at all, the first request of a connection included */
    bool closed;    /* a connection that waited for the answer to its first */
    char error[80]; /* the first line of the first answer that was one */
    char nonsense[200];
    uint64_t waited;   /* nanoseconds for events, until now */
    double busy;       /* the share of the time between the two that it did not wait; -1: not known yet */
    const char *wrong; /* what has ended it; NULL: nothing */
};

/* One repetition of thread `t`; returns when all is answered or given up. `*ready` counts threads whose connections have each had an answer;
 * they start together, at what is then in `*at`. One that is ended by what is wrong counts once more. */
void thread_run(struct thread *t, _Atomic(int) *ready, _Atomic(uint64_t) *at);

/* A connection of this number to the server, from one of --addresses; `waits`: it is made, within --timeout, and blocks. -1: errno
 * says why. */
int connection_open(int number, bool waits);
/* Is that server at 127.x.x.x, which has more addresses that connections can come from? */
bool connection_within(void);

/* ---- wrk in our place ---- */

struct wrk_seen {
    double requests, throughput, errors, timeouts;
    double mean, median, p90, p99; /* ns; 0: it has not said */
    double busy;                   /* its share of a processor, for each of its threads */
};

/* A repetition; ends the process (77) where wrk is not installed, and where it fails the record is invalid. */
void wrk_run(struct wrk_seen *seen);
/* What it has said, on standard output. False: nothing of the kind. */
bool wrk_said(const char *text, struct wrk_seen *seen);

/* ---- the server ---- */

/* Start what --server says, or nothing. Where it listens goes into `load`; what it is, and where, into the record. */
void server_start(struct bench *b);
/* Nanoseconds of processor time that it and its children have had; 0: not to be had. */
uint64_t server_cpu(void);
/* Kibibytes that they have in memory. */
double server_memory(void);
/* How many system calls they have made, with --calls. False: that cannot be had. */
bool server_calls(uint64_t *n);
/* Has it ended of itself? It is waited for so long, if it has not; then the record says how it ended. */
bool server_lost(struct bench *b, double seconds);
/* End it: false, with a message in the record, where it ended badly, or did not until it was killed. */
bool server_end(struct bench *b);

/* ---- its system calls ---- */

void calls_prepare(void);         /* before it is forked */
void calls_await(void);           /* in the child: until it is counted */
void calls_attach(pid_t counted); /* where that cannot be, the record says why */

/* ---- its control group ---- */

/* One with so many processors, for the server; ends the process (77) where there can be none. */
void quota_make(struct bench *b, double share);
/* In the child: into the group, if there is one. */
bool quota_enter(void);
void quota_end(void);

#endif
