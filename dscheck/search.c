/* SPDX-License-Identifier: MIT */
/* See search.h. */
#include "search.h"

#include "revisit.h"

#include <stdlib.h>
#include <string.h>

enum item_kind { READ, PLACE, REVISIT, STEAL };
enum { OURS, ELSEWHERE /* another process has it */, APART /* not what is being given away */ };
enum { SHARD_LEVEL = 3 };

unsigned search_shard, search_shards = 1;

struct item {
    uint8_t kind, choice, level, whose;
    uint16_t e, other, r; /* other: the write to read, or the one to come after */
    uint32_t n;           /* the graph's size then */
    uint32_t id;          /* a digest of how the graph is reached, the same in every process */
    float weight;
};

const struct model *search_model = &model_sc;
struct frame *search_graph;
uint64_t search_discarded;
uint16_t search_order[SLOTS_MAX], search_revisited = NIL;
int search_ordered;

static struct frame **frames;
static unsigned depth, frames_made;
static struct item *items;
static uint32_t top, capacity;
static uint8_t level;       /* how many items led to the graph at hand, up to SHARD_LEVEL */
static uint32_t id, pushed; /* of the graph at hand; how many items it has pushed */
static bool keep[SLOTS_MAX];
static uint16_t renamed[NIL + 1];
static double done_weight;
static float weight = 1; /* of the branch at hand */

static struct item *push(enum item_kind kind, uint16_t e, uint16_t other)
{
    if (top == capacity) {
        capacity = capacity < 256 ? 256 : capacity * 2;
        items = realloc(items, capacity * sizeof(*items));
        if (items == NULL)
            abort();
    }
    struct item *i = &items[top++];
    weight /= 2;
    *i = (struct item){.kind = (uint8_t)kind,
                       .e = e,
                       .other = other,
                       .r = NIL,
                       .n = search_graph->n,
                       .id = (id ^ ++pushed) * UINT32_C(0x9e3779b1),
                       .weight = weight,
                       .level = level < SHARD_LEVEL ? (uint8_t)(level + 1) : SHARD_LEVEL + 1};
    return i;
}

void search_init(void)
{
    frames = calloc(SLOTS_MAX, sizeof(struct frame *));
    if (frames == NULL || (frames[0] = calloc(1, sizeof(struct frame))) == NULL)
        abort();
    frames_made = depth = 1;
    search_graph = frames[0];
    graph_index(search_graph);
}

unsigned search_depth(void)
{
    return top;
}

double search_done(void)
{
    return done_weight;
}

void search_push_read(uint16_t e, uint16_t rf, unsigned choice)
{
    push(READ, e, rf)->choice = (uint8_t)choice;
}

void search_push_instead(uint16_t e, uint16_t rf)
{
    push(READ, e, rf)->r = e;
}

void search_push_steal(uint16_t e, uint16_t rf, unsigned choice)
{
    push(STEAL, e, rf)->choice = (uint8_t)choice;
}

void search_push_place(uint16_t e, uint16_t after)
{
    push(PLACE, e, after);
}

void search_push_revisits(uint16_t w)
{
    struct frame *g = search_graph;
    uint16_t loc = g->slot[w].loc;
    for (uint32_t i = 0; i < g->n; i++) {
        const struct slot *s = &g->slot[i];
        if (s->loc == loc && s->kind == EVENT && s->reads && i != w && s->rf != w &&
            !clock_has(&g->slot[w].porf, s) && revisit_may(g, (uint16_t)i, w))
            push(REVISIT, w, NIL)->r = (uint16_t)i;
    }
}

/* ---- making the graph of an item ---- */

static void unlink_event(struct frame *g, uint16_t e)
{
    struct slot *s = &g->slot[e];
    if (s->kind != EVENT || s->loc == NIL)
        return;
    if (s->reads)
        graph_unread(g, e);
    if (s->writes)
        graph_co_remove(g, e);
}

