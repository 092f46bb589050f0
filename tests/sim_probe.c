/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sim_probe.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../core/platform.h"
#include "../sim/sim.h"

static int failures;

unsigned long probe_now(void)
{
    sim_arrive();
    return sim_now / SIM_PS - SIM_START_NS;
}

void probe_until(unsigned long ns)
{
    sim_arrive();
    uint64_t then = (SIM_START_NS + ns) * SIM_PS;
    if (then < sim_now) {
        printf("too late: it is %lu, not yet %lu was meant\n", probe_now(), ns);
        failures++;
    }
    sim_now = then > sim_now ? then : sim_now;
    sim_arrive();
}

void probe_expect(unsigned long ns, const char *what)
{
    unsigned long now = probe_now();
    if (now != ns) {
        printf("%s: at %lu, where %lu is right\n", what, now, ns);
        failures++;
    }
}

unsigned long probe_transfers(void)
{
    unsigned long n = 0;
    sim_drain();
    for (unsigned i = 0; i < sim_processors; i++)
        n += sim_cores[i].transfers;
    return n;
}

void probe_heavy(void)
{
    tn_fence_heavy();
}

void probe_clock(void)
{
    (void)tn_now();
}

void probe_spin(unsigned spins)
{
    tn_spin_wait(&spins);
}

static _Atomic(uint32_t) bed;

void probe_sleep(void)
{
    tn_park(&bed, bed, UINT64_MAX);
}

void probe_wake(void)
{
    bed++;
    tn_unpark(&bed, 1);
}

unsigned long probe_kernel(void)
{
    struct sim_account a = {0};
    sim_account(sim_me->id, &a);
    return a.kernel / SIM_PS;
}

bool probe_worst_is(const char *name)
{
    uintptr_t line;
    size_t offset;
    sim_drain();
    const char *found = sim_lines_worst(&line, 1) == 1 ? sim_variable(line, &offset) : NULL;
    return found != NULL && strcmp(found, name) == 0;
}

bool probe_guards(unsigned n)
{
    enum { STRIDE = 8192, GUARD_INSTALL = 102 };
    char *base = tn_map((size_t)n * STRIDE);
    return base != NULL && (madvise(base, STRIDE, GUARD_INSTALL) != 0 || tn_guard(base, STRIDE, n) == 0);
}

int probe_failures(void)
{
    return failures;
}
