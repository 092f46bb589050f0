/* SPDX-License-Identifier: MIT
 *
 * Micro benchmarks: the loop over cases, shared by all runtimes in C and C++. A case measures one operation;
 * the loop finds how many of them take about `--ms`, and repeats that.
 */
#ifndef MICRO_COMMON_H
#define MICRO_COMMON_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

struct micro_case {
    const char *name; /* also the metric's */
    const char *help;
    unsigned workers;  /* the least number that it needs */
    uint64_t multiple; /* operations come in multiples of this */
    /* Do so many operations; the result is in nanoseconds an operation. An answer that is wrong is told by
     * micro_fail, and then the result does not matter. */
    double (*run)(uint64_t ops);
};

#define MICRO_CLOCK_OPS "starts just before the first of a repetition's operations, stops after the last"
#define MICRO_CLOCK                                                                                           \
    MICRO_CLOCK_OPS "; wake_2w is the median of single latencies, from just before the wake-up to the first " \
                    "instruction of the woken"

/* `--case`, `--ms`, and `--depth` of fork_join; rows for the option table. The choices of `--case` are filled
 * in by micro_start from the tables of cases. */
#define MICRO_OPTIONS(depth)                                                                                      \
    {                                                                                                             \
        "case", BENCH_LIST, "all", 0,    0, NULL, "", "cases to run; runtime and neighbours are groups",          \
        NULL,   0,          0,     false},                                                                        \
        {"ms", BENCH_REAL, "40", 0.01, 10000, NULL, "ms", "about how long a repetition of a case takes",          \
         NULL, 0,          0,    false},                                                                          \
    {                                                                                                             \
        "depth", BENCH_INT, depth, 1, 24, NULL, "levels", "of the tree of fork_join, below its root", NULL, 0, 0, \
            false                                                                                                 \
    }

/* Options as bench_start; cases of the runtime, and of the neighbours (NULL, 0: none). */
void micro_start(struct bench *b, int argc, char **argv, const struct micro_case *runtime, size_t n,
                 const struct micro_case *neighbours, size_t m);

/* Measure those cases of a table that the command line asks for. */
void micro_measure(const struct micro_case *cases, size_t n);

/* From here on `start` is called before the first repetition of a case that counts, and `stop` with the case's name after the
 * last. */
void micro_watch(void (*start)(void), void (*stop)(const char *name));

/* The options, and how deep the tree is, for the bodies. */
unsigned micro_workers(void);
unsigned micro_depth(void);
uint64_t micro_nodes(void);

/* The answer of a case was wrong. */
void micro_fail(const char *name, const char *why);

/* A latency of wake_2w, and the median of those since the last call. */
void micro_latency(uint64_t ns);
double micro_latency_median(void);

/* bench_finish, or exit 77 when no case that was asked for can be run with so few workers. */
int micro_finish(void);

/* All of a program in which no runtime of fibres runs; its first thread is on the first processor. */
int micro_alone(struct bench *b, int argc, char **argv, const struct micro_case *cases, size_t n);

/* Rounds that the hog of wake_2w computes before each wake-up, so that the other worker has gone idle; and
 * how long it then waits for the woken one before it calls that wrong. */
enum { MICRO_PAUSE_NS = 20000, MICRO_PATIENCE_NS = 2000000000 };

/* The physical neighbours; in micro_neighbours.c. A simulated machine has none. */
#if defined(TENTER_SIMULATED)
#define MICRO_RUNTIME      "simulate"
#define micro_neighbours   NULL
#define micro_neighbours_n 0
#else
#define MICRO_RUNTIME "native"
extern const struct micro_case micro_neighbours[];
extern const size_t micro_neighbours_n;
#endif

#ifdef __cplusplus
}
#endif
#endif