void search_settle(uint16_t e, uint16_t rf, unsigned choice)
{
    struct frame *g = search_graph;
    struct slot *s = &g->slot[e];
    uint64_t old = value_of(g, rf, s->loc);
    struct effect f = effect_of(s, old, choice);
    s->old = old;
    s->new = f.new;
    s->choice = (uint8_t)choice;
    s->choices = f.choices;
    s->rf = rf;
    if (f.waits) {
        s->kind = BOTTOM;
        s->writes = false;
        graph_index(g);
        return;
    }
    if (s->kind != EVENT) {
        s->kind = EVENT;
        graph_index(g);
    }
    s->idx = (uint16_t)(g->count[s->tid] - 1);
    s->writes = f.writes;
    graph_read(g, e, rf);
    graph_porf(g, e);
    if (s->writes)
        graph_co_insert(g, e, rf);
    if (choice == 0)
        for (unsigned c = 1; c < f.choices; c++)
            search_push_read(e, rf, c);
}

void search_write_part(uint16_t e)
{
    struct frame *g = search_graph;
    if (e + 1U != g->n) {
        uint16_t part = graph_append(g, WPART, g->slot[e].tid);
        g->slot[part].link = e;
        g->slot[e].link = part;
    }
    search_push_revisits(e);
}

/* Writes whose reads stayed when what came after those went: they come again. */
static void rewrite(uint16_t but)
{
    struct frame *g = search_graph;
    uint32_t n = g->n;
    for (uint16_t o = 0; o < n; o++)
        if (g->slot[o].kind == EVENT && g->slot[o].reads && g->slot[o].writes && o != but && g->slot[o].rf != NIL &&
            g->slot[o].rf > o && g->slot[o].link == NIL)
            search_write_part(o);
}

/* What reads r from a later write: it may have to wait, or write, or may turn out to be a loop. */
static void settle_revisited(uint16_t r, uint16_t w, unsigned choice)
{
    struct frame *g = search_graph;
    struct slot *s = &g->slot[r];
    search_settle(r, w, choice);
    if (s->kind == BOTTOM) {
        s->cause = w;
        s->since = r;
    } else if (s->writes && s->op < OP_CAS &&
               s->new == s->old) { /* a compare-and-exchange that succeeds ends its loop */
        graph_co_remove(g, r);
        s->writes = false;
        search_revisited = r;
    } else {
        search_revisited = r;
        if (s->writes)
            search_write_part(r);
    }
    rewrite(r);
}

static uint16_t po_before(const struct frame *g, uint16_t e)
{
    const struct slot *s = &g->slot[e];
    if (s->idx == 0)
        return g->create[s->tid];
    for (uint16_t i = (uint16_t)(e - 1);; i--)
        if (g->slot[i].kind == EVENT && g->slot[i].tid == s->tid)
            return i;
}

/* Other places of w, which r reads.  The clocks are those with w and r last, where nothing comes after them. */
static void push_places(uint16_t w, uint16_t r)
{
    struct frame *g = search_graph;
    const struct slot *s = g->slot;
    uint16_t pw = po_before(g, w), pr = s[r].kind == EVENT ? po_before(g, r) : NIL;
    uint32_t n = g->n;
    for (uint16_t x = s[w].before; x != NIL; x = s[x].before) {
        if ((pw != NIL && clock_has(&s[pw].hb, &s[x])) || (pr != NIL && clock_has(&s[pr].hb, &s[x])))
            break;
        if (s[x].reads && s[x].writes)
            continue;
        struct item *i = push(PLACE, w, s[x].before);
        i->r = r;
        i->n = n;
        s = g->slot;
    }
}

static struct frame *new_frame(void)
{
    if (depth == frames_made && (frames[frames_made++] = calloc(1, sizeof(struct frame))) == NULL)
        abort();
    struct frame *g = frames[depth++];
    g->base = top;
    return g;
}

