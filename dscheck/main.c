/* SPDX-License-Identifier: MIT */
/*
 * The compiled checker: explores one shared object, and prints what it found as lines `key value` on standard output,
 * with one line a step of a failing execution.  dscheck/check.py makes a report of that.
 */
#define _GNU_SOURCE
#include "run.h"
#include "watch.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double began;
static int progress;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void show(double seconds)
{
    double part = search_done();
    fprintf(stderr, "\r%llu executions, %.0f a second, %u waiting, %llu blocked",
            (unsigned long long)run_result.executions, (double)run_result.executions / seconds, search_depth(),
            (unsigned long long)run_result.blocked);
    if (part > 0 && run_options.strategy == EXHAUSTIVE)
        fprintf(stderr, ", about %.3g in all, %.0f s left", (double)run_result.executions / part,
                seconds * (1 - part) / part);
    fprintf(stderr, "   ");
}

/* ---- several processes: who has work forks when another one may run ---- */

static struct shared {
    atomic_int free_, stop;
    atomic_ullong executions, blocked, events;
    atomic_int bug, incomplete, threads, conflicts;
} * shared;
static bool child;

static void maybe_fork(void)
{
    static double last; /* a new process costs some milliseconds: it shall have more to do than that */
    enum { LEAST_MS = 20 };
    if (last == 0)
        last = began;
    int n = atomic_load(&shared->free_);
    if (n <= 0 || (now() - last) * 1e3 < LEAST_MS || !search_splits() ||
        !atomic_compare_exchange_strong(&shared->free_, &n, n - 1))
        return;
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0) {
        atomic_fetch_add(&shared->free_, 1);
        return;
    }
    last = now();
    search_split(pid == 0);
    if (pid == 0) {
        child = true;
        watch_start();
        progress = 0;
        run_result.executions = run_result.blocked = run_result.events = 0;
    }
}

static void join_others(void)
{
    struct run_result *r = &run_result;
    atomic_fetch_add(&shared->executions, r->executions);
    atomic_fetch_add(&shared->blocked, r->blocked);
    atomic_fetch_add(&shared->events, r->events);
    atomic_fetch_or(&shared->incomplete, r->incomplete);
    atomic_fetch_or(&shared->conflicts, r->conflicts != 0);
    if ((int)r->threads > atomic_load(&shared->threads))
        atomic_store(&shared->threads, (int)r->threads);
    atomic_fetch_add(&shared->free_, 1);
    while (wait(NULL) > 0 || errno == EINTR)
        ;
}

void run_tick(void)
{
    if (shared != NULL) {
        if (atomic_load(&shared->stop))
            run_interrupted = 2;
        else
            maybe_fork();
    }
    static double last;
    double at = now();
    if (run_options.seconds > 0 && at - began > run_options.seconds)
        run_interrupted = 2;
    if (progress && at - last > 1) {
        if (last > 0)
            show(at - began);
        last = at;
    }
}

static void interrupt(int signal)
{
    (void)signal;
    run_interrupted = 1;
}

/* ---- crashes of the code under test: go on in the engine ---- */

static const char *crash;

static void crashed(void)
{
    if (in_ahead)
        in_op(0, 0, 0, 0, 0, OP_STOP * 8);
    in_bug("crash", "%s", crash);
}

