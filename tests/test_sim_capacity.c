/* SPDX-License-Identifier: MIT
 *
 * Full caches against sums that were worked out by hand. The machine's first level holds 16 lines (4 sets of 4), the second
 * one 64 in one set, shared by a pair; each in the order of their last use. A line costs 1, 10 or (from memory) 50.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim_probe.h"

enum { LINE = 64, MOST = 128 };

static _Alignas(4096) volatile char lines[4][MOST][LINE];

static void scan(unsigned which, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        (void)lines[which][i][0];
}

static void costs(unsigned which, unsigned n, unsigned long ns, const char *what)
{
    unsigned long start = probe_now();
    scan(which, n);
    probe_expect(start + ns, what);
}

static void write_costs(unsigned which, unsigned n, unsigned long ns, const char *what)
{
    unsigned long start = probe_now();
    for (unsigned i = 0; i < n; i++)
        lines[which][i][0] = 1;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    probe_expect(start + ns, what);
}

/* On core 0. */
static void alone(void)
{
    costs(0, 16, 16 * 50, "from memory");
    costs(0, 16, 16, "what fits into the first level");
    costs(0, 32, 16 + 16 * 50, "twice of it");
    costs(0, 32, 32 * 10, "does not fit, in the order of use, but into the second");
    costs(0, 16, 16 * 10, "the first half was dropped by the other");
    costs(0, 16, 16, "and is there again");
    costs(0, MOST, 16 + 16 * 10 + 96 * 50, "twice the second level");
    costs(0, MOST, MOST * 50, "does not fit into that");
    costs(0, 1, 50, "the first one is long gone");
    costs(0, 1, 1, "a line that was taken up again");
    write_costs(0, 1, 1 + 3, "a store to a line at hand, and a fence");
    costs(0, 32, 1 + 31 * 50, "the others again");
    write_costs(0, 1, 10, "a store to a line of the second level, for which the fence waits");
}

/* On core 1, of the same pair, or on core 2, of the other one. */
static void *other(void *arg)
{
    probe_until(40000 + 20000 * *(unsigned long *)arg);
    costs(1 + (unsigned)*(unsigned long *)arg, 48, 48 * 50, "another core's own lines");
    return NULL;
}

static void sharing(void)
{
    pthread_t neighbour, far;
    static unsigned long numbers[2] = {0, 1};
    probe_until(32000);
    scan(3, 48);
    costs(3, 48, 48 * 10, "what the second level holds");
    pthread_create(&neighbour, NULL, other, &numbers[0]);
    pthread_create(&far, NULL, other, &numbers[1]);
    probe_until(50000);
    costs(3, 48, 48 * 50, "the neighbour has driven it out");
    probe_until(70000);
    costs(3, 48, 48 * 10, "the other pair has not");
    pthread_join(neighbour, NULL);
    pthread_join(far, NULL);
}

/* The second level holds what the first one does not: 80 lines in all. */
static void victim(void)
{
    costs(0, 80, 80 * 50, "from memory");
    costs(0, 80, 80 * 10, "what both levels hold together");
    costs(0, 80, 80 * 10, "and again");
    costs(0, 81, 80 * 10 + 50, "one more");
    costs(0, 1, 50, "has driven out the first");
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "victim") == 0) {
        victim();
    } else {
        alone();
        sharing();
    }
    int failed = probe_failures();
    printf(failed == 0 ? "sim_capacity: ok\n" : "sim_capacity: %d failed\n", failed);
    return failed != 0;
}
