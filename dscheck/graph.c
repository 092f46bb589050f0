/* SPDX-License-Identifier: MIT */
/* See graph.h. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

bool graph_wide;

static void *grow(void *p, size_t bytes)
{
    p = realloc(p, bytes);
    if (p == NULL)
        abort();
    return p;
}

struct place *graph_place(struct frame *g, uint16_t loc)
{
    if (loc >= g->places) {
        if (loc >= g->places_capacity) {
            g->places_capacity = loc + 16U;
            g->place = grow(g->place, g->places_capacity * sizeof(*g->place));
        }
        for (; g->places <= loc; g->places++)
            g->place[g->places] = (struct place){NIL, NIL, NIL, 0};
    }
    return &g->place[loc];
}

uint16_t graph_append(struct frame *g, enum slot_kind kind, unsigned tid)
{
    if (g->n == g->capacity) {
        g->capacity = g->capacity < 32 ? 32 : g->capacity * 2;
        struct slot *moved = aligned_alloc(16, g->capacity * sizeof(*moved));
        if (moved == NULL)
            abort();
        memcpy(moved, g->slot, g->n * sizeof(*moved));
        free(g->slot);
        g->slot = moved;
    }
    uint16_t e = (uint16_t)g->n++;
    g->slot[e] = (struct slot){.kind = (uint8_t)kind,
                               .tid = (uint8_t)tid,
                               .loc = NIL,
                               .rf = NIL,
                               .before = NIL,
                               .after = NIL,
                               .readers = NIL,
                               .reader = NIL,
                               .cause = NIL,
                               .since = NIL};
    return e;
}

void graph_co_insert(struct frame *g, uint16_t w, uint16_t after)
{
    struct place *p = &g->place[g->slot[w].loc];
    uint16_t next = after == NIL ? p->first : g->slot[after].after;
    g->slot[w].before = after;
    g->slot[w].after = next;
    *(after == NIL ? &p->first : &g->slot[after].after) = w;
    *(next == NIL ? &p->last : &g->slot[next].before) = w;
}

void graph_co_remove(struct frame *g, uint16_t w)
{
    struct slot *s = &g->slot[w];
    struct place *p = &g->place[s->loc];
    *(s->before == NIL ? &p->first : &g->slot[s->before].after) = s->after;
    *(s->after == NIL ? &p->last : &g->slot[s->after].before) = s->before;
    s->before = s->after = NIL;
}

static uint16_t *readers_of(struct frame *g, uint16_t w, uint16_t loc)
{
    return w == NIL ? &g->place[loc].readers : &g->slot[w].readers;
}

void graph_read(struct frame *g, uint16_t r, uint16_t rf)
{
    struct slot *s = &g->slot[r];
    uint16_t *head = readers_of(g, rf, s->loc);
    s->rf = rf;
    s->reader = *head;
    *head = r;
}

void graph_unread(struct frame *g, uint16_t r)
{
    uint16_t *at = readers_of(g, g->slot[r].rf, g->slot[r].loc);
    while (*at != r)
        at = &g->slot[*at].reader;
    *at = g->slot[r].reader;
}

/* What a thread did last, of the slots that are left. */
static void last_of(struct frame *g, unsigned t)
{
    g->last[t] = g->bottom[t] = NIL;
    for (uint32_t i = g->n; i-- > 0;) {
        const struct slot *s = &g->slot[i];
        if (s->tid != t)
            continue;
        if (s->kind == EVENT) {
            g->last[t] = (uint16_t)i;
            return;
        }
        if (g->bottom[t] == NIL)
            g->bottom[t] = (uint16_t)i;
    }
}

void graph_cut(struct frame *g, uint32_t n)
{
    uint32_t lost = 0; /* threads that have lost slots */
    while (g->n > n) {
        uint16_t e = (uint16_t)--g->n;
        struct slot *s = &g->slot[e];
        lost |= 1U << s->tid;
        if (s->kind == BOTTOM)
            continue;
        g->count[s->tid]--;
        if (s->loc != NIL) {
            if (s->reads)
                graph_unread(g, e);
            if (s->writes)
                graph_co_remove(g, e);
        } else if (s->op == OP_CREATE) {
            g->create[s->arg] = NIL;
        } else if (s->op == OP_END) {
            g->end[s->tid] = NIL;
        }
    }
    for (unsigned t = 0; lost >> t != 0; t++)
        if ((lost >> t & 1) != 0)
            last_of(g, t);
}

