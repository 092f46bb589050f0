/* SPDX-License-Identifier: MIT
 *
 * What Tenter's own benchmark programs share: from options to a running runtime, from its counters to the
 * record.
 */
#ifndef BENCH_TENTER_H
#define BENCH_TENTER_H

#include "bench.h"
#include <tenter.h>

/* Start a runtime as --workers, --pin, --seed and --scheduler say, with `knobs` (":capacity=128", or "")
 * added to the scheduler's; run fn(arg) as its first fibre; stop it. Before fn runs the binary has been described,
 * and so --print-config answered. Ends the process (2) when the runtime refuses a knob. */
void bench_tenter_run(struct bench *b, const char *knobs, void *(*fn)(void *), void *arg);

/* Rows for the option table of a program whose subject is what idle workers do (000 §3.2.3); bench_tenter_run hands
 * them to the runtime. Without them the runtime's defaults hold. */
#define BENCH_TENTER_IDLE                                                                                          \
    {"idle",                                                                                                       \
     BENCH_CHOICE,                                                                                                 \
     "spin-block",                                                                                                 \
     0,                                                                                                            \
     0,                                                                                                            \
     "block|spin|spin-block",                                                                                      \
     "",                                                                                                           \
     "what a worker without work does",                                                                            \
     NULL,                                                                                                         \
     0,                                                                                                            \
     0,                                                                                                            \
     false},                                                                                                       \
    {                                                                                                              \
        "spin-us", BENCH_INT, "30", 0, 1000000, NULL, "us", "--idle spin-block: how long it looks for work first", \
            NULL, 0, 0, false                                                                                      \
    }

/* Is `knob` named in --scheduler or, without that, in TENTER_SCHEDULER? */
bool bench_tenter_names(const struct bench *b, const char *knob);

/* Has the module that will run this knob? A plug-in never. */
bool bench_tenter_has(const struct bench *b, const char *knob);

/* Around the counted repetitions: what the cluster's counters have grown by between the two goes into the
 * record. Who: a fibre. */
void bench_tenter_counters_start(void);
void bench_tenter_counters_stop(struct bench *b);

/* All repetitions, one after the other, and those behind the warm-up counted. Who: a fibre. */
void bench_tenter_repeat(struct bench *b, void (*repetition)(int rep));

/* The load comes from outside: generator() in a plain thread of its own, counted as a whole, while the caller waits. Who: a
 * fibre. */
void bench_tenter_outside(struct bench *b, void (*generator)(void));

#endif
