/* SPDX-License-Identifier: MIT */
/*
 * Data races: two accesses to the same byte, one of them a write, one of them plain, neither before the other in program
 * order and reads-from.  Plain accesses are no events, so they are held against each other here: each stretch of eight
 * bytes has a cell with those that may still race.  A cell of an earlier execution is an empty one.  Atomic accesses are
 * held against the plain ones in their cell, and are not kept: a plain access looks for them in the graph.
 */
#include "exec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { INLINE = 4, WRITES = 1, ATOMIC = 2 };

struct access {
    uint32_t pc;
    uint16_t epoch;
    uint8_t tid, mask, how;
};

struct cell {
    uint32_t execution, more; /* more: those that found no place here, in `others`; 0: none */
    uint16_t n;
    bool atomics; /* there were some */
    struct access of[INLINE];
};

/* Seldom used: many threads that read one place, or many bytes of it apart. */
static struct other {
    struct access of;
    uint32_t next;
} * others;
static uint32_t others_used, others_capacity;

static struct cell *cells, *data_cells;
static uint32_t execution;

static struct cell *cell_of(const char *at)
{
    if (at >= in_low && at < in_high) {
        if (cells == NULL)
            cells = mmap(NULL, (size_t)(in_high - in_low) / 8 * sizeof(struct cell), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return &cells[(size_t)(at - in_low) / 8];
    }
    if (at >= in_object.data && at < in_object.data_end) {
        if (data_cells == NULL)
            data_cells = mmap(NULL, ((size_t)(in_object.data_end - in_object.data) / 8 + 2) * sizeof(struct cell),
                              PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return &data_cells[((size_t)at >> 3) - ((size_t)in_object.data >> 3)];
    }
    return NULL;
}

void run_forget(void)
{
    execution++;
    others_used = 0;
}

static void keep_other(struct cell *c, struct access a)
{
    if (others_used + 1 >= others_capacity) {
        others_capacity = others_capacity * 2 + 64;
        others = realloc(others, others_capacity * sizeof(*others));
        if (others == NULL)
            abort();
    }
    others[++others_used] = (struct other){a, c->more};
    c->more = others_used;
}

static inline bool before(uint8_t tid, uint16_t epoch, uint8_t by, const struct clock *known)
{
    return tid == by || (known != NULL && known->of[tid] > (int16_t)epoch);
}

/* Two accesses that are not ordered. */
static void meet(const struct access *a, const struct access *by)
{
    if ((a->mask & by->mask) == 0 || ((a->how | by->how) & WRITES) == 0)
        return;
    run_result.pc[0] = a->pc;
    run_result.pc[1] = by->pc;
    run_result.racer = a->tid;
    in_bug("data race", "%s %s and %s %s are not ordered", a->how & ATOMIC ? "an atomic" : "a plain",
           a->how & WRITES ? "write" : "read", by->how & ATOMIC ? "an atomic" : "a plain",
           by->how & WRITES ? "write" : "read");
}

/* Whether the later access says all that the plain one does: what would race with that one races with this. */
static inline bool covered(const struct access *a, const struct access *by, const struct clock *known)
{
    if (!before(a->tid, a->epoch, by->tid, known)) {
        meet(a, by);
        return false;
    }
    return (a->mask & ~by->mask) == 0 && by->how >= a->how;
}

static struct cell *fresh_cell(const char *at)
{
    struct cell *c = cell_of(at);
    if (c != NULL && c->execution != execution) {
        c->execution = execution;
        c->more = 0;
        c->n = 0;
        c->atomics = false;
    }
    return c;
}

/* The atomic accesses to this cell so far. */
static void against_atomics(const char *cell, const struct access *by, const struct clock *known)
{
    for (uint32_t i = 0; i < run_traced; i++) {
        const struct slot *s = &search_graph->slot[run_trace[i].slot];
        if (s->loc == NIL || before(s->tid, s->idx, by->tid, known))
            continue;
        const char *at = (const char *)place_address(s->loc);
        if (at < cell || at >= cell + 8)
            continue;
        struct access a = {.pc = s->pc, .tid = s->tid, .how = ATOMIC | WRITES};
        a.mask = (uint8_t)(((1U << (1U << s->log)) - 1) << (at - cell));
        meet(&a, by);
    }
}

static void touch_plain(const char *at, unsigned mask, unsigned how, unsigned tid, uint32_t pc)
{
    struct cell *c = fresh_cell(at);
    if (c == NULL)
        return;
    struct access now = {.pc = pc, .tid = (uint8_t)tid, .mask = (uint8_t)mask, .how = (uint8_t)how};
    const struct clock *known = run_clock(tid, &now.epoch);
    unsigned kept = 0;
    for (unsigned i = 0; i < c->n; i++)
        if (!covered(&c->of[i], &now, known))
            c->of[kept++] = c->of[i];
    for (uint32_t *from = &c->more; *from != 0;) {
        struct other *o = &others[*from];
        if (covered(&o->of, &now, known))
            *from = o->next;
        else
            from = &o->next;
    }
    if (c->atomics)
        against_atomics((const char *)((uintptr_t)at & ~(uintptr_t)7), &now, known);
    if (kept == INLINE)
        keep_other(c, now);
    else
        c->of[kept++] = now;
    c->n = (uint16_t)kept;
}

/* An atomic access lies in one cell: it is aligned. */
void run_atomic(uint64_t address, size_t size, unsigned tid, uint32_t pc)
{
    struct cell *c = fresh_cell((const char *)address);
    if (c == NULL)
        return;
    c->atomics = true;
    if (c->n == 0 && c->more == 0)
        return;
    struct access now = {.pc = pc, .tid = (uint8_t)tid, .how = ATOMIC | WRITES};
    now.mask = (uint8_t)(((1U << size) - 1) << (address & 7));
    const struct clock *known = run_clock(tid, &now.epoch);
    for (unsigned i = 0; i < c->n; i++)
        if (!before(c->of[i].tid, c->of[i].epoch, now.tid, known))
            meet(&c->of[i], &now);
    for (uint32_t o = c->more; o != 0; o = others[o].next)
        if (!before(others[o].of.tid, others[o].of.epoch, now.tid, known))
            meet(&others[o].of, &now);
}

static void touch_range(const char *at, size_t size, unsigned how, unsigned tid, uint32_t pc)
{
    while (size > 0) {
        unsigned offset = (unsigned)((uintptr_t)at & 7), n = 8 - offset;
        if (n > size)
            n = (unsigned)size;
        touch_plain(at, ((1U << n) - 1) << offset, how, tid, pc);
        at += n;
        size -= n;
    }
}

void in_plain(const void *at, size_t size, bool write, uint64_t pc)
{
    if (in_ahead || !in_explored())
        return;
    const char *wrong = in_heap_wrong(at, size, write);
    in_cur->pc = pc;
    if (wrong != NULL) {
        run_result.pc[1] = (uint32_t)(pc - 1 - (uint64_t)in_object.base);
        in_bug("heap", "%s", wrong);
    }
    if (write)
        await_plain(in_cur->id, at, size);
    touch_range(at, size, write ? WRITES : 0, in_cur->id, (uint32_t)(pc - 1 - (uint64_t)in_object.base));
}

void in_leave(void);

_Noreturn void in_bug(const char *kind, const char *format, ...)
{
    va_list list;
    if (!run_result.unsupported)
        run_result.bug = true;
    snprintf(run_result.kind, sizeof(run_result.kind), "%s", kind);
    va_start(list, format);
    vsnprintf(run_result.message, sizeof(run_result.message), format, list);
    va_end(list);
    if (run_result.pc[1] == 0 && in_cur != &in_boot)
        run_result.pc[1] = (uint32_t)(in_cur->pc - 1 - (uint64_t)in_object.base);
    in_ahead = false;
    in_cur = &in_boot;
    in_leave();
    __builtin_unreachable();
}
