/* SPDX-License-Identifier: MIT
 *
 * How fast the explorer is: runs the compiled checker on golden programs, whose executions are known, and says how many
 * it explores a second, what it takes from exec to exit, and how much memory. `--workers N` is its --jobs; with `--share
 * apart` that many checkers explore the whole program each, at the same time: what the machine gives to N processes.
 */
#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const struct golden {
    const char *name;
    long long executions;
} golden[] = {{"inc", 7134}, {"msq", 11198}, {"sb", 3}, {"writers", 362880}};
#define NAMES "inc|msq|sb|writers"

static struct bench_option options[] = {
    {"golden", BENCH_CHOICE, "inc", 0, 0, NAMES, "",
     "inc: 3 threads, 2 turns; msq: 2 producers, 2 consumers; sb: 3 executions, so that all is start; writers: 9",
     NULL, 0, 0, false},
    {"share", BENCH_CHOICE, "together", 0, 0, "together|apart", "",
     "together: one checker with as many processes; apart: as many checkers, each with the whole", NULL, 0, 0, false},
};

static struct bench bench = {
    .program = "explore",
    .about = "The explorer on golden programs.",
    .clock = "starts before the checker's exec, stops when it has exited",
    .own = options,
    .n = sizeof options / sizeof *options,
};

struct answer {
    double wall, cpu; /* ms */
    double executions, kib, startup;
};

struct run {
    pid_t child;
    int from;
    uint64_t begin;
};

static double number(const char *text, const char *key)
{
    char line[64];
    snprintf(line, sizeof line, "\n%s ", key);
    const char *at = strstr(text, line);
    return at == NULL ? -1 : atof(at + strlen(line));
}

static struct run start(const char *name, const char *jobs)
{
    char image[512];
    int to[2];
    snprintf(image, sizeof image, "%s/%s.so", EXPLORE_IMAGES, name);
    char *argv[] = {(char *)EXPLORE_IMAGES "/dscheck.bin", image, (char *)"--jobs", (char *)jobs, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (pipe2(to, O_CLOEXEC) != 0)
        bench_die(&bench, BENCH_INTERNAL, "no pipe");
    posix_spawn_file_actions_adddup2(&actions, to[1], 1);
    struct run run = {.from = to[0], .begin = bench_now()};
    if (posix_spawn(&run.child, argv[0], &actions, NULL, argv, environ) != 0)
        bench_die(&bench, BENCH_INTERNAL, "cannot run %s", argv[0]);
    close(to[1]);
    posix_spawn_file_actions_destroy(&actions);
    return run;
}

/* Adds to `a`; of several at the same time, the wall is the slowest's. */
static void finish(const struct run *run, struct answer *a)
{
    char text[8192] = "\n";
    size_t n = 1;
    int status;
    struct rusage used;
    for (ssize_t got; n < sizeof text - 1 && (got = read(run->from, text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)got;
    close(run->from);
    if (wait4(run->child, &status, 0, &used) != run->child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_die(&bench, BENCH_INTERNAL, "the checker failed");
    double wall = (double)(bench_now() - run->begin) / 1e6;
    a->wall = wall > a->wall ? wall : a->wall;
    a->cpu += (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
              (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
    a->executions += number(text, "executions");
    a->kib = number(text, "kib");
    a->startup = number(text, "startup") * 1e3;
}

int main(int argc, char **argv)
{
    bench_start(&bench, argc, argv);
    bench_binary_peer(&bench, "explorer", "sc", "");
    int64_t workers = bench_int(&bench, "workers");
    if (workers == 0)
        bench_set_int(&bench, "workers", workers = bench_processors());
    const struct golden *g = &golden[bench_int(&bench, "golden")];
    bool apart = bench_int(&bench, "share") == 1;
    int runs = apart ? (int)workers : 1;
    struct run *run = calloc((size_t)runs, sizeof *run);
    if (run == NULL)
        bench_die(&bench, BENCH_INTERNAL, "no memory for %d runs", runs);
    char jobs[16];
    snprintf(jobs, sizeof jobs, "%d", apart ? 1 : (int)workers);
    personality(ADDR_NO_RANDOMIZE); /* as `tenter check` runs it */
    for (int rep = 0; rep < bench_reps(&bench); rep++) {
        struct answer a = {0};
        for (int i = 0; i < runs; i++)
            run[i] = start(g->name, jobs);
        for (int i = 0; i < runs; i++)
            finish(&run[i], &a);
        if (a.executions != (double)(g->executions * runs))
            bench_invalid(&bench, "%.0f executions of %s, not %lld", a.executions, g->name, g->executions * runs);
        bench_sample(&bench, "time", "ms", a.wall, rep);
        bench_sample(&bench, "cpu", "ms", a.cpu, rep);
        bench_sample(&bench, "throughput", "1/s", a.executions / a.wall * 1e3, rep);
        bench_sample(&bench, "throughput_cpu", "1/s", a.executions / a.cpu * 1e3, rep);
        bench_sample(&bench, "memory", "KiB", a.kib, rep);
        bench_sample(&bench, "startup", "ms", a.startup, rep);
    }
    free(run);
    return bench_finish(&bench);
}
