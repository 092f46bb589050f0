/* SPDX-License-Identifier: MIT
 *
 * What all benchmark programs share: options, samples, counters, histograms, the output, the clock, random
 * numbers, calibrated work. The contract with the runner is docs/results.md. Nothing here knows Tenter, so
 * that the peers on other runtimes use it as well; what only Tenter's programs need is in bench_tenter.h.
 * Usable from C++.
 *
 * A program fills in a struct bench, and then, in this order:
 *
 *     bench_start      options; answers --help and --list
 *     bench_binary     what this binary is; answers --print-config
 *     bench_sample …   the measurements
 *     bench_finish     the output; its value is the exit code
 *
 * All of it is for one thread at a time.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hdr;

/* ---- exit codes ---- */

enum { BENCH_GOOD = 0, BENCH_WRONG = 1, BENCH_USAGE = 2, BENCH_UNSUPPORTED = 77, BENCH_INTERNAL = 99 };

/* ---- options ---- */

enum bench_type {
    BENCH_INT,    /* a whole number in [low, high] */
    BENCH_REAL,   /* a number in [low, high] */
    BENCH_FLAG,   /* takes no value */
    BENCH_TEXT,   /* anything */
    BENCH_CHOICE, /* one of `choices`, "a|b|c"; as a number: which */
    BENCH_LIST    /* one or more of `choices`, with commas between */
};

struct bench_option {
    const char *name;
    enum bench_type type;
    const char *initial; /* the default as a user would write it; NULL: not given */
    double low, high;
    const char *choices;
    const char *unit; /* "" where there is none */
    const char *help;

    /* Filled in by bench_start. */
    const char *text; /* the value as written, NULL: not given and no default */
    int64_t number;   /* BENCH_INT, BENCH_FLAG (0, 1), BENCH_CHOICE */
    double real;      /* BENCH_INT, BENCH_REAL */
    bool given;       /* written by the user, whatever the value */
};

/* Common options that a program takes only where they have a meaning; the others every program takes. */
enum {
    BENCH_TAKES_FIBRES = 1,
    BENCH_TAKES_OPS = 2,
    BENCH_TAKES_DURATION = 4,
    BENCH_TAKES_RATE = 8,
    BENCH_TAKES_SCHEDULER = 16
};

/* ---- the record of one invocation ---- */

struct bench_sample {
    const char *metric, *unit;
    double value;
    int rep;
};
struct bench_counter {
    char name[48];
    double value;
};
struct bench_missing {
    const char *name, *why;
};
struct bench_hist {
    const char *metric, *unit;
    const struct hdr *hdr;
};

#define BENCH_COUNTERS 640 /* micro has the runtime's once a case */
#define BENCH_HISTS    4
#define BENCH_MISSING  16

struct bench {
    const char *program;
    const char *about; /* one sentence */
    const char *clock; /* when the clock starts and when it stops */
    unsigned takes;
    bool open;                /* open loop without a --rate */
    struct bench_option *own; /* the program's own options, n of them */
    size_t n;

    struct bench_option *common;
    size_t commons;
    char *binary; /* a JSON object */
    struct bench_sample *samples;
    size_t filled, room;
    struct bench_counter counters[BENCH_COUNTERS];
    size_t counted;
    struct bench_missing missing[BENCH_MISSING];
    size_t missing_n;
    struct bench_hist hists[BENCH_HISTS];
    size_t hist_n;
    int status; /* 0 ok, 1 invalid, 2 saturated */
    char message[256];
};

/* Parse the command line. Ends the process for --help, --list (0) and for what is wrong (2). */
void bench_start(struct bench *b, int argc, char **argv);

/* The value of an option; a name that the program does not have is a fault of the program (99). */
int64_t bench_int(const struct bench *b, const char *name);
double bench_real(const struct bench *b, const char *name);
const char *bench_text(const struct bench *b, const char *name);
bool bench_given(const struct bench *b, const char *name);

/* Is `item` in the value of a BENCH_LIST? */
bool bench_lists(const struct bench *b, const char *name, const char *item);

