/* SPDX-License-Identifier: MIT */
/*
 * Data races: two accesses to the same byte, one of them a write, one of them plain, neither before the other in program
 * order and reads-from.  Plain accesses are no events, so they are held against each other here: each stretch of eight
 * bytes has a cell with the accesses that may still race.  A cell of an earlier execution is an empty one.
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

/* Whether a later access says all that the former does: what would race with that one races with this.  If the two race
 * with each other, does not return. */
static inline bool covered(const struct access *a, const struct access *by, const struct clock *known)
{
    bool before = a->tid == by->tid || (known != NULL && known->of[a->tid] > (int16_t)a->epoch);
    if (!before && (a->mask & by->mask) != 0 && ((a->how | by->how) & WRITES) != 0 &&
        (a->how & by->how & ATOMIC) == 0) {
        run_result.pc[0] = a->pc;
        run_result.pc[1] = by->pc;
        run_result.racer = a->tid;
        in_bug("data race", "%s %s and %s %s are not ordered", a->how & ATOMIC ? "an atomic" : "a plain",
               a->how & WRITES ? "write" : "read", by->how & ATOMIC ? "an atomic" : "a plain",
               by->how & WRITES ? "write" : "read");
    }
    return before && (a->mask & ~by->mask) == 0 && (by->how & WRITES) >= (a->how & WRITES) &&
           (by->how & ATOMIC) <= (a->how & ATOMIC);
}

static void touch(const char *at, unsigned mask, unsigned how, unsigned tid, uint32_t pc)
{
    struct cell *c = cell_of(at);
    if (c == NULL)
        return;
    if (c->execution != execution) {
        c->execution = execution;
        c->n = 0;
        c->more = 0;
    }
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
    if (kept == INLINE)
        keep_other(c, now);
    else
        c->of[kept++] = now;
    c->n = (uint16_t)kept;
}

static void touch_range(const char *at, size_t size, unsigned how, unsigned tid, uint32_t pc)
{
    while (size > 0) {
        unsigned offset = (unsigned)((uintptr_t)at & 7), n = 8 - offset;
        if (n > size)
            n = (unsigned)size;
        touch(at, ((1U << n) - 1) << offset, how, tid, pc);
        at += n;
        size -= n;
    }
}

void run_atomic(uint64_t at, size_t size, unsigned tid, uint32_t pc)
{
    touch_range((const char *)at, size, ATOMIC | WRITES, tid, pc);
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
