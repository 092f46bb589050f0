/* SPDX-License-Identifier: MIT
 *
 * The Linux platform: clock, spinning, calibrated work, the start of a seed.
 */
#define _GNU_SOURCE
#include "../platform.h"

#include <sched.h>
#include <sys/random.h>
#include <time.h>

tn_time tn_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (tn_time)ts.tv_sec * 1000000000u + (tn_time)ts.tv_nsec;
}

void tn_spin_wait(unsigned *spins)
{
    if (++*spins < 64)
        tn_relax();
    else
        sched_yield(); /* whoever we wait for may need this very processor */
}

unsigned tn_spin_bound(unsigned n)
{
    return n;
}

/* A chain of dependent multiplications: neither the compiler nor the processor can shorten it, and its speed
 * does not depend on memory. */
static uint64_t churn(uint64_t rounds)
{
    uint64_t x = rounds | 1;
    for (uint64_t i = 0; i < rounds; i++) {
        x *= UINT64_C(6364136223846793005);
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static _Atomic(uint64_t) rounds_per_ms; /* relaxed: any calibration serves as well as another */

double tn_work_calibrate(void)
{
    enum { ROUNDS = 200000, TRIES = 9 };
    tn_time best = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) { /* the fastest: interruptions only ever add */
        tn_time t0 = tn_now();
        churn(ROUNDS);
        tn_time t = tn_now() - t0;
        best = t < best ? t : best;
    }
    double per_us = (double)ROUNDS * 1e3 / (double)(best ? best : 1);
    atomic_store_explicit(&rounds_per_ms, (uint64_t)(per_us * 1e3), memory_order_relaxed);
    return per_us;
}

void tn_work(uint64_t ns)
{
    uint64_t rate = atomic_load_explicit(&rounds_per_ms, memory_order_relaxed);
    if (rate == 0) {
        tn_work_calibrate();
        rate = atomic_load_explicit(&rounds_per_ms, memory_order_relaxed);
    }
    churn((uint64_t)((double)ns * (double)rate / 1e6));
}

uint64_t tn_entropy(void)
{
    uint64_t x;
    if (getrandom(&x, sizeof x, GRND_NONBLOCK) != (ssize_t)sizeof x)
        x = tn_now();
    return x;
}