/* Put the value that is in force in the place of the one that was asked for ("0 workers" means all). */
void bench_set_int(struct bench *b, const char *name, int64_t value);
void bench_set_text(struct bench *b, const char *name, const char *value);

/* A message on standard error, then exit with `code`. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4), noreturn))
#endif
void bench_die(const struct bench *b, int code, const char *format, ...);

/* What the binary says of itself, a JSON object; an id of the executable is added where it has none. Ends the
 * process (0) when --print-config was given. */
void bench_binary(struct bench *b, const char *json);

/* The same for a peer in C or C++: runtime ("pthread"), its version, and further members, as
 * "\"stack\": 65536", or "". The compiler and an id of the executable are filled in. */
void bench_binary_peer(struct bench *b, const char *runtime, const char *version, const char *more);

/* A measurement of repetition `rep`, counted from 0 with the warm-up ones first. Strings are kept, not
 * copied. */
void bench_sample(struct bench *b, const char *metric, const char *unit, double value, int rep);

/* Is `rep` a warm-up? How many repetitions are there, warm-up included? */
bool bench_warmup(const struct bench *b, int rep);
int bench_reps(const struct bench *b);

/* Add to a counter, made at first use. Counters cover the counted repetitions. */
void bench_count(struct bench *b, const char *name, double value);

/* A counter that was asked for and cannot be had, and why: null in the record, never zero. Strings are kept. */
void bench_unavailable(struct bench *b, const char *name, const char *why);

/* Around what is measured in repetition `rep`: --counters counts there, in repetitions that count, in all threads of the
 * process. One region at a time. */
void bench_region_start(struct bench *b, int rep);
void bench_region_stop(void);

/* A histogram over the counted repetitions; kept, not copied. */
void bench_hist(struct bench *b, const char *metric, const char *unit, const struct hdr *h);

/* The answer was wrong; or the open-loop generator fell behind. The first message is kept. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void bench_invalid(struct bench *b, const char *format, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void bench_saturated(struct bench *b, const char *format, ...);

/* Write the output, release everything. Returns the exit code. */
int bench_finish(struct bench *b);

/* What has been printed is written out: `code`, or, where it cannot be, BENCH_INTERNAL and a line that says `what`. */
int bench_written(const struct bench *b, int code, const char *what);

/* ---- inside, between the files of this library ---- */

void bench_counters_open(struct bench *b);   /* before there are other threads */
void bench_counters_record(struct bench *b); /* after the last region */

/* Of the simulator (sim/report.c): what it says of this run, as the value of "sim" or for people. */
#if defined(TENTER_SIMULATED)
void tn_simulated(bool json);
#endif

struct bench_option *bench_find(const struct bench *b, const char *name);
void bench_json_string(const char *s);
void bench_json_number(double value);
void bench_json_value(const struct bench_option *o);

/* ---- clock, random numbers, work, processors ---- */

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* SplitMix64 (Steele, Lea, Flood 2014): every state is good, so streams are made by adding to the seed. */
static inline uint64_t bench_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A number below n, of 32 random bits. */
static inline uint32_t bench_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(((bench_random(state) >> 32) * n) >> 32);
}

/* A breath in a spin loop. */
static inline void bench_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Compute for about `ns`, by a loop that touches no memory. Calibrate first: rounds a microsecond, the
 * greatest of several tries, since another process's share can only make one slower. */
double bench_work_calibrate(void);
void bench_work(uint64_t ns);

/* Calibrate again after the measurement and record both values as counters; a difference of more than a tenth
 * is said in the message. */
void bench_work_check(struct bench *b);

/* Processors that this process may use; pin the calling thread to the n-th of them (modulo); keep the calling
 * thread, and those that it makes later, on the first n of them. */
unsigned bench_processors(void);
unsigned bench_processor(unsigned n); /* the system's number of the n-th */
void bench_pin(unsigned n);
void bench_confine(unsigned n);

#ifdef __cplusplus
}
#endif
#endif
