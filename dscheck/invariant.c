/* SPDX-License-Identifier: MIT */
/* See invariant.h. */
#include "invariant.h"

#include <stdlib.h>
#include <string.h>

enum { INVARIANTS = 8, WATCHED = 64, CUTS = 1 << 20 };

static struct invariant {
    bool (*holds)(void);
    uint16_t from[IN_THREADS], to[IN_THREADS]; /* events of each thread: it must hold after these, until those */
} invariant[INVARIANTS];
static unsigned invariants;
static uint64_t of; /* the execution that they belong to */

/* Whoever asks is a thread of its own, on the engine's stack; like a look ahead, it may only read. */
static struct in_thread asker;

static uint16_t watched[WATCHED]; /* locations that an invariant has read, in whatever execution */
static unsigned watches;
static bool grown;

static struct write {
    uint16_t slot, idx;
} * writes[IN_THREADS]; /* to watched locations */
static unsigned made[IN_THREADS], written[IN_THREADS];

bool invariant_asks(void)
{
    return in_cur == &asker;
}

uint64_t invariant_answer(const struct request *q)
{
    if (q->op == OP_FENCE)
        return 0;
    if (q->op != OP_LOAD)
        in_bug("misuse", "an invariant does more than read");
    uint16_t loc = place_touched(q->at);
    unsigned i = 0;
    while (i < watches && watched[i] != loc)
        i++;
    if (loc != NIL && i == watches) {
        if (watches == WATCHED)
            exec_give_up("an invariant that reads more than 64 locations");
        watched[watches++] = loc;
        grown = true;
    }
    return place_fetch(q->at, q->log);
}

static void now(uint16_t *clock)
{
    for (unsigned t = 0; t < IN_THREADS; t++)
        clock[t] = 0;
    uint16_t e = exec_state[in_cur->id].latest;
    if (e == NIL)
        e = search_graph->create[in_cur->id];
    for (unsigned t = 0; e != NIL && t < IN_THREADS; t++)
        clock[t] = (uint16_t)search_graph->slot[e].hb.of[t];
}

void in_invariant(bool (*holds)(void))
{
    if (of != exec_number)
        invariants = 0;
    of = exec_number;
    if (invariants == INVARIANTS)
        exec_give_up("more than 8 invariants");
    invariant[invariants].holds = holds;
    now(invariant[invariants].from);
    memset(invariant[invariants++].to, 0xff, sizeof(invariant->to));
}

void in_invariant_end(void)
{
    for (unsigned i = 0; i < invariants && of == exec_number; i++)
        if (invariant[i].to[0] == NIL)
            now(invariant[i].to);
}

static void find_writes(void)
{
    const struct frame *g = search_graph;
    for (unsigned t = 0; t < IN_THREADS; t++)
        written[t] = 0;
    for (uint32_t i = 0; i < run_traced; i++) {
        uint16_t e = run_trace[i].slot;
        unsigned t = run_trace[i].tid;
        bool watch = false;
        for (unsigned w = 0; w < watches && is_write(&g->slot[e]); w++)
            watch |= watched[w] == g->slot[e].loc;
        if (!watch)
            continue;
        if (written[t] == made[t]) {
            made[t] = made[t] * 2 + 16;
            writes[t] = realloc(writes[t], made[t] * sizeof(*writes[t]));
            if (writes[t] == NULL)
                abort();
        }
        writes[t][written[t]++] = (struct write){e, g->slot[e].idx};
    }
}

/* Whether the first n[t] writes of each thread are a state that some interleaving passes through, once the invariant
 * must hold; fills in the events that lead to it. */
static bool consistent(const struct invariant *v, const unsigned *n, uint16_t *cut)
{
    const struct frame *g = search_graph;
    memcpy(cut, v->from, sizeof(v->from));
    for (unsigned t = 0; t < exec_threads; t++)
        for (unsigned u = 0; u < exec_threads && n[t] > 0; u++) {
            uint16_t before = (uint16_t)g->slot[writes[t][n[t] - 1].slot].hb.of[u];
            if (before > cut[u])
                cut[u] = before;
        }
    bool over = v->to[0] != NIL;
    for (unsigned t = 0; t < exec_threads; t++) {
        if (n[t] < written[t] && writes[t][n[t]].idx < cut[t])
            return false;
        over &= cut[t] >= v->to[t];
    }
    /* After its end: what is before it is all there, and something more. */
    bool more = false;
    for (unsigned t = 0; over && t < exec_threads; t++)
        more |= cut[t] > v->to[t];
    return !more;
}

static void put(const uint16_t *cut)
{
    const struct frame *g = search_graph;
    for (unsigned i = 0; i < watches; i++) {
        uint16_t loc = watched[i], last = NIL, log = 0;
        if (loc >= g->places || place_touched(place_address(loc)) != loc)
            continue;
        for (uint16_t w = g->place[loc].first; w != NIL; w = g->slot[w].after) {
            log = g->slot[w].log;
            if (g->slot[w].idx < cut[g->slot[w].tid])
                last = w;
        }
        if (g->place[loc].first != NIL)
            place_put(place_address(loc), log, value_of(g, last, loc));
    }
}

static bool asked(const struct invariant *v)
{
    struct in_thread *was = in_cur;
    char *stack = in_engine_sp;
    asker.high = stack;
    asker.low = stack - 192 * 1024;
    in_engine_sp = stack - 128 * 1024;
    in_cur = &asker;
    in_ahead = true;
    bool holds = v->holds();
    in_ahead = false;
    in_cur = was;
    in_engine_sp = stack;
    return holds;
}

static _Noreturn void broken(const struct invariant *v, const uint16_t *cut)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < run_traced; i++) {
        const struct slot *s = &search_graph->slot[run_trace[i].slot];
        if (s->kind == EVENT && s->idx < cut[s->tid])
            run_trace[n++] = run_trace[i];
    }
    run_traced = n;
    in_cur = &in_boot;
    in_bug("invariant", "what @%x says does not hold",
           (uint32_t)((uint64_t)(uintptr_t)v->holds - (uint64_t)in_object.base));
}

static void check(const struct invariant *v)
{
    unsigned n[IN_THREADS], cuts;
    uint16_t cut[IN_THREADS];
again:
    find_writes();
    memset(n, 0, sizeof(n));
    cuts = 0;
    for (unsigned t = 0; t < exec_threads;) {
        if (consistent(v, n, cut)) {
            put(cut);
            grown = false;
            bool holds = asked(v);
            if (grown) /* it has read what this cut has not put back */
                goto again;
            if (!holds)
                broken(v, cut);
        }
        if (++cuts > CUTS)
            exec_give_up("an invariant with too many states in one execution");
        for (t = 0; t < exec_threads && n[t] == written[t]; t++)
            n[t] = 0;
        if (t < exec_threads)
            n[t]++;
    }
}

void invariant_check(void)
{
    if (of != exec_number || invariants == 0)
        return;
    for (unsigned i = 0; i < invariants; i++)
        check(&invariant[i]);
}
