/* SPDX-License-Identifier: MIT
 *
 * Stacks: what a crowd of parked fibres takes to make and to keep, twice over: in the first round every stack is new, in
 * the second those that are kept serve again. Rows H4 (where stacks come from) and the memory goal of a million.
 */
#include "bench_tenter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct bench *bench;

struct member {
    tn_fibre *fibre;
    tn_waiter waiter;
};

static void *park(void *arg)
{
    struct member *m = arg;
    m->waiter = tn_wait_prepare();
    tn_wait(TN_FOREVER, NULL);
    return arg;
}

static double status_bytes(const char *key)
{
    char line[256];
    double kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtod(line + strlen(key), NULL);
    if (f != NULL)
        fclose(f);
    return kib * 1024;
}

/* Each of n stacks chosen at random has a page below it that nobody can read. */
static void probe_guards(struct member *crowd, uint64_t fibres, uint64_t n)
{
    int fd[2];
    uint64_t seed = (uint64_t)bench_int(bench, "seed"), missing = 0;
    if (pipe(fd) != 0)
        bench_die(bench, BENCH_INTERNAL, "no pipe");
    for (uint64_t i = 0; i < n; i++) {
        tn_fibre *f = crowd[bench_random(&seed) % fibres].fibre;
        missing +=
            write(fd[1], (const char *)f - tn_stack_size(f) - 1, 1) == 1; /* a pooled stack ends at its fibre */
    }
    close(fd[0]);
    close(fd[1]);
    if (missing != 0)
        bench_invalid(bench, "%llu of %llu guards are missing", (unsigned long long)missing, (unsigned long long)n);
    bench_count(bench, "guards_probed", (double)n);
}

/* Spawn, wait until all are parked: the rate. Wake and join all. */
static double round_of(struct member *crowd, uint64_t n, int rep, bool first)
{
    double resident = status_bytes("RssAnon:"), tables = status_bytes("VmPTE:");
    uint64_t begin = bench_now();
    for (uint64_t i = 0; i < n; i++) {
        crowd[i].waiter.fibre = NULL;
        int rc = tn_spawn(&crowd[i].fibre, NULL, park, &crowd[i]);
        if (rc != 0)
            bench_die(bench, BENCH_INTERNAL, "fibre %llu: %s", (unsigned long long)i, strerror(rc));
    }
    for (uint64_t i = 0; i < n; i++)
        while (*(tn_fibre *volatile *)&crowd[i].waiter.fibre == NULL)
            tn_yield();
    double ns = (double)(bench_now() - begin) / (double)n;
    if (first) {
        bench_sample(bench, "resident", "B", (status_bytes("RssAnon:") - resident) / (double)n, rep);
        bench_sample(bench, "page_tables", "B", (status_bytes("VmPTE:") - tables) / (double)n, rep);
    }
    if (bench_int(bench, "guards") != 0)
        probe_guards(crowd, n, (uint64_t)bench_int(bench, "guards"));
    uint64_t ended = 0;
    for (uint64_t i = 0; i < n; i++)
        tn_wake(crowd[i].waiter);
    for (uint64_t i = 0; i < n; i++) {
        void *value = NULL;
        tn_join(crowd[i].fibre, &value);
        ended += value == &crowd[i];
    }
    if (ended != n)
        bench_invalid(bench, "fibres are missing");
    return ns;
}

static void *first(void *arg)
{
    uint64_t n = (uint64_t)bench_int(bench, "fibres");
    struct member *crowd = malloc(n * sizeof *crowd);
    if (crowd == NULL)
        bench_die(bench, BENCH_INTERNAL, "no memory");
    memset(crowd, 1, n * sizeof *crowd); /* resident before it is measured what the fibres add */
    bench_tenter_counters_start();
    bench_sample(bench, "create_first", "ns", round_of(crowd, n, bench_reps(bench) - 1, true),
                 bench_reps(bench) - 1); /* once, and no warm-up */
    for (int rep = 0; rep < bench_reps(bench); rep++)
        bench_sample(bench, "create_again", "ns", round_of(crowd, n, rep, false), rep);
    bench_tenter_counters_stop(bench);
    free(crowd);
    return arg;
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"guards", BENCH_INT, "0", 0, 1000000, NULL, "stacks",
         "guards to probe in each round, chosen at random; pooled stacks only", NULL, 0, 0, false},
    };
    static struct bench b = {
        .program = "stacks",
        .about = "what a crowd of parked fibres takes to make and to keep",
        .clock = "starts just before the first spawn of a round, stops when the last fibre has parked; a fibre",
        .takes = BENCH_TAKES_SCHEDULER | BENCH_TAKES_FIBRES,
        .own = own,
        .n = sizeof own / sizeof *own};
    bench = &b;
    bench_start(&b, argc, argv);
    bench_tenter_run(&b, "", first, NULL);
    return bench_finish(&b);
}
