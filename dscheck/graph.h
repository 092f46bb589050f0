/* SPDX-License-Identifier: MIT */
/*
 * Execution graphs: events with program order (po), reads-from (rf) and modification order (co).
 *
 * A frame is one graph.  Its slots lie in the order in which they were added, which the search needs (explore.h), so a
 * graph is cut back by dropping slots from its end, and a slot's number says when it came.  Kinds of slots:
 *
 *   EVENT   an operation of a thread, the next in its program order
 *   BOTTOM  a read that waits: its thread comes back to it for as long as nobody writes what it waits for.  It is no
 *           event: nothing is ordered by it.  It stands for the offers that were made: whatever was written before
 *           this one has been tried.  `cause` is the write that made a read that had gone on wait: what does not lead
 *           from it is for that read, where it still goes on.  `since` is when that read was made: the slots from there
 *           on came later, the cause among them.  That holds even when the slot itself goes: it is a time, no slot.
 *           Both hold for the read when it goes on again.
 *
 * Two clocks an event, counting events a thread: `porf`, what is before it in po and rf, and `hb`, what is before it in
 * the order of the model.  Under sequential consistency hb is (po | rf | co | fr)+ , and its being acyclic is the one
 * axiom: model_sc() computes it and an order of execution along with it.
 */
#ifndef DSCHECK_GRAPH_H
#define DSCHECK_GRAPH_H

#include <emmintrin.h>

#include "../instrument/instrument.h"

enum { NIL = 0xffff, SLOTS_MAX = 0xff00 };
enum slot_kind { EVENT, BOTTOM };

struct clock {
    union {
        __m128i v[2]; /* lanes of 16 bits */
        int16_t of[IN_THREADS];
    };
};

struct slot {
    uint8_t kind, tid, op, log;
    bool reads, writes, weak;
    bool skips;              /* it read the latest value that is not in vain: whatever had come later is */
    uint8_t choice, choices; /* which of so many this event took */
    uint16_t idx;            /* in its thread */
    uint16_t loc;            /* NIL: none */
    uint16_t rf;             /* NIL: the initial value */
    uint16_t before, after;  /* co; NIL: none */
    uint16_t readers;        /* of a write: the first of those that read it */
    uint16_t reader;         /* of a read: the next that reads the same */
    uint16_t cause, since;
    uint16_t span;     /* of a BOTTOM: how many reads before it belong to its loop */
    uint32_t pc;       /* an offset into the code */
    uint64_t old, new; /* what it read, and wrote */
    uint64_t arg, expect;
    struct clock porf, hb;
};

/* A location in a graph. */
struct place {
    uint16_t first, last, readers; /* co's ends, and who reads the initial value */
    uint64_t init;
};

struct frame {
    uint32_t n, capacity, places, places_capacity;
    uint32_t base;               /* the stack of things to try, when this frame was made */
    uint16_t count[IN_THREADS];  /* events */
    uint16_t last[IN_THREADS];   /* slot; NIL: none */
    uint16_t create[IN_THREADS]; /* slot that created the thread; NIL: none */
    uint16_t end[IN_THREADS];    /* slot of its end */
    uint16_t bottom[IN_THREADS]; /* slot that waits */
    struct slot *slot;
    struct place *place;
};

struct model {
    const char *name;
    /* Clocks of all events, and an order of execution in order[0 .. return value); -1: not consistent. */
    int (*order)(struct frame *g, uint16_t *order);
};
extern const struct model model_sc;

/* What an operation does that reads `old`. */
struct effect {
    uint64_t new;
    bool writes, waits;
    uint8_t choices;
};
struct effect effect_of(const struct slot *e, uint64_t old, unsigned choice);

extern bool graph_wide; /* more than eight threads */

static inline void clock_join(struct clock *to, const struct clock *from)
{
    to->v[0] = _mm_max_epi16(to->v[0], from->v[0]);
    if (graph_wide)
        to->v[1] = _mm_max_epi16(to->v[1], from->v[1]);
}

/* c, of what comes before event idx of a thread, is its own from now on.  (Never by a store to the one lane: what loads the
 * whole then waits for it to reach the cache.) */
static inline void clock_tick(struct clock *c, unsigned tid, unsigned idx)
{
    static const int16_t lane[IN_THREADS * 2] = {[IN_THREADS - 1] = -1};
    __m128i own = _mm_set1_epi16((int16_t)(idx + 1));
    const __m128i *half = (const __m128i *)&lane[IN_THREADS - 1 - tid];
    c->v[0] = _mm_max_epi16(c->v[0], _mm_and_si128(_mm_loadu_si128(half), own));
    if (graph_wide)
        c->v[1] = _mm_max_epi16(c->v[1], _mm_and_si128(_mm_loadu_si128(half + 1), own));
}

static inline bool clock_has(const struct clock *c, const struct slot *e)
{
    return c->of[e->tid] > (int16_t)e->idx;
}

static inline bool is_write(const struct slot *e)
{
    return e->kind == EVENT && e->writes;
}

static inline uint64_t value_of(const struct frame *g, uint16_t w, uint16_t loc)
{
    return w == NIL ? g->place[loc].init : g->slot[w].new;
}

/* The event that a thread's next one follows; NIL: none. */
static inline uint16_t follows(const struct frame *g, unsigned tid)
{
    return g->last[tid] != NIL ? g->last[tid] : g->create[tid];
}

/* Whether e leads to write w. */
static inline bool graph_leads(const struct frame *g, uint16_t e, uint16_t w)
{
    return e != w && clock_has(&g->slot[w].porf, &g->slot[e]);
}

/* Whether write w is for the read at e, which has had to wait for a cause: of the writes that had come when it was made
 * to wait or lead to w, the latest must be the cause, or be for it as well. */
bool graph_caused(const struct frame *g, uint16_t w, uint16_t e);

/* Whether write w is a new offer to who waits at `bottom`. */
static inline bool graph_newer(const struct frame *g, uint16_t w, uint16_t bottom)
{
    return w > bottom && (g->slot[bottom].cause == NIL || graph_caused(g, w, bottom));
}

/* Whether the exchange at e may fail for no reason: not if its thread's last one at that location has. Who then tries again
 * may do so any number of times, and if its turns write, no wait is seen in that: each would be another execution. */
bool graph_may_fail(const struct frame *g, uint16_t e);
uint16_t graph_append(struct frame *g, enum slot_kind kind, unsigned tid);
void graph_co_insert(struct frame *g, uint16_t w, uint16_t after); /* NIL: as the first */
void graph_co_remove(struct frame *g, uint16_t w);
void graph_read(struct frame *g, uint16_t r, uint16_t rf);
void graph_unread(struct frame *g, uint16_t r);
void graph_cut(struct frame *g, uint32_t n); /* drop the slots from n on */
void graph_index(struct frame *g);           /* count, last, create, end, bottom: from the slots */
/* The last slot of a thread becomes an EVENT, or a BOTTOM. */
void graph_turn(struct frame *g, uint16_t e, enum slot_kind kind);
/* The event of its thread before e; or what created the thread; NIL: it is the first of all. */
uint16_t graph_po_before(const struct frame *g, uint16_t e);
void graph_porf(struct frame *g, uint16_t e);
void graph_copy(struct frame *to, const struct frame *from, const bool *keep, uint16_t *renamed);
struct place *graph_place(struct frame *g, uint16_t loc);
const char *op_name(unsigned op);

#endif