static void fault(int signal, siginfo_t *info, void *context)
{
    static char text[128];
    if (!in_explored()) {
        fprintf(stderr, "internal: signal %d in the explorer\n", signal);
        _exit(99);
    }
    char *at = info->si_addr;
    if (signal == SIGSEGV && at >= (char *)in_cur->low - 4096 && at < (char *)in_cur->low + 4096)
        snprintf(text, sizeof(text), "stack overflow");
    else
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

/* ---- the answer ---- */

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

void run_waiting(char *text, size_t size)
{
    const struct frame *g = search_graph;
    size_t n = 0;
    for (unsigned t = 0; t < IN_THREADS && n < size; t++)
        if (in_thread[t].alive && !in_thread[t].ended) {
            if (g->bottom[t] != NIL)
                n += (size_t)snprintf(text + n, size - n, "%sthread %u waits at @%x", n > 0 ? "; " : "", t,
                                      g->slot[g->bottom[t]].pc);
            else
                n += (size_t)snprintf(text + n, size - n, "%sthread %u waits to join another", n > 0 ? "; " : "", t);
        }
}

/* An order of the events that were executed with few switches between threads: the best of some greedy ones. */
static uint32_t shortest(uint16_t *best)
{
    const struct frame *g = search_graph;
    static uint16_t of[IN_THREADS][SLOTS_MAX], order[SLOTS_MAX];
    uint16_t n[IN_THREADS] = {0};
    unsigned fewest = ~0U;
    for (uint32_t i = 0; i < run_traced; i++) {
        best[i] = run_trace[i].slot;
        of[run_trace[i].tid][n[run_trace[i].tid]++] = run_trace[i].slot;
    }
    uint64_t seed = 1;
    for (unsigned round = 0; round < 2000 && run_traced < 1000; round++) {
        uint16_t done[IN_THREADS] = {0};
        uint32_t at = 0;
        unsigned t = 0, switches = 0;
        while (at < run_traced) {
            unsigned can[IN_THREADS], m = 0;
            bool stay = false;
            for (unsigned u = 0; u < IN_THREADS; u++) {
                if (done[u] == n[u])
                    continue;
                const struct slot *s = &g->slot[of[u][done[u]]];
                bool ready = true;
                for (unsigned v = 0; v < IN_THREADS; v++)
                    ready &= v == u || s->hb.of[v] <= (int16_t)done[v];
                if (ready) {
                    can[m++] = u;
                    stay |= u == t;
                }
            }
            if (m == 0)
                break;
            if (!stay) {
                seed = seed * 6364136223846793005U + 1442695040888963407U;
                t = can[(seed >> 33) % m];
                switches++;
            }
            order[at++] = of[t][done[t]++];
        }
        if (at == run_traced && switches < fewest) {
            fewest = switches;
            memcpy(best, order, run_traced * sizeof(*best));
        }
    }
    return run_traced;
}

static void steps(void)
{
    static uint32_t step_of[SLOTS_MAX];
    static uint16_t order[SLOTS_MAX];
    const struct frame *g = search_graph;
    uint32_t n = shortest(order);
    printf("base %llx\n", (unsigned long long)(uint64_t)in_object.base);
    for (uint32_t i = 0; i < n; i++) {
        const struct slot *s = &g->slot[order[i]];
        step_of[order[i]] = i + 1;
        printf("step %u %x %s %llx %d %llx %d %llx %u %u\n", s->tid, s->pc, op_name(s),
               s->loc == NIL ? 0ULL : (unsigned long long)place_address(s->loc), s->reads && s->loc != NIL,
               (unsigned long long)s->old, s->writes && s->loc != NIL, (unsigned long long)s->new,
               s->reads && s->rf != NIL ? step_of[s->rf] : 0, s->choice);
    }
    for (unsigned t = 0; t < IN_THREADS; t++)
        if (in_thread[t].alive && !in_thread[t].ended && g->bottom[t] != NIL) {
            const struct slot *s = &g->slot[g->bottom[t]];
            printf("wait %u %x %s %llx\n", t, s->pc, op_name(s), (unsigned long long)place_address(s->loc));
        }
}

static void failure(void)
{
    const struct run_result *r = &run_result;
    printf("kind %s\nmessage %s\npc %x %x %u\n", r->kind, r->message, r->pc[0], r->pc[1], r->racer);
    steps();
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

int main(int argc, char **argv)
{
    if ((personality(0xffffffff) & ADDR_NO_RANDOMIZE) == 0 && getenv("DSCHECK_AGAIN") == NULL) {
        setenv("DSCHECK_AGAIN", "1", 1);
        personality(ADDR_NO_RANDOMIZE);
        execv("/proc/self/exe", argv);
    }
    began = now();
    const char *image = NULL;
    int jobs = 1;
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
            progress = 1;
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
            jobs = atoi(v);
            i++;
        } else if (strcmp(o, "--shard") == 0) {
            if (sscanf(v, "%u/%u", &search_shard, &search_shards) != 2)
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
    double first = now();
    if (jobs > 1 && run_options.strategy == EXHAUSTIVE) {
        shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED)
            return 99;
        atomic_store(&shared->free_, jobs - 1);
    }
    run_all();
    if (shared != NULL) {
        bool found = run_result.bug || run_result.unsupported;
        bool mine = found && atomic_exchange(&shared->bug, run_result.unsupported ? 2 : 1) == 0;
        if (found)
            atomic_store(&shared->stop, 1);
        if (mine) {
            failure();
            fflush(stdout);
        }
        join_others();
        if (child)
            _exit(0);
        run_result.executions = atomic_load(&shared->executions);
        run_result.blocked = atomic_load(&shared->blocked);
        run_result.events = atomic_load(&shared->events);
        run_result.threads = (unsigned)atomic_load(&shared->threads);
        run_result.conflicts = (uint64_t)atomic_load(&shared->conflicts);
        run_result.bug = atomic_load(&shared->bug) == 1;
        run_result.unsupported = atomic_load(&shared->bug) == 2;
        run_result.incomplete = atomic_load(&shared->incomplete) != 0;
    }
    double seconds = now() - began;
    if (progress && seconds > 1)
        fprintf(stderr, "\n");
    struct run_result *r = &run_result;
    printf("verdict %s\n", r->unsupported ? "unsupported" : r->bug ? "bug" : r->incomplete ? "incomplete" : "ok");
    printf("executions %llu\nblocked %lld\nseconds %.6f\nthreads %u\n", (unsigned long long)r->executions,
           (long long)r->blocked, seconds, r->threads);
    printf("startup %.6f\nkib %ld\nevents %llu\nconflicts %llu\n", first - began, peak_kib(),
           (unsigned long long)r->events, (unsigned long long)r->conflicts);
    printf("discarded %llu\n", (unsigned long long)search_discarded);
    if (run_interrupted == 1)
        printf("interrupted 1\n");
    if (shared == NULL && (r->bug || r->unsupported))
        failure();
    return 0;
}
