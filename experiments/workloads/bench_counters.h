/* SPDX-License-Identifier: MIT
 *
 * What the two sources of counters (--counters) offer bench_counters.c. A counter that the machine does not have is
 * recorded as unavailable, with the reason: never as zero.
 */
#ifndef BENCH_COUNTERS_H
#define BENCH_COUNTERS_H

#include "bench.h"

/* likwid's marker API (bench_likwid.c), on each of the processors that this process may use. The first returns NULL, or
 * why there is none; the others are for one that has returned NULL. */
const char *bench_likwid_open(const char *group);
void bench_likwid_start(void);
void bench_likwid_stop(void);
void bench_likwid_record(struct bench *b);

#endif
