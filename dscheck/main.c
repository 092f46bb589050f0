/* SPDX-License-Identifier: MIT */
/*
 * The compiled checker: explores one shared object, and prints what it found as lines `key value` on standard output,
 * with one line a step of a failing execution.  experiments/runner/check_report.py makes a report of that.
 */
#define _GNU_SOURCE
#include "answer.h"
#include "jobs.h"
#include "watch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

static void interrupt(int signal)
{
    (void)signal;
    run_interrupted = 1;
}

/* ---- crashes of the code under test: go on in the engine ---- */

static const char *crash, *crash_kind;

static void crashed(void)
{
    if (in_ahead)
        in_op(0, 0, 0, 0, 0, OP_STOP * 8);
    in_bug(crash_kind, "%s", crash);
}

static void fault(int signal, siginfo_t *info, void *context)
{
    static char text[128];
    if (!in_explored()) {
        fprintf(stderr, "internal: signal %d in the explorer\n", signal);
        _exit(99);
    }
    char *at = info->si_addr;
    crash_kind = "crash";
    if (signal == SIGSEGV && at >= (char *)in_cur->low - 4096 && at < (char *)in_cur->low + 4096) {
        crash_kind = "unsupported";
        snprintf(text, sizeof(text), "a thread needs more than %d KiB of stack", IN_STACK / 1024);
    } else
        snprintf(text, sizeof(text), "%s at address %p", signal == SIGFPE ? "arithmetic fault" : "invalid access",
                 info->si_addr);
    crash = text;
    watch_divert(context, crashed);
}

static void handlers(void)
{
    static char stack[65536];
    stack_t s = {.ss_sp = stack, .ss_size = sizeof(stack)};
    sigaltstack(&s, NULL);
    struct sigaction a = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    a.sa_sigaction = fault;
    sigaction(SIGSEGV, &a, NULL);
    sigaction(SIGBUS, &a, NULL);
    sigaction(SIGFPE, &a, NULL);
    sigaction(SIGILL, &a, NULL);
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
}

/* Of this program alone: what getrusage() says begins with the peak of whoever started it. */
static long peak_kib(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        sscanf(line, "VmHWM: %ld", &kib);
    if (f != NULL)
        fclose(f);
    return kib;
}

static uint8_t *schedule_of(const char *file, size_t *n)
{
    FILE *f = fopen(file, "r");
    char line[512];
    uint8_t *out = malloc(2 * SLOTS_MAX);
    if (f == NULL || out == NULL) {
        fprintf(stderr, "cannot read %s\n", file);
        exit(2);
    }
    while (fgets(line, sizeof(line), f) != NULL) {
        unsigned thread, choice;
        if (*n < SLOTS_MAX && sscanf(line, "%u %u", &thread, &choice) == 2) {
            out[2 * *n] = (uint8_t)thread;
            out[2 * *n + 1] = (uint8_t)choice;
            ++*n;
        }
    }
    fclose(f);
    return out;
}

/* The options that a checkpoint belongs to, as a user writes them. */
static void same_when_resumed(uint32_t events_max)
{
    static char text[256];
    const struct run_options *o = &run_options;
    static const char *const strategy[] = {"", "random", "pct", ""};
    FILE *f = fmemopen(text, sizeof(text), "w");
    if (f == NULL)
        exit(99);
    fprintf(f, "%s%s%s%s%s", o->retry_as_await ? "--retry-as-await " : "", o->spurious_cas ? "--spurious-cas " : "",
            in_spurious_wake ? "--spurious-wake " : "", in_malloc_fail ? "--malloc-fail " : "",
            in_reuse ? "" : "--reuse off ");
    if (o->strategy == RANDOM || o->strategy == PCT)
        fprintf(f, "--strategy %s --seed %llu ", strategy[o->strategy], (unsigned long long)o->seed);
    if (o->strategy == BOUNDED || o->strategy == PCT)
        fprintf(f, "--bound %u ", o->bound);
    if (o->events_max != events_max)
        fprintf(f, "--events %u ", o->events_max);
    if (search_shards > 1)
        fprintf(f, "--shard %u/%u ", search_shard + 1, search_shards);
    fclose(f);
    if (text[0] != '\0')
        text[strlen(text) - 1] = '\0';
    jobs_options.options = text;
}

/* The first step, from 1, at which a replay is no more the recorded execution; 0: it is. */
static size_t departed(void)
{
    size_t n = run_options.schedule_n, at = 0;
    while (at < n && at < run_traced && run_trace[at].tid == run_options.schedule[2 * at])
        at++;
    return at == n && (run_traced == n || run_result.bug) ? 0 : at + 1;
}