static bool apply_revisit(const struct item *i)
{
    struct frame *g = search_graph;
    uint16_t w = i->e, r = i->r;
    for (uint32_t s = 0; s < g->n; s++)
        keep[s] = !revisit_drops(g, (uint16_t)s, r, w);
    struct frame *to = new_frame();
    graph_copy(to, g, keep, renamed);
    search_graph = g = to;
    r = renamed[r];
    w = renamed[w];
    unlink_event(g, r);
    g->slot[r].link = NIL;
    g->slot[r].writes = g->slot[r].skips = false;
    bool store = !g->slot[w].reads;
    if (i->kind == STEAL) {
        graph_co_insert(g, w, g->slot[w].rf);
    } else if (store) {
        graph_co_remove(g, w);
        graph_co_insert(g, w, g->place[g->slot[w].loc].last);
    }
    /* Clocks first, with r as a plain read: they say where else w may come. */
    g->slot[r].kind = BOTTOM;
    graph_index(g);
    if (search_model->order(g, search_order) < 0) {
        search_discarded++;
        return false;
    }
    if (store) {
        g->slot[r].kind = EVENT;
        graph_index(g);
        push_places(w, r);
    }
    g->slot[r].kind = EVENT;
    graph_index(g);
    settle_revisited(r, w, 0);
    return true;
}

/* e takes its value from where another one does already; it is not in co. */
static void read_in_vain(uint16_t e, uint16_t rf, uint8_t choice)
{
    struct frame *g = search_graph;
    struct slot *s = &g->slot[e];
    s->kind = EVENT;
    graph_index(g);
    s->idx = (uint16_t)(g->count[s->tid] - 1);
    s->rf = rf;
    s->old = value_of(g, rf, s->loc);
    s->new = effect_of(s, s->old, choice).new;
    s->choice = choice;
    s->reads = s->writes = true;
    graph_porf(g, e);
    graph_read(g, e, rf);
}

/* Both cannot be: some revisit by e must make the other one go, or read e. */
static void push_steals(uint16_t e, uint8_t choice)
{
    struct frame *g = search_graph;
    uint16_t rf = g->slot[e].rf, loc = g->slot[e].loc;
    uint16_t other = rf == NIL ? g->place[loc].first : g->slot[rf].after;
    for (uint32_t i = 0; i < g->n; i++) {
        const struct slot *s = &g->slot[i];
        if (s->loc == loc && s->kind == EVENT && s->reads && i != e && !clock_has(&g->slot[e].porf, s) &&
            (i == other || revisit_drops(g, other, (uint16_t)i, e)) && revisit_may(g, (uint16_t)i, e)) {
            struct item *made = push(STEAL, e, rf);
            made->choice = choice;
            made->r = (uint16_t)i;
        }
    }
}

static bool apply(const struct item *i)
{
    struct frame *g = search_graph;
    search_revisited = NIL;
    graph_cut(g, i->n);
    weight = i->weight;
    struct slot *s = &g->slot[i->e];
    bool made;
    switch ((enum item_kind)i->kind) {
    case READ:
        if (s->loc == NIL) {
            s->choice = i->choice;
            s->old = i->choice;
        } else if (i->e + 1U == i->n) {
            unlink_event(g, i->e);
            s->skips = i->r != NIL;
            search_settle(i->e, i->other, i->choice);
            if (g->slot[i->e].writes)
                search_write_part(i->e);
        } else { /* another choice of a revisited one */
            unlink_event(g, i->e);
            settle_revisited(i->e, i->other, i->choice);
        }
        break;
    case PLACE:
        if (i->r != NIL)
            unlink_event(g, i->r);
        graph_co_remove(g, i->e);
        graph_co_insert(g, i->e, i->other);
        if (i->r != NIL) {
            g->slot[i->r].kind = EVENT;
            g->slot[i->r].link = NIL;
            graph_index(g);
            settle_revisited(i->r, i->e, 0);
        }
        break;
    case STEAL:
        unlink_event(g, i->e);
        s->skips = false;
        read_in_vain(i->e, i->other, i->choice);
        if (i->r == NIL)
            push_steals(i->e, i->choice);
        made = i->r != NIL && apply_revisit(i);
        g->slot[i->e].writes = false; /* it is not in co: for the next one who unlinks it */
        if (!made)
            return false;
        break;
    case REVISIT:
        if (!is_write(s)) /* it has turned out to wait */
            return false;
        if (!apply_revisit(i))
            return false;
        break;
    }
    search_ordered = search_model->order(search_graph, search_order);
    search_discarded += search_ordered < 0;
    return search_ordered >= 0;
}

