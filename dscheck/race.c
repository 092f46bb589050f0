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
#include <unistd.h>

enum { INLINE = 4, WRITES = 1, ATOMIC = 2, FREES = 4 };

struct access {
    uint32_t pc;
    uint16_t epoch;
    uint8_t tid, mask, how, op; /* op: of an atomic one */
};

struct cell {
    uint32_t execution, more; /* more: those that found no place here, in `others`; 0: none */
    uint16_t n;
    uint8_t atomics; /* bytes that atomic accesses had: a counter beside a flag shares its cell only */
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

static struct run_mark *mark(uint32_t pc, unsigned tid, unsigned epoch, const char *before, const char *what)
{
    struct run_mark *m = &run_result.mark[run_result.marks++];
    *m = (struct run_mark){.pc = pc, .epoch = (uint16_t)epoch, .tid = (uint8_t)tid};
    snprintf(m->what, sizeof(m->what), "%s%s", before, what);
    return m;
}

static const char *kind_of(unsigned op)
{
    return op < OP_ATOMIC_END ? "atomic " : "library's ";
}

static struct run_mark *mark_access(const struct access *a, const char *cell)
{
    bool atomic = (a->how & ATOMIC) != 0;
    struct run_mark *m = mark(a->pc, a->tid, a->epoch, atomic ? kind_of(a->op) : "",
                              atomic            ? op_name(a->op)
                              : a->how & FREES  ? "free()"
                              : a->how & WRITES ? "plain write"
                                                : "plain read");
    m->at = (uint64_t)cell + (unsigned)__builtin_ctz(a->mask);
    return m;
}

static const char *text_of(const struct run_mark *m, char *text, size_t size)
{
    const char *article = m->what[0] == 'f' ? "" : m->what[0] == 'a' ? "an " : "a ";
    if (m->tid == 0)
        snprintf(text, size, "%s%s by main at @%x", article, m->what, m->pc);
    else
        snprintf(text, size, "%s%s by thread %u at @%x", article, m->what, m->tid, m->pc);
    return text;
}

/* Of two accesses that are not ordered the later one is about to happen. */
static _Noreturn __attribute__((cold, noinline)) void race(const struct access *a, const struct access *by,
                                                           const char *cell)
{
    char one[96], other[96];
    if (in_ahead)
        in_op(0, 0, 0, 0, 0, OP_STOP * 8);
    struct run_mark *m = mark_access(a, cell), *n = mark_access(by, cell);
    m->event = (a->how & ATOMIC) != 0;
    in_bug("data race", "%s and %s are not ordered", text_of(m, one, sizeof(one)), text_of(n, other, sizeof(other)));
}

static void meet(const struct access *a, const struct access *by, const char *cell)
{
    if ((a->mask & by->mask) != 0 && ((a->how | by->how) & WRITES) != 0)
        race(a, by, cell);
}

static _Noreturn __attribute__((cold, noinline)) void heap_wrong(const char *wrong, const char *kind,
                                                                 const char *what, uint64_t at, uint32_t pc)
{
    char text[96];
    if (in_ahead)
        in_op(0, 0, 0, 0, 0, OP_STOP * 8);
    struct run_mark *m = mark(pc, in_cur->id, exec_state[in_cur->id].done, kind, what);
    m->at = at;
    in_bug("heap", "%s: %s", text_of(m, text, sizeof(text)), wrong);
}

_Noreturn void run_heap_wrong(const char *wrong, const struct request *q)
{
    heap_wrong(wrong, kind_of(q->op), op_name(q->op), q->at, q->pc);
}

/* Whether the later access says all that the plain one does: what would race with that one races with this. */
static inline bool covered(const struct access *a, const struct access *by, const struct clock *known, const char *at)
{
    if (!before(a->tid, a->epoch, by->tid, known)) {
        meet(a, by, (const char *)((uintptr_t)at & ~(uintptr_t)7));
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
        c->atomics = 0;
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
        bool upper = s->log == 4 && at == cell - 8;
        if ((at < cell || at >= cell + 8) && !upper)
            continue;
        struct access a = {.pc = s->pc, .epoch = s->idx, .tid = s->tid, .how = ATOMIC, .op = s->op};
        a.how |= s->writes ? WRITES : 0;
        a.mask = upper ? 0xff : (uint8_t)(((1U << (1U << s->log)) - 1) << (at - cell));
        meet(&a, by, cell);
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
        if (!covered(&c->of[i], &now, known, at))
            c->of[kept++] = c->of[i];
    for (uint32_t *from = &c->more; *from != 0;) {
        struct other *o = &others[*from];
        if (covered(&o->of, &now, known, at))
            *from = o->next;
        else
            from = &o->next;
    }
    if ((c->atomics & mask) != 0) {
        const char *cell = (const char *)((uintptr_t)at & ~(uintptr_t)7);
        against_atomics(cell, &now, known);
        if ((how & WRITES) != 0) {
            if (in_ahead) /* whether the turn is in vain is then not known */
                in_op(0, 0, 0, 0, 0, OP_STOP * 8);
            place_end((uint64_t)cell, mask);
        }
    }
    if (kept == INLINE)
        keep_other(c, now);
    else /* field by field: a copy would wait for what has just been written */
        c->of[kept++] = (struct access){
            .pc = pc, .epoch = now.epoch, .tid = (uint8_t)tid, .mask = (uint8_t)mask, .how = (uint8_t)how};
    c->n = (uint16_t)kept;
}

static void atomic_cell(const struct request *q, unsigned tid, const char *at)
{
    struct cell *c = fresh_cell(at);
    if (c == NULL)
        return;
    const char *cell = (const char *)((uintptr_t)at & ~(uintptr_t)7);
    struct access now = {.pc = q->pc, .tid = (uint8_t)tid, .how = ATOMIC, .op = q->op};
    now.mask = (uint8_t)(((1U << (1U << q->log)) - 1) << (at - cell));
    c->atomics |= now.mask;
    if (c->n == 0 && c->more == 0)
        return;
    now.how |= exec_writes(q->op) ? WRITES : 0;
    const struct clock *known = run_clock(tid, &now.epoch);
    for (unsigned i = 0; i < c->n; i++)
        if (!before(c->of[i].tid, c->of[i].epoch, now.tid, known))
            meet(&c->of[i], &now, cell);
    for (uint32_t o = c->more; o != 0; o = others[o].next)
        if (!before(others[o].of.tid, others[o].of.epoch, now.tid, known))
            meet(&others[o].of, &now, cell);
}

/* An atomic access lies in one cell, since it is aligned, or in two, of 16 bytes.  What may write counts as a write. */
void run_atomic(const struct request *q, unsigned tid)
{
    atomic_cell(q, tid, (const char *)q->at);
    if (q->log == 4)
        atomic_cell(q, tid, (const char *)q->at + 8);
}

bool run_quiet(uint64_t at)
{
    if (at < (uint64_t)in_object.data || at >= (uint64_t)in_object.data_end)
        return false;
    const struct cell *c = cell_of((const char *)at);
    return c->n == 0 && c->more == 0;
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
    if (!in_explored() || (in_ahead && (!add_looking() || in_own_stack(at)))) /* invariants read anything */
        return;
    const char *wrong = in_heap_wrong(at, size, write);
    uint32_t from = (uint32_t)(pc - 1 - (uint64_t)in_object.base);
    in_cur->pc = pc;
    if (wrong != NULL)
        heap_wrong(wrong, "plain ", write ? "write" : "read", (uint64_t)at, from);
    if (write)
        await_plain(in_cur->id, at, size);
    touch_range(at, size, write ? WRITES : 0, in_cur->id, from);
}

void in_freed(const void *at, size_t size, uint64_t pc)
{
    if (!in_explored())
        return;
    touch_range(at, size, WRITES | FREES, in_cur->id, (uint32_t)(pc - 1 - (uint64_t)in_object.base));
}

void in_leave(void);

_Noreturn void in_bug(const char *kind, const char *format, ...)
{
    va_list list;
    run_result.unsupported |= strcmp(kind, "unsupported") == 0;
    if (!run_result.unsupported)
        run_result.bug = true;
    snprintf(run_result.kind, sizeof(run_result.kind), "%s", kind);
    va_start(list, format);
    vsnprintf(run_result.message, sizeof(run_result.message), format, list);
    va_end(list);
    if (in_object.main == NULL) { /* nothing to go back to, nor to show */
        fprintf(stderr, "before main(), in a constructor: %s\n", run_result.message);
        _exit(run_result.unsupported ? 77 : 99);
    }
    if (run_result.marks == 0 && in_cur != &in_boot) {
        const struct state *s = &exec_state[in_cur->id];
        uint64_t pc = in_cur->pc - 1 - (uint64_t)in_object.base;
        mark(s->pending ? s->q.pc : (uint32_t)pc, in_cur->id, s->done, "", kind);
    }
    in_ahead = false;
    in_cur = &in_boot;
    in_leave();
    __builtin_unreachable();
}
