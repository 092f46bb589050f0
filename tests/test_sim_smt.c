/* SPDX-License-Identifier: MIT
 *
 * Two threads on one core: an instruction takes 1 ns alone, 3 while the other thread runs; what one has in its cache, the
 * other has too.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sim_probe.h"

enum { CORES = 4, TURNS = 1000 };

static _Alignas(64) volatile unsigned long line;

static unsigned long turns(unsigned long n)
{
    unsigned long start = probe_now();
    for (unsigned long i = 0; i < n; i++)
        __asm__ volatile("" : "+r"(i));
    return probe_now() - start;
}

static unsigned long reads(void)
{
    unsigned long start = probe_now();
    (void)line;
    return probe_now() - start;
}

static void *other(void *to)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(*(unsigned *)to, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    probe_until(20000);
    unsigned long took = reads();
    if ((took < 50) != (*(unsigned *)to == CORES)) {
        printf("processor %u: a line of core 0 in %lu ns\n", *(unsigned *)to, took);
        return to;
    }
    probe_until(60000);
    return NULL;
}

static int with(unsigned processor, unsigned long alone, unsigned long factor)
{
    pthread_t t;
    void *wrong;
    pthread_create(&t, NULL, other, &processor);
    probe_until(40000); /* it runs */
    unsigned long took = turns(TURNS);
    pthread_join(t, &wrong);
    /* a call and a return around the loop may be on either side */
    bool right = took + 20 > alone * factor && took < alone * factor + 20;
    if (!right)
        printf("%d turns: %lu ns alone, %lu with a thread on processor %u\n", TURNS, alone, took, processor);
    return wrong != NULL || !right;
}

/* ---- the other thread wakes while accesses are noted (argument `wakes`) ---- */

static void *sleeper(void *to)
{
    cpu_set_t set;
    struct timespec ns = {0, 29000};
    CPU_ZERO(&set);
    CPU_SET(CORES, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    probe_until(20000);
    nanosleep(&ns, NULL); /* with `park`: until 50000 */
    return to;
}

static unsigned long loads(unsigned n)
{
    unsigned long start = probe_now();
    for (unsigned i = 0; i < n; i++)
        (void)line;
    return probe_now() - start;
}

/* From about 50000 on it has its core, though it runs only 2000 later: nothing but instructions and hits is in between. */
static int wakes(void)
{
    pthread_t t;
    (void)loads(1);
    unsigned long alone = loads(100);
    pthread_create(&t, NULL, sleeper, NULL);
    probe_until(49900);
    unsigned long beside = loads(100);
    pthread_join(t, NULL);
    bool right = beside > 2 * alone && beside < 3 * alone;
    printf("100 loads: %lu ns alone, %lu while the other thread wakes: %s\n", alone, beside, right ? "ok" : "failed");
    return !right;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "wakes") == 0)
        return wakes();
    (void)reads();
    unsigned long alone = turns(TURNS);
    int failed = argc > 1 ? with(1, alone, 1) : with(CORES, alone, 3);
    failed += turns(TURNS) > alone + 20; /* it has ended */
    printf(failed == 0 ? "sim_smt: ok\n" : "sim_smt: failed\n");
    return failed != 0;
}
