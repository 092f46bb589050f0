/* SPDX-License-Identifier: MIT
 *
 * Clocks for the probes of a workload (003 §6.5): what a reading costs is part of what is measured. All but `none` give
 * nanoseconds on the scale of bench_now().
 */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In the order of BENCH_CLOCKS. */
enum bench_clock {
    BENCH_CLOCK_VDSO,    /* clock_gettime, by the page that the kernel maps into each process where it does */
    BENCH_CLOCK_SYSCALL, /* the same by a system call */
    BENCH_CLOCK_TSC,     /* the processor's counter, unordered, scaled */
    BENCH_CLOCK_NONE     /* no probe: 0 */
};
#define BENCH_CLOCKS "vdso|syscall|tsc|none"

/* Of the counter: what it and the clock were at the same moment, and nanoseconds a tick in 2^-32. */
struct bench_tsc {
    uint64_t ticks, ns, scale;
};
extern struct bench_tsc bench_tsc;

static inline uint64_t bench_ticks(void)
{
#if defined(TENTER_SIMULATED)
    return 0; /* the host's counter knows nothing of simulated time */
#elif defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

static inline uint64_t bench_stamp(enum bench_clock clock)
{
    struct timespec t;
    switch (clock) {
    case BENCH_CLOCK_VDSO:
        return bench_now();
    case BENCH_CLOCK_SYSCALL:
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    case BENCH_CLOCK_TSC: {
        __extension__ typedef unsigned __int128 wide;
        return bench_tsc.ns + (uint64_t)(((wide)(bench_ticks() - bench_tsc.ticks) * bench_tsc.scale) >> 32);
    }
    case BENCH_CLOCK_NONE:
        break;
    }
    return 0;
}

/* Before the first stamp: calibrates the counter, records the cost of a reading as the counter clock_read_ns. Ends the
 * process (77) where the processor has no counter that goes at one speed. */
void bench_clock_start(struct bench *b, enum bench_clock clock);

#ifdef __cplusplus
}
#endif
#endif
