/* SPDX-License-Identifier: MIT
 *
 * The packet workload (003 §2.4.1, §7.1) without the runtime that runs its tasks: packets, tasks, counters,
 * the check of the answer, the options that all variants share. A variant adds how a task is started and
 * waited for.
 *
 * A task gets its own copy of a packet, scans it for line ends, computes a little more if asked to, adds what
 * it found to the counters of the thread it runs on, frees the copy, and ends. It never suspends.
 *
 * With --connections a packet belongs to one of so many, each with a working set of its own, which the task goes over,
 * reading and writing (003 §7.1.2). With --long one in --long-every takes so much longer (003 §7.1.3).
 *
 * Check: a spawner sums what memchr found in the originals, a task counts its copy byte by byte; over a
 * repetition both sums must be equal, or the result is invalid. So must the packets that the connections have counted.
 */
#ifndef PACKET_COMMON_H
#define PACKET_COMMON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bench.h"
#include "bench_clock.h"
#include "hdr.h"
#include "packets.h"

#define PACKET_SLOTS 4096 /* threads that may ever run tasks: more than workers can be */

/* Counters of one thread. It alone writes; `done` is stored with release after the others, and the monitor
 * loads it with acquire (pair P0), so that a monitor that has seen n tasks done may read what these n have
 * counted. */
struct packet_slot {
    _Alignas(128) _Atomic(uint64_t) done;
    _Atomic(uint64_t) lines, last_end;
    struct hdr *latency;
};

struct packet_task {
    uint64_t start;         /* just before the first try to start it; open loop: when it should have been started */
    uint64_t work;          /* ns */
    _Atomic(uint64_t) *set; /* of its connection; NULL: none */
    size_t size;
    unsigned char copy[];
};

struct packet_spawner {
    uint64_t random;
    uint64_t share;   /* packets that it is to start */
    uint64_t lines;   /* line ends in these, by memchr */
    uint64_t retries; /* tries that were refused */
    unsigned index;
};

struct packet_run {
    struct bench *b;
    uint64_t packets, work, long_work, long_every;
    uint64_t connections, set_words; /* words of a working set */
    _Atomic(uint64_t) *sets;
    unsigned spawners;
    enum bench_clock clock; /* of the probes of a task */
    double rate;            /* 0: closed loop */
    uint64_t start;
    struct packet_spawner *spawner;
    struct hdr *latency; /* pooled over the counted repetitions */
};

/* Rows of an option table: those of every variant. */
#define PACKET_OPTIONS                                                                                          \
    {"packets", BENCH_INT, "50000", 1, 1e9, NULL, "packets", "packets of one repetition", NULL, 0, 0, false},   \
        {"spawners", BENCH_INT, "1", 1,    1024, NULL, "spawners", "tasks or threads that start packets",       \
         NULL,       0,         0,   false},                                                                    \
        {"clock",                                                                                               \
         BENCH_CHOICE,                                                                                          \
         "vdso",                                                                                                \
         0,                                                                                                     \
         0,                                                                                                     \
         BENCH_CLOCKS,                                                                                          \
         "",                                                                                                    \
         "what a task's two time stamps are read from; "                                                        \
         "none: no latency",                                                                                    \
         NULL,                                                                                                  \
         0,                                                                                                     \
         0,                                                                                                     \
         false},                                                                                                \
        {"work", BENCH_INT, "0", 0,    1e9, NULL, "ns", "calibrated computation added to each packet",          \
         NULL,   0,         0,   false},                                                                        \
        {"long", BENCH_INT, "0", 0, 1e9, NULL, "ns", "the same for some of them, instead", NULL, 0, 0, false},  \
        {"long-every", BENCH_INT, "100", 1,    1e9, NULL, "packets", "--long is for one in so many, at random", \
         NULL,         0,         0,     false},                                                                \
        {"connections", BENCH_INT, "0", 0,    1e6, NULL, "connections", "that packets belong to, at random",    \
         NULL,          0,         0,   false},                                                                 \
    {                                                                                                           \
        "set", BENCH_INT, "4096", 64, 1 << 24, NULL, "bytes", "working set of a connection", NULL, 0, 0, false  \
    }

#define PACKET_ABOUT "a spawner picks packets, a task for each scans its copy for line ends"
#define PACKET_CLOCK                                                                                         \
    "starts just before the spawners are started, stops when the last task has counted its packet (--clock " \
    "none: when that has been noticed); latency "                                                            \
    "from "                                                                                                  \
    "just before the first try to start a task (open loop: from when it was due) to its end"

void packet_setup(struct packet_run *run, struct bench *b);

/* Before and after a repetition; no task may be about. */
void packet_begin(struct packet_run *run, int rep);
void packet_end(struct packet_run *run, int rep);

/* The next task of a spawner, and when the k-th is due (open loop). */
struct packet_task *packet_make(struct packet_run *run, struct packet_spawner *s);
uint64_t packet_due(const struct packet_run *run, const struct packet_spawner *s, uint64_t k);

/* What a task does, on whatever thread. `slot` NULL: the slot of this thread. */
void packet_handle(const struct packet_run *run, struct packet_task *task, struct packet_slot *slot);

/* Tasks done in this repetition, by all threads. */
uint64_t packet_done(void);

/* A slot of one's own, for threads that do not live long enough to keep one. */
struct packet_slot *packet_slot_new(void);

/* For monitors: has nothing been done for half a minute? Then it says so and the process ends (1). */
struct packet_watch {
    uint64_t done, since;
};
void packet_watch(const struct packet_run *run, struct packet_watch *w);

void packet_finish(struct packet_run *run);

#endif