int main(int argc, char **argv)
{
    if ((personality(0xffffffff) & ADDR_NO_RANDOMIZE) == 0 && getenv("DSCHECK_AGAIN") == NULL) {
        setenv("DSCHECK_AGAIN", "1", 1);
        personality(ADDR_NO_RANDOMIZE);
        execv("/proc/self/exe", argv);
    }
    double began = jobs_now();
    const uint32_t events_max_default = run_options.events_max;
    const char *image = NULL;
    for (int i = 1; i < argc; i++) {
        const char *o = argv[i], *v = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(o, "--retry-as-await") == 0) {
            run_options.retry_as_await = true;
        } else if (strcmp(o, "--spurious-cas") == 0) {
            run_options.spurious_cas = true;
        } else if (strcmp(o, "--spurious-wake") == 0) {
            in_spurious_wake = true;
        } else if (strcmp(o, "--malloc-fail") == 0) {
            in_malloc_fail = true;
        } else if (strcmp(o, "--progress") == 0) {
            jobs_options.progress = true;
        } else if (strcmp(o, "--reuse") == 0) {
            in_reuse = strcmp(v, "on") == 0;
            i++;
        } else if (strcmp(o, "--strategy") == 0) {
            run_options.strategy = strcmp(v, "pct") == 0 ? PCT : strcmp(v, "random") == 0 ? RANDOM : EXHAUSTIVE;
            i++;
        } else if (strcmp(o, "--bound") == 0) {
            run_options.bound = (unsigned)atoi(v);
            if (run_options.strategy == EXHAUSTIVE)
                run_options.strategy = BOUNDED;
            i++;
        } else if (strcmp(o, "--budget") == 0) {
            run_options.budget = strtoull(v, NULL, 10);
            i++;
        } else if (strcmp(o, "--seconds") == 0) {
            run_options.seconds = atof(v);
            i++;
        } else if (strcmp(o, "--seed") == 0) {
            run_options.seed = strtoull(v, NULL, 10);
            i++;
        } else if (strcmp(o, "--events") == 0) {
            run_options.events_max = (uint32_t)atoi(v);
            i++;
        } else if (strcmp(o, "--jobs") == 0) {
            jobs_options.processes = atoi(v);
            i++;
        } else if (strcmp(o, "--checkpoint") == 0) {
            jobs_options.checkpoint = v;
            i++;
        } else if (strcmp(o, "--interval") == 0) {
            jobs_options.interval = atof(v);
            i++;
        } else if (strcmp(o, "--resume") == 0) {
            jobs_options.resume = true;
        } else if (strcmp(o, "--shard") == 0) {
            if (sscanf(v, "%u/%u", &search_shard, &search_shards) != 2 || search_shard-- == 0 ||
                search_shard >= search_shards)
                return 2;
            i++;
        } else if (strcmp(o, "--schedule") == 0) {
            run_options.strategy = SCHEDULE;
            run_options.schedule = schedule_of(v, &run_options.schedule_n);
            i++;
        } else {
            image = o;
        }
    }
    if (image == NULL)
        return 2;
    in_world_init();
    in_image(image);
    handlers();
    watch_start();
    same_when_resumed(events_max_default);
    jobs_init();
    double first = jobs_now();
    run_all();
    struct run_result *r = &run_result;
    size_t off = run_options.strategy == SCHEDULE ? departed() : 0;
    if ((r->bug || r->unsupported) && jobs_first()) {
        answer_failure();
        fflush(stdout);
    }
    jobs_end();
    printf("verdict %s\n", r->unsupported ? "unsupported" : r->bug ? "bug" : r->incomplete ? "incomplete" : "ok");
    printf("executions %llu\nblocked %lld\nseconds %.6f\nthreads %u\n", (unsigned long long)r->executions,
           (long long)r->blocked, jobs_seconds(), r->threads);
    printf("startup %.6f\nkib %ld\nevents %llu\nconflicts %llu\n", first - began, peak_kib(),
           (unsigned long long)r->events, (unsigned long long)r->conflicts);
    if (off != 0)
        printf("departed %zu\n", off);
    if (jobs_lost())
        printf("lost 1\n");
    printf("discarded %llu\n", (unsigned long long)search_discarded);
    if (run_interrupted == 1)
        printf("interrupted 1\n");
    printf("seen");
    for (size_t at = 0; at < (size_t)(in_object.text_end - in_object.base); at++)
        if (run_seen[at])
            printf(" %zx", at);
    printf("\n");
    return 0;
}
