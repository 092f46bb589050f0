/* SPDX-License-Identifier: MIT
 *
 * How fast the explorer is: runs the compiled checker on golden programs, whose executions are known, and says how many
 * it explores a second, what it takes from exec to exit, and how much memory. `--workers N` is its --jobs.
 */
#include "bench.h"

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
    double executions, kib;
};

static double number(const char *text, const char *key)
{
    char line[64];
    snprintf(line, sizeof line, "\n%s ", key);
    const char *at = strstr(text, line);
    return at == NULL ? -1 : atof(at + strlen(line));
}

static void explore(const char *name, const char *jobs, struct answer *a)
{
    char image[512], text[8192] = "\n";
    size_t n = 1;
    int to[2], status;
    struct rusage used;
    snprintf(image, sizeof image, "%s/%s.so", EXPLORE_IMAGES, name);
    char *argv[] = {(char *)EXPLORE_IMAGES "/dscheck.bin", image, (char *)"--jobs", (char *)jobs, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (pipe(to) != 0)
        bench_die(&bench, BENCH_INTERNAL, "no pipe");
    posix_spawn_file_actions_adddup2(&actions, to[1], 1);
    posix_spawn_file_actions_addclose(&actions, to[0]);
    uint64_t begin = bench_now();
    pid_t child;
    if (posix_spawn(&child, argv[0], &actions, NULL, argv, environ) != 0)
        bench_die(&bench, BENCH_INTERNAL, "cannot run %s", argv[0]);
    close(to[1]);
    for (ssize_t got; n < sizeof text - 1 && (got = read(to[0], text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)got;
    close(to[0]);
    if (wait4(child, &status, 0, &used) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_die(&bench, BENCH_INTERNAL, "the checker failed on %s", image);
    a->wall = (double)(bench_now() - begin) / 1e6;
    posix_spawn_file_actions_destroy(&actions);
    a->cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
             (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
    a->executions = number(text, "executions");
    a->kib = number(text, "kib");
}

int main(int argc, char **argv)
{
    bench_start(&bench, argc, argv);
    bench_binary_peer(&bench, "explorer", "sc", "");
    int64_t workers = bench_int(&bench, "workers");
    if (workers == 0)
        bench_set_int(&bench, "workers", workers = bench_processors());
    const struct golden *g = &golden[bench_int(&bench, "golden")];
    char jobs[16];
    snprintf(jobs, sizeof jobs, "%d", (int)workers);
    personality(ADDR_NO_RANDOMIZE); /* as `tenter check` runs it */
    for (int rep = 0; rep < bench_reps(&bench); rep++) {
        struct answer a;
        explore(g->name, jobs, &a);
        if (a.executions != (double)g->executions)
            bench_invalid(&bench, "%.0f executions of %s, not %lld", a.executions, g->name, g->executions);
        bench_sample(&bench, "time", "ms", a.wall, rep);
        bench_sample(&bench, "cpu", "ms", a.cpu, rep);
        bench_sample(&bench, "throughput", "1/s", a.executions / a.wall * 1e3, rep);
        bench_sample(&bench, "throughput_cpu", "1/s", a.executions / a.cpu * 1e3, rep);
        bench_sample(&bench, "memory", "KiB", a.kib, rep);
    }
    return bench_finish(&bench);
}
