/* SPDX-License-Identifier: MIT
 *
 * What a simulated program says of the simulation. All that depends on the host stands under "host".
 */
#define _GNU_SOURCE
#include "../core/platform.h"
#include "sim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void sim_die(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fputs("tenter: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    fflush(stderr);
    _exit(code);
}

enum { WORST = 10, SHOWN = 8 };

static double share(uint64_t part, uint64_t whole)
{
    return whole != 0 ? 100 * (double)part / (double)whole : 0;
}

static double seconds(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static struct sim_core sum(void)
{
    struct sim_core all = {0};
    for (unsigned i = 0; i < sim_processors; i++) {
        const struct sim_core *c = &sim_cores[i];
        all.instructions += c->instructions;
        all.accesses += c->accesses;
        all.stall += c->stall;
        all.transfers += c->transfers;
        all.shared += c->shared;
        all.cold += c->cold;
        all.outer += c->outer;
        all.lost += c->lost;
    }
    return all;
}

/* What lies in a line: a variable, or a block by who has asked for it. */
static void describe(uintptr_t line, char *text, size_t room)
{
    size_t offset, bytes;
    uintptr_t from, via;
    if (!sim_named(line, &offset, &bytes, &from, &via)) {
        const char *variable = sim_variable(line, &offset);
        if (variable != NULL)
            snprintf(text, room, "byte %zu of the variable %s", offset, variable);
        else
            snprintf(text, room, "data of the program without a name");
        return;
    }
    if (from == 0) {
        snprintf(text, room, "the lock of an arena of malloc");
        return;
    }
    struct tn_symbol caller = tn_symbol(from - 1), above = tn_symbol(via != 0 ? via - 1 : 0);
    snprintf(text, room, "byte %zu of %zu that %s%s%s has asked for", offset, bytes,
             *caller.function != '\0' ? caller.function : "?", *above.function != '\0' ? ", for " : "",
             above.function);
}

/* A thread's share of the time that has passed. */
static void workers(bool json, uint64_t elapsed)
{
    struct sim_account a;
    unsigned n = sim_account(UINT32_MAX, &a), shown = 0;
    for (unsigned i = 0; i < n; i++) {
        sim_account(i, &a);
        if (a.worker == 0)
            continue;
        uint64_t on = a.on_core / SIM_PS, waits = a.stall / SIM_PS, kernel = a.kernel / SIM_PS;
        uint64_t busy = on > waits + kernel ? on - waits - kernel : 0, off = elapsed > on ? elapsed - on : 0;
        if (json)
            printf("%s\n  {\"worker\": %u, \"busy_ns\": %" PRIu64 ", \"lines_ns\": %" PRIu64
                   ", \"kernel_ns\": %" PRIu64 ", \"off_ns\": %" PRIu64 "}",
                   shown != 0 ? "," : "", a.worker - 1, busy, waits, kernel, off);
        else if (shown < SHOWN)
            printf("  worker %-3u busy %5.1f %%, waits for lines %5.1f %%, kernel %5.1f %%, off its core %5.1f %%\n",
                   a.worker - 1, share(busy, elapsed), share(waits, elapsed), share(kernel, elapsed),
                   share(off, elapsed));
        shown++;
    }
    if (!json && shown > SHOWN)
        printf("  … and %u workers more: --json has all\n", shown - SHOWN);
}

/* Cycles that a core has waited, an instruction; a hit takes a cycle. */
static double stalls(const struct sim_core *all)
{
    uint64_t cycle = sim_machine.hit, n = all->instructions;
    return cycle != 0 && n != 0 ? (double)all->stall / (double)cycle / (double)n : 0;
}

static double cpu_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return seconds(&used.ru_utime) + seconds(&used.ru_stime);
}

