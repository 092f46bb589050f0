/* SPDX-License-Identifier: MIT
 *
 * Where virtual time went: what each thread did with its own, which places in the code waited for a line, who handed lines
 * to whom, and, if somebody asks for it (SIM_WHERE, a path, and SIM_EVENTS; the program sees neither), what ran when.
 */
#define _GNU_SOURCE
#include "sim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- threads ---- */

/* By the number of the thread; one that takes the number of another that has ended goes on with its account. */
static struct sim_account accounts[SIM_THREADS];
static uint32_t n_accounts;

static struct sim_account *account_of(const struct sim_thread *t)
{
    n_accounts = t->id >= n_accounts ? t->id + 1 : n_accounts;
    return &accounts[t->id];
}

void sim_kernel(uint64_t cost)
{
    sim_charge(cost);
    account_of(sim_me)->kernel += cost;
}

void sim_interrupted(const struct sim_thread *t, uint64_t cost)
{
    account_of(t)->kernel += cost;
}

void sim_worker(uint32_t index)
{
    account_of(sim_me)->worker = index + 1;
}

/* Between the two the core is the thread's alone: what the core has counted meanwhile is the thread's. */
void sim_on_core(const struct sim_thread *t)
{
    account_of(t)->stall -= sim_cores[t->core].stall;
    sim_event(SIM_ON, t, t->clock);
}

void sim_off_core(const struct sim_thread *t)
{
    struct sim_account *a = account_of(t);
    a->on_core += t->clock - t->since;
    a->stall += sim_cores[t->core].stall;
    sim_event(SIM_OFF, t, t->clock);
}

uint32_t sim_account(uint32_t i, struct sim_account *to)
{
    if (i < n_accounts) {
        *to = accounts[i];
        if (i == sim_me->id) { /* still at it */
            to->on_core += sim_now - sim_me->since;
            to->stall += sim_here->stall;
        }
    }
    return n_accounts;
}

/* ---- lines: which place has waited for which word ---- */

enum { PLACES = 1 << 14 };
static struct place {
    uintptr_t at, pc;
    uint64_t stall;
} places[PLACES];
static uint32_t n_places;

void sim_waited(uintptr_t at, const void *pc, uint64_t stall)
{
    uint64_t key = ((uint64_t)at ^ (uint64_t)(uintptr_t)pc << 20) * UINT64_C(0x9e3779b97f4a7c15) >> 50;
    for (;; key = (key + 1) % PLACES) {
        struct place *p = &places[key];
        if (p->at == at && p->pc == (uintptr_t)pc) {
            p->stall += stall;
            return;
        }
        if (p->at == 0) {
            if (n_places < PLACES / 4 * 3) { /* else one of those that come late is not known */
                n_places++;
                *p = (struct place){at, (uintptr_t)pc, stall};
            }
            return;
        }
    }
}

/* The place that has waited longest for a line; false: none is known. */
bool sim_place(uintptr_t line, uintptr_t *at, uintptr_t *pc)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < PLACES; i++)
        if (places[i].at / SIM_LINE == line / SIM_LINE && places[i].stall > most) {
            most = places[i].stall;
            *at = places[i].at;
            *pc = places[i].pc;
        }
    return most != 0;
}

/* ---- who hands lines to whom ---- */

uint32_t sim_traffic[SIM_CORES][SIM_CORES];

/* ---- what ran when ---- */

enum { EVENTS = 1 << 20 };
static struct event {
    uint64_t at;
    const void *fibre;
    uint32_t thread, kind;
} * events;
static uint32_t n_events;
static const char *path;

void sim_where_open(void)
{
    const char *asked = getenv("SIM_WHERE");
    path = asked != NULL ? strdup(asked) : NULL;
    void *p = path == NULL || getenv("SIM_EVENTS") == NULL
                  ? MAP_FAILED
                  : mmap(NULL, EVENTS * sizeof *events, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    events = p != MAP_FAILED ? p : NULL; /* without them the file has the rest */
}

static void record(enum sim_event kind, const struct sim_thread *t, uint64_t at, const void *fibre)
{
    if (events != NULL && n_events < EVENTS)
        events[n_events++] = (struct event){at / SIM_PS - SIM_START_NS, fibre, t->id, kind};
}

void sim_event(enum sim_event kind, const struct sim_thread *t, uint64_t at)
{
    record(kind, t, at, NULL);
}

/* Of core/platform.h: the thread goes on with this fibre; NULL: with none. */
void tn_runs(const void *fibre);
void tn_runs(const void *fibre)
{
    if (__builtin_expect(events != NULL, 0)) {
        sim_drain();
        record(SIM_RUN, sim_me, sim_now, fibre);
    }
}

/* ---- the file ---- */

void sim_where_write(const uintptr_t *line, unsigned n)
{
    if (path == NULL)
        return;
    FILE *f = fopen(path, "w");
    if (f == NULL)
        sim_die(99, "%s cannot be written: %s", path, strerror(errno));
    fprintf(f, "{\"cores\": %u, \"end_ns\": %" PRIu64 ", \"cut\": %s, \"traffic\": [", sim_machine.cores,
            sim_now / SIM_PS - SIM_START_NS, n_events == EVENTS ? "true" : "false");
    const char *comma = "";
    for (uint32_t from = 0; from < sim_machine.cores; from++)
        for (uint32_t to = 0; to < sim_machine.cores; to++)
            if (sim_traffic[from][to] != 0) {
                fprintf(f, "%s[%u, %u, %u]", comma, from, to, sim_traffic[from][to]);
                comma = ", ";
            }
    fputs("], \"workers\": {", f);
    comma = "";
    for (uint32_t i = 0; i < n_accounts; i++)
        if (accounts[i].worker != 0) {
            fprintf(f, "%s\"%u\": %u", comma, i, accounts[i].worker - 1);
            comma = ", ";
        }
    fputs("}, \"lines\": [", f);
    for (unsigned i = 0; i < n; i++) {
        uintptr_t at = line[i], pc = 0;
        sim_place(line[i], &at, &pc);
        fprintf(f, "%s[%" PRIuPTR ", %" PRIuPTR "]", i != 0 ? ", " : "", pc, at);
    }
    fputs("], \"events\": [", f);
    for (uint32_t i = 0; i < n_events; i++)
        fprintf(f, "%s[%u, %u, %" PRIu64 ", %" PRIuPTR "]", i != 0 ? ",\n" : "", events[i].kind, events[i].thread,
                events[i].at, (uintptr_t)events[i].fibre);
    fputs("]}\n", f);
    bool bad = ferror(f) != 0;
    if (fclose(f) != 0 || bad)
        sim_die(99, "%s cannot be written: is the disk full?", path);
}