void graph_index(struct frame *g)
{
    memset(g->count, 0, sizeof(g->count));
    memset(g->last, 0xff, sizeof(g->last));
    memset(g->create, 0xff, sizeof(g->create));
    memset(g->end, 0xff, sizeof(g->end));
    memset(g->bottom, 0xff, sizeof(g->bottom));
    for (uint32_t i = 0; i < g->n; i++) {
        struct slot *s = &g->slot[i];
        if (s->kind == EVENT) {
            g->count[s->tid]++;
            g->last[s->tid] = (uint16_t)i;
            g->bottom[s->tid] = NIL;
            if (s->op == OP_CREATE)
                g->create[s->arg] = (uint16_t)i;
            else if (s->op == OP_END)
                g->end[s->tid] = (uint16_t)i;
        } else {
            g->bottom[s->tid] = (uint16_t)i;
        }
    }
}

void graph_turn(struct frame *g, uint16_t e, enum slot_kind kind)
{
    struct slot *s = &g->slot[e];
    unsigned t = s->tid;
    if (s->kind == kind)
        return;
    s->kind = (uint8_t)kind;
    uint16_t last = e;
    if (kind == EVENT) {
        g->count[t]++;
    } else if (--g->count[t] == 0) {
        last = NIL;
    } else {
        do
            last--;
        while (g->slot[last].kind != EVENT || g->slot[last].tid != t);
    }
    g->last[t] = last;
    g->bottom[t] = kind == EVENT ? NIL : e;
}

uint16_t graph_po_before(const struct frame *g, uint16_t e)
{
    const struct slot *s = &g->slot[e];
    if (s->idx == 0)
        return g->create[s->tid];
    do
        e--;
    while (g->slot[e].kind != EVENT || g->slot[e].tid != s->tid);
    return e;
}

void graph_porf(struct frame *g, uint16_t e)
{
    struct slot *s = &g->slot[e];
    uint16_t p = graph_po_before(g, e);
    if (p != NIL)
        s->porf = g->slot[p].porf;
    else
        memset(&s->porf, 0, sizeof(s->porf));
    if (s->rf != NIL)
        clock_join(&s->porf, &g->slot[s->rf].porf);
    clock_tick(&s->porf, s->tid, s->idx);
}

bool graph_caused(const struct frame *g, uint16_t w, uint16_t e)
{
    uint16_t cause = g->slot[e].cause, since = g->slot[e].since;
    /* What leads to w came before it; what had come before the cause is not what the cause leads to.  So this ends. */
    while (w != cause && graph_leads(g, cause, w)) {
        uint16_t x = g->place[g->slot[w].loc].last;
        while (x == w || (x >= since && !graph_leads(g, x, w))) /* the cause at the latest */
            x = g->slot[x].before;
        if (x == cause)
            return true;
        w = x;
    }
    return false;
}

void graph_copy(struct frame *to, const struct frame *from, const bool *keep, uint16_t *renamed)
{
    if (to->capacity < from->n) {
        free(to->slot);
        to->capacity = from->n + 32;
        to->slot = aligned_alloc(16, to->capacity * sizeof(*to->slot));
        if (to->slot == NULL)
            abort();
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < from->n; i++)
        if (keep[i]) {
            renamed[i] = (uint16_t)n;
            to->slot[n++] = from->slot[i];
        } else {
            renamed[i] = NIL;
        }
    renamed[NIL] = NIL;
    to->n = n;
    to->places = 0;
    if (from->places > 0)
        graph_place(to, (uint16_t)(from->places - 1));
    for (uint32_t l = 0; l < from->places; l++) {
        to->place[l].init = from->place[l].init;
        uint16_t last = NIL;
        for (uint16_t w = from->place[l].first; w != NIL; w = from->slot[w].after) {
            uint16_t to_w = renamed[w];
            if (to_w == NIL)
                continue;
            to->slot[to_w].before = last;
            *(last == NIL ? &to->place[l].first : &to->slot[last].after) = to_w;
            last = to_w;
        }
        if (last != NIL)
            to->slot[last].after = NIL;
        to->place[l].last = last;
    }
    for (uint32_t i = 0; i < n; i++)
        to->slot[i].readers = NIL;
    for (uint32_t i = 0; i < n; i++) {
        struct slot *s = &to->slot[i];
        s->cause = renamed[s->cause];
        if (s->since != NIL) { /* a time: it stays when the slot goes */
            uint16_t next = s->since;
            while (!keep[next]) /* the cause at the latest */
                next++;
            s->since = renamed[next];
        }
        s->rf = renamed[s->rf];
        if (s->kind == EVENT && s->reads && s->loc != NIL)
            graph_read(to, (uint16_t)i, s->rf);
    }
    graph_index(to);
}