void tn_simulated(bool json)
{
    uintptr_t worst[WORST];
    char what[256];
    sim_drain();
    sim_settle();
    struct sim_core all = sum();
    unsigned lines = sim_lines_worst(worst, WORST);
    double cpu = cpu_seconds(), rate = cpu > 0 ? (double)all.accesses / cpu : 0;
    uint64_t elapsed = sim_now / SIM_PS - SIM_START_NS;
    if (json)
        printf("{\"machine\": \"%s\", \"cores\": %u, \"virtual_ns\": %" PRIu64 ", \"instructions\": %" PRIu64
               ", \"accesses\": %" PRIu64 ", \"transfers\": %" PRIu64 ", \"shared\": %" PRIu64 ", \"cold\": %" PRIu64
               ", \"stall_ns\": %" PRIu64 ", \"stalls_per_instruction\": %.4f, \"workers\": [",
               sim_machine.name, sim_machine.cores, elapsed, all.instructions, all.accesses, all.transfers,
               all.shared, all.cold, all.stall / SIM_PS, stalls(&all));
    else
        printf("  simulated: %s, %u core%s%s%s, %.3f ms; %" PRIu64 " instructions, %" PRIu64 " accesses, %" PRIu64
               " lines taken from another core, %" PRIu64 " copied, %" PRIu64
               " from memory; waited for them %.3f ms in all (host: %.2f s, %.1f M accesses/s)\n",
               sim_machine.name, sim_machine.cores, sim_machine.cores == 1 ? "" : "s",
               sim_processors > sim_machine.cores ? " with two threads each" : "",
               sim_capacities ? ", capacities" : "", (double)elapsed / 1e6, all.instructions, all.accesses,
               all.transfers, all.shared, all.cold, (double)(all.stall / SIM_PS) / 1e6, cpu, rate / 1e6);
    if (sim_capacities && !json)
        printf("  capacities: %" PRIu64 " lines found in an outer cache, %" PRIu64 " fell out of the last one\n",
               all.outer, all.lost);
    workers(json, elapsed);
    if (json)
        printf("],\n \"lines\": [");
    for (unsigned i = 0; i < lines; i++) {
        const struct sim_line *l = &sim_lines[worst[i] / SIM_LINE];
        describe(worst[i], what, sizeof what);
        uintptr_t at = worst[i], pc = 0;
        sim_place(worst[i], &at, &pc);
        if (json)
            printf("%s\n  {\"line\": \"%s\", \"transfers\": %" PRIu32 ", \"stall_ns\": %" PRIu64 ", \"at\": %" PRIuPTR
                   ", \"pc\": %" PRIuPTR "}",
                   i != 0 ? "," : "", what, l->transfers, l->stall / SIM_PS, at, pc);
        else
            printf("  %9" PRIu32 " transfers, waited %10.3f ms: %s\n", l->transfers,
                   (double)(l->stall / SIM_PS) / 1e6, what);
    }
    tn_symbols_close();
    sim_where_write(worst, lines);
    if (json)
        printf("], \"processors\": %u, \"capacities\": %s, \"outer\": %" PRIu64 ", \"lost\": %" PRIu64
               ", \"host\": {\"cpu_s\": %.3f, \"accesses_per_s\": %.0f}}",
               sim_processors, sim_capacities ? "true" : "false", all.outer, all.lost, cpu, rate);
}

/* ---- a program that says nothing of it (./tenter sim FILE.c) ---- */

static const char *file;
static bool as_json;

static void at_end(void)
{
    if (fflush(stdout) != 0 || freopen(file, "w", stdout) == NULL)
        sim_die(99, "the simulator cannot say what it has counted: %s", strerror(errno));
    tn_simulated(as_json);
    if (fflush(stdout) != 0)
        sim_die(99, "%s cannot be written: %s", file, strerror(errno));
}

void sim_report_open(void)
{
    const char *json = getenv("SIM_JSON"), *text = getenv("SIM_TEXT");
    as_json = json != NULL;
    file = as_json ? strdup(json) : text != NULL ? strdup(text) : NULL;
    if (file != NULL)
        atexit(at_end); /* the first, so it is called last */
}
