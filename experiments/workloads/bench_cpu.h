/* SPDX-License-Identifier: MIT
 *
 * Processor time: of the process, or of the control group that it is in (000 §4.5.2 read that of its benchmark's).
 */
#ifndef BENCH_CPU_H
#define BENCH_CPU_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A row of the option table of a program that has the metric `cpu`. */
#define BENCH_CPU_OPTION                                                                                         \
    {                                                                                                            \
        "cpu-by", BENCH_CHOICE, "process", 0, 0, "process|cgroup", "",                                           \
            "whose processor time: the process's (what getrusage sums), or that of its control group, with all " \
            "else "                                                                                              \
            "that is in it",                                                                                     \
            NULL, 0, 0, false                                                                                    \
    }

#define BENCH_CPU_CLOCK                                                                                            \
    "starts a tenth of the duration after all have been started, stops when the duration is over; cpu: processor " \
    "time between the two, an iteration"

/* Nanoseconds so far, as --cpu-by says. Ends the process (77) where a control group has none. */
uint64_t bench_cpu(const struct bench *b);

/* Of the control group that the file `self` (/proc/self/cgroup) names below `root` (/sys/fs/cgroup): that of version 1 where
 * both are there, since a mixed set-up has the processors there. 0: its time is not to be had. */
uint64_t bench_cgroup_ns(const char *self, const char *root);

#ifdef __cplusplus
}
#endif
#endif