/* ---- operations ---- */

static uint64_t cut(uint64_t value, unsigned log)
{
    return log >= 3 ? value : value & ((UINT64_C(1) << (8U << log)) - 1);
}

static const uint64_t writer = UINT64_C(1) << 63;

struct effect effect_of(const struct slot *e, uint64_t old, unsigned choice)
{
    struct effect f = {old, true, false, 1};
    switch (e->op) {
    case OP_LOAD:
        f.writes = false;
        break;
    case OP_STORE:
    case OP_XCHG:
        f.new = e->arg;
        break;
    case OP_ADD:
        f.new = old + e->arg;
        break;
    case OP_SUB:
        f.new = old - e->arg;
        break;
    case OP_AND:
        f.new = old & e->arg;
        break;
    case OP_OR:
        f.new = old | e->arg;
        break;
    case OP_XOR:
        f.new = old ^ e->arg;
        break;
    case OP_NAND:
        f.new = ~(old & e->arg);
        break;
    case OP_CAS:
    case OP_CAS_WEAK:
    case OP_CAS_VAL:
        f.writes = old == e->expect;
        if (f.writes && e->weak) {
            f.choices = 2;
            f.writes = choice == 0;
        }
        f.new = f.writes ? e->arg : old;
        break;
    case OP_LOCK:
    case OP_TRYLOCK:
        f.writes = old == 0;
        f.waits = !f.writes && e->op == OP_LOCK;
        f.new = f.writes ? e->arg : old;
        break;
    case OP_RDLOCK:
    case OP_TRYRDLOCK:
        f.writes = (old & writer) == 0;
        f.waits = !f.writes && e->op == OP_RDLOCK;
        f.new = f.writes ? old + 1 : old;
        break;
    case OP_AWAIT:
    case OP_AWAIT_OVER:
        f.writes = false;
        f.waits = old == (e->op == OP_AWAIT ? 0 : e->arg);
        break;
    case OP_TAKE:
    case OP_TRYTAKE:
        f.writes = old != 0;
        f.waits = !f.writes && e->op == OP_TAKE;
        f.new = f.writes ? old - 1 : old;
        break;
    case OP_ENQUEUE:
    case OP_ARRIVE: { /* nibbles hold thread + 1: the queue ends at the first 0 */
        unsigned n = 0;
        while (n < 16 && (old >> (4 * n) & 15) != 0)
            n++;
        f.new = e->op == OP_ARRIVE &&n + 1 == e->expect ? 0 : old | e->arg << (4 * n);
        break;
    }
    case OP_DEQUEUE:
    case OP_REMOVE: {
        unsigned n = 0, at = choice;
        while (n < 16 && (old >> (4 * n) & 15) != 0)
            n++;
        if (e->op == OP_REMOVE)
            for (at = 0; at < n && (old >> (4 * at) & 15) != e->arg; at++)
                ;
        else
            f.choices = n > 1 ? (uint8_t)n : 1;
        f.writes = at < n;
        if (f.writes)
            f.new = (old & ((UINT64_C(1) << (4 * at)) - 1)) | (at == 15 ? 0 : old >> (4 * (at + 1)) << (4 * at));
        break;
    }
    default:
        break;
    }
    f.new = cut(f.new, e->log);
    return f;
}

bool graph_may_fail(const struct frame *g, uint16_t e)
{
    const struct slot *me = &g->slot[e];
    for (const struct slot *s = me; s-- != g->slot;)
        if (s->kind == EVENT && s->tid == me->tid && s->loc == me->loc && s->op == OP_CAS_WEAK)
            return s->writes || s->old != s->expect;
    return true;
}