bool search_next(void)
{
    done_weight += (double)weight;
    for (;;) {
        while (depth > 1 && top <= frames[depth - 1]->base)
            depth--;
        search_graph = frames[depth - 1];
        if (top == 0)
            return false;
        struct item i = items[--top];
        if (i.whose != OURS)
            continue;
        level = i.level;
        id = i.id;
        pushed = 0;
        /* Shards deal the subtrees of one level out among them; what lies above, each walks through. */
        if (level == SHARD_LEVEL && search_shards > 1 && (id >> 8) % search_shards != search_shard) {
            done_weight += (double)i.weight;
            continue;
        }
        if (apply(&i))
            return true;
        done_weight += (double)weight;
    }
}

bool search_counts(void)
{
    return search_shards == 1 || level >= SHARD_LEVEL || search_shard == 0;
}

bool search_splits(void)
{
    unsigned ours = 0;
    for (uint32_t i = 0; i < top && ours < 2; i++)
        ours += items[i].whose == OURS;
    return ours == 2;
}

/* The older an item, the more there is behind it: of the two halves each has every other one. */
void search_split(bool give)
{
    static float own;
    bool apart = true;
    for (uint32_t i = 0; i < top; i++)
        if (!give && items[i].whose != ELSEWHERE) {
            items[i].whose = items[i].whose == APART ? OURS : ELSEWHERE;
        } else if (give && items[i].whose == OURS) {
            items[i].whose = apart ? APART : OURS;
            apart = !apart;
        }
    if (give)
        own = weight;
    weight = give ? 0 : own; /* the branch at hand stays here */
}

void search_clear(void)
{
    top = 0;
    depth = 1;
    search_graph = frames[0];
    weight = 0;
}

static void stream_frame(struct stream *s, struct frame *g)
{
    uint32_t n = g->n, places = g->places;
    stream(s, &n, sizeof(n));
    stream(s, &places, sizeof(places));
    stream(s, &g->base, sizeof(g->base));
    if (s->loads) {
        g->n = g->places = 0;
        while (g->n < n)
            graph_append(g, EVENT, 0);
        if (places > 0)
            graph_place(g, (uint16_t)(places - 1));
    }
    stream(s, g->slot, n * sizeof(*g->slot));
    stream(s, g->place, places * sizeof(*g->place));
    if (s->loads)
        graph_index(g);
}

void search_stream(struct stream *s)
{
    stream(s, &top, sizeof(top));
    stream(s, &depth, sizeof(depth));
    if (s->loads) {
        if (top > capacity) {
            capacity = top;
            items = realloc(items, capacity * sizeof(*items));
            if (items == NULL)
                abort();
        }
        search_revisited = NIL;
    }
    stream(s, &weight, sizeof(weight));
    stream(s, items, top * sizeof(*items));
    for (uint32_t i = 0; s->loads && i < top; i++)
        if (items[i].whose == APART)
            items[i].whose = ELSEWHERE;
    for (unsigned d = 0; d < depth; d++) {
        if (d == frames_made && (frames[frames_made++] = calloc(1, sizeof(struct frame))) == NULL)
            abort();
        stream_frame(s, frames[d]);
    }
    search_graph = frames[depth - 1];
}
