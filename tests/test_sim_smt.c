/* SPDX-License-Identifier: MIT
 *
 * Two threads on one core: an instruction takes 1 ns alone, 3 while the other thread runs; what one has in its cache, the
 * other has too.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

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

int main(int argc, char **argv)
{
    (void)argv;
    (void)reads();
    unsigned long alone = turns(TURNS);
    int failed = argc > 1 ? with(1, alone, 1) : with(CORES, alone, 3);
    failed += turns(TURNS) > alone + 20; /* it has ended */
    printf(failed == 0 ? "sim_smt: ok\n" : "sim_smt: failed\n");
    return failed != 0;
}