const char *op_name(unsigned op)
{
    static const char *const names[] = {
        [OP_LOAD] = "load",        [OP_STORE] = "store",
        [OP_XCHG] = "exchange",    [OP_ADD] = "fetch-add",
        [OP_SUB] = "fetch-sub",    [OP_AND] = "fetch-and",
        [OP_OR] = "fetch-or",      [OP_XOR] = "fetch-xor",
        [OP_NAND] = "fetch-nand",  [OP_CAS] = "CAS",
        [OP_CAS_WEAK] = "CAS",     [OP_CAS_VAL] = "CAS",
        [OP_LOCK] = "lock",        [OP_TRYLOCK] = "try-lock",
        [OP_RDLOCK] = "read-lock", [OP_TRYRDLOCK] = "try-read-lock",
        [OP_AWAIT] = "wait",       [OP_TAKE] = "take",
        [OP_TRYTAKE] = "try-take", [OP_ENQUEUE] = "enqueue",
        [OP_DEQUEUE] = "signal",   [OP_REMOVE] = "leave",
        [OP_ARRIVE] = "arrive",    [OP_AWAIT_OVER] = "wait",
        [OP_CREATE] = "create",    [OP_END] = "end",
        [OP_JOIN] = "join",        [OP_CHOOSE] = "choose",
    };
    return names[op];
}

/* ---- the model ---- */

/* Whether all that must come before e has come, but its thread's: what it reads; of a write, its predecessor and who reads
 * that. */
static inline bool may_come(const struct frame *g, uint16_t e, const bool come[])
{
    const struct slot *s = &g->slot[e];
    if (s->rf != NIL && !come[s->rf])
        return false;
    if (!s->writes || s->loc == NIL)
        return true;
    if (s->before != NIL && !come[s->before])
        return false;
    for (uint16_t r = s->before == NIL ? g->place[s->loc].readers : g->slot[s->before].readers; r != NIL;
         r = g->slot[r].reader)
        if (r != e && !come[r])
            return false;
    return true;
}

static inline void write_hb(const struct frame *g, const struct slot *s, uint16_t w, struct clock *c)
{
    uint16_t r = s->before == NIL ? g->place[s->loc].readers : g->slot[s->before].readers;
    if (s->before != NIL)
        clock_join(c, &g->slot[s->before].hb);
    for (; r != NIL; r = g->slot[r].reader)
        if (r != w)
            clock_join(c, &g->slot[r].hb);
}

static int sc_order(struct frame *g, uint16_t *order)
{
    static uint16_t slots[SLOTS_MAX]; /* of each thread in turn, its events */
    static bool come[SLOTS_MAX];
    static const struct clock none;
    uint16_t *next[IN_THREADS], *end[IN_THREADS];
    uint32_t events = 0, n = 0;
    unsigned threads = 0;

    for (unsigned t = 0; t < IN_THREADS; t++) {
        next[t] = slots + events;
        events += g->count[t];
        end[t] = slots + events;
        if (g->count[t] != 0)
            threads = t + 1;
    }
    for (uint32_t i = 0; i < g->n; i++) {
        come[i] = false;
        if (g->slot[i].kind == EVENT)
            next[g->slot[i].tid][g->slot[i].idx] = (uint16_t)i;
    }
    for (unsigned t = 0, idle = 0; n < events; t = t + 1 == threads ? 0 : t + 1) {
        uint16_t *at = next[t], f = at == end[t] ? NIL : g->slot[*at].idx == 0 ? g->create[t] : at[-1];
        while (at != end[t] && (f == NIL || come[f]) && may_come(g, *at, come)) {
            struct slot *s = &g->slot[*at];
            struct clock c = f == NIL ? none : g->slot[f].hb;
            if (s->rf != NIL)
                clock_join(&c, &g->slot[s->rf].hb);
            if (s->writes && s->loc != NIL)
                write_hb(g, s, *at, &c);
            clock_tick(&c, t, s->idx);
            s->hb = c;
            come[*at] = true;
            order[n++] = f = *at++;
        }
        idle = at == next[t] ? idle + 1 : 0;
        if (idle > threads)
            return -1;
        next[t] = at;
    }
    return (int)n;
}

const struct model model_sc = {"sc", sc_order};
