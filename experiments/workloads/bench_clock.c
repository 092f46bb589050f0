/* SPDX-License-Identifier: MIT
 *
 * Calibration of the processor's counter; see bench_clock.h.
 */
#include "bench_clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

struct bench_tsc bench_tsc;

/* Does the counter go at one speed, whatever the processor does? */
static bool steady(void)
{
#if defined(TENTER_SIMULATED)
    return false;
#elif defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1u << 8) != 0;
#elif defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

/* The counter and the clock at one moment: of several tries the one in which least came between. */
static struct bench_tsc moment(void)
{
    struct bench_tsc best = {0, 0, 0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        uint64_t before = bench_ticks(), ns = bench_now(), after = bench_ticks();
        if (after - before < least) {
            least = after - before;
            best = (struct bench_tsc){before + least / 2, ns, 0};
        }
    }
    return best;
}

static void calibrate(void)
{
    struct bench_tsc first = moment(), last = first;
    while (last.ns - first.ns < 20000000)
        last = moment();
    double scale = (double)(last.ns - first.ns) / (double)(last.ticks - first.ticks) * 4294967296.0;
    bench_tsc = (struct bench_tsc){last.ticks, last.ns, (uint64_t)scale};
}

void bench_clock_start(struct bench *b, enum bench_clock clock)
{
    enum { READINGS = 20000, TRIES = 5 };
    double best = 0;
    if (clock == BENCH_CLOCK_TSC) {
        if (!steady())
            bench_die(b, BENCH_UNSUPPORTED, "--clock tsc: this processor has no counter that goes at one speed");
        calibrate();
    }
    for (int i = 0; i < TRIES; i++) {
        uint64_t start = bench_now();
        for (int k = 0; k < READINGS; k++) {
            uint64_t stamp = bench_stamp(clock);
            __asm__ volatile("" : : "r"(stamp) : "memory");
        }
        double took = (double)(bench_now() - start) / READINGS;
        best = i == 0 || took < best ? took : best;
    }
    bench_count(b, "clock_read_ns", best);
}
