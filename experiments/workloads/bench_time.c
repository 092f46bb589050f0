/* SPDX-License-Identifier: MIT
 *
 * Calibrated work, and processors.
 */
#include "bench.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

/* ---- work ---- */

static double rounds_per_us; /* written before threads start */
static double rounds_at_start;

/* Each round waits for the multiplication of the one before, so its length does not depend on how many units
 * the processor has; the empty assembly keeps the compiler from working out the end value. */
__attribute__((noinline)) static void rounds(uint64_t n)
{
    uint64_t x = n;
    for (uint64_t i = 0; i < n; i++) {
        x = x * 0x5851f42d4c957f2du + 1;
        __asm__ volatile("" : "+r"(x));
    }
}

static double measure(void)
{
    enum { N = 20000, TRIES = 25 };
    uint64_t least = UINT64_MAX;
    uint64_t n = N;
    __asm__ volatile("" : "+r"(n)); /* else the compiler makes a copy of the loop for N, of another length */
    for (int i = 0; i < TRIES; i++) {
        uint64_t start = bench_now();
        rounds(n);
        uint64_t took = bench_now() - start;
        if (took < least)
            least = took;
    }
    return N * 1e3 / (double)(least == 0 ? 1 : least);
}

double bench_work_calibrate(void)
{
    return rounds_at_start = rounds_per_us = measure();
}

void bench_work(uint64_t ns)
{
    rounds((uint64_t)((double)ns * rounds_per_us / 1e3));
}

void bench_work_check(struct bench *b)
{
    double now = measure();
    bench_count(b, "work_rounds_per_us", rounds_at_start);
    bench_count(b, "work_rounds_per_us_after", now);
    if (fabs(now / rounds_at_start - 1) > 0.1 && b->message[0] == '\0')
        snprintf(b->message, sizeof b->message, "the work loop went at %.0f rounds/us before and %.0f after",
                 rounds_at_start, now);
}

/* ---- processors ---- */

/* What this process could use when it was first asked: pinning a thread changes what it would be told later.
 */
static const cpu_set_t *allowed(void)
{
    static cpu_set_t set;
    static bool known; /* bench_start asks before there are threads */
    if (!known) {
        if (sched_getaffinity(0, sizeof set, &set) != 0) {
            CPU_ZERO(&set);
            CPU_SET(0, &set);
        }
        known = true;
    }
    return &set;
}

unsigned bench_processors(void)
{
    return (unsigned)CPU_COUNT(allowed());
}

/* The n-th processor of those. */
static size_t nth(unsigned n)
{
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, allowed()) && n-- == 0)
            return cpu;
    return 0;
}

unsigned bench_processor(unsigned n)
{
    return (unsigned)nth(n);
}

void bench_pin(unsigned n)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(nth(n % bench_processors()), &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

void bench_confine(unsigned n)
{
    cpu_set_t some;
    CPU_ZERO(&some);
    for (unsigned i = 0; i < n && i < bench_processors(); i++)
        CPU_SET(nth(i), &some);
    pthread_setaffinity_np(pthread_self(), sizeof some, &some);
}
