/* SPDX-License-Identifier: MIT */
/* See search.h. */
#include "items.h"

#include "revisit.h"

#include <stdlib.h>
#include <string.h>

const struct model *search_model = &model_sc;
struct frame *search_graph;
uint64_t search_discarded;
uint16_t search_order[SLOTS_MAX], search_revisited = NIL;
int search_ordered;

static struct frame **frames;
static unsigned depth, frames_made;
static bool keep[SLOTS_MAX];
static uint16_t renamed[NIL + 1];
static double done_weight;

void search_init(void)
{
    frames = calloc(SLOTS_MAX, sizeof(struct frame *));
    if (frames == NULL || (frames[0] = calloc(1, sizeof(struct frame))) == NULL)
        abort();
    frames_made = depth = 1;
    search_graph = frames[0];
    graph_index(search_graph);
}

double search_done(void)
{
    return done_weight;
}

/* Whether r belongs to the turn of a thread that waits; and where that turn has looked. */
static bool in_turn(const struct frame *g, uint16_t r, struct search_looks *looks)
{
    uint16_t b = g->bottom[g->slot[r].tid];
    if (b == NIL || g->slot[b].loc == g->slot[r].loc || g->slot[b].span >= SEARCH_LOOKS)
        return false;
    looks->n = 0;
    looks->loc[looks->n++] = g->slot[b].loc;
    bool found = false;
    for (uint16_t i = b; i-- > 0 && looks->n <= g->slot[b].span;)
        if (g->slot[i].kind == EVENT && g->slot[i].tid == g->slot[r].tid) {
            if (g->slot[i].op != OP_LOAD)
                return false;
            looks->loc[looks->n++] = g->slot[i].loc;
            found |= i == r;
        }
    return found;
}

/* `may_sleep`: where a thread that waits would start its turn anew, the graph as it is may be put to sleep. */
static bool push_revisits(uint16_t w, bool may_sleep)
{
    struct frame *g = search_graph;
    uint16_t loc = g->slot[w].loc, stale = NIL;
    uint32_t from = items_top;
    struct search_looks looks, found;
    for (uint32_t i = 0; i < g->n; i++) {
        const struct slot *s = &g->slot[i];
        if (s->loc == loc && s->kind == EVENT && s->reads && !clock_has(&g->slot[w].porf, s)) {
            items_wake_behind((uint16_t)i);
            if (!revisit_may(g, (uint16_t)i, w))
                continue;
            if (may_sleep && in_turn(g, (uint16_t)i, &looks) && (stale == NIL || g->slot[stale].tid == s->tid)) {
                stale = (uint16_t)i;
                found = looks;
            }
            items_push(REVISIT, w, NIL)->r = (uint16_t)i;
        }
    }
    if (stale == NIL)
        return false;
    struct item own = *items_push(AS_IT_IS, w, NIL);
    own.r = stale;
    own.looks = found;
    own.tid = g->slot[stale].tid;
    memmove(&items[from + 1], &items[from], (items_top - from - 1) * sizeof(*items));
    items[from] = own;
    items_asleep++;
    return true;
}

bool search_push_revisits(uint16_t w)
{
    return push_revisits(w, items_whole());
}

/* ---- making the graph of an item ---- */

static void unlink_event(struct frame *g, uint16_t e)
{
    struct slot *s = &g->slot[e];
    if (s->kind != EVENT)
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
        graph_turn(g, e, BOTTOM);
        s->writes = false;
        return;
    }
    graph_turn(g, e, EVENT);
    s->idx = (uint16_t)(g->count[s->tid] - 1);
    s->writes = f.writes;
    graph_read(g, e, rf);
    graph_porf(g, e);
    if (s->writes) {
        graph_co_insert(g, e, rf);
        search_wrote(e);
    }
    if (choice == 0)
        for (unsigned c = 1; c < f.choices; c++)
            search_push_read(e, rf, c);
}

void search_revised(uint16_t e)
{
    push_revisits(e, false);
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
            search_revised(r);
    }
}

/* Other places of w, which r reads.  The clocks are those with w and r last, where nothing comes after them. */
static void push_places(uint16_t w, uint16_t r)
{
    struct frame *g = search_graph;
    const struct slot *s = g->slot;
    uint16_t pw = graph_po_before(g, w), pr = graph_po_before(g, r);
    uint32_t n = g->n;
    for (uint16_t x = s[w].before; x != NIL; x = s[x].before) {
        if (clock_has(&s[pw].hb, &s[x]) || clock_has(&s[pr].hb, &s[x]))
            break;
        if (s[x].reads)
            continue; /* right behind what it reads */
        struct item *i = items_push(PLACE, w, s[x].before);
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
    g->base = items_top;
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
    g->slot[r].writes = g->slot[r].skips = false;
    if (i->kind == STEAL)
        graph_co_insert(g, w, g->slot[w].rf);
    if (!g->slot[w].reads) {
        /* Clocks first, without r: they say where else w may come.  (An update has its place.) */
        graph_turn(g, r, BOTTOM);
        if (search_model->order(g, search_order) < 0) {
            search_discarded++;
            return false;
        }
        graph_turn(g, r, EVENT);
        push_places(w, r);
    }
    settle_revisited(r, w, 0);
    return true;
}

/* e takes its value from where another one does already; it is not in co. */
static void read_in_vain(uint16_t e, uint16_t rf, uint8_t choice)
{
    struct frame *g = search_graph;
    struct slot *s = &g->slot[e];
    graph_turn(g, e, EVENT);
    s->idx = (uint16_t)(g->count[s->tid] - 1);
    s->rf = rf;
    s->old = value_of(g, rf, s->loc);
    s->new = effect_of(s, s->old, choice).new;
    s->choice = choice;
    s->reads = s->writes = true;
    graph_porf(g, e);
    graph_read(g, e, rf);
    search_wrote(e);
}

/* Both cannot be: some revisit by e must make the other one go, or read e. */
static void push_steals(uint16_t e, uint8_t choice)
{
    struct frame *g = search_graph;
    uint16_t rf = g->slot[e].rf, loc = g->slot[e].loc;
    uint16_t other = rf == NIL ? g->place[loc].first : g->slot[rf].after;
    for (uint32_t i = 0; i < g->n; i++) {
        const struct slot *s = &g->slot[i];
        if (s->loc != loc || s->kind != EVENT || !s->reads || i == e || clock_has(&g->slot[e].porf, s))
            continue;
        items_wake_behind((uint16_t)i);
        if ((i == other || revisit_drops(g, other, (uint16_t)i, e)) && revisit_may(g, (uint16_t)i, e)) {
            struct item *made = items_push(STEAL, e, rf);
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
    items_weight = i->weight;
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
                search_revised(i->e);
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
            graph_turn(g, i->r, EVENT);
            settle_revisited(i->r, i->e, 0);
        }
        break;
    case STEAL:
        unlink_event(g, i->e);
        read_in_vain(i->e, i->other, i->choice);
        if (i->r == NIL)
            push_steals(i->e, i->choice);
        made = i->r != NIL && apply_revisit(i);
        g->slot[i->e].writes = false; /* it is not in co: for the next one who unlinks it */
        if (!made)
            return false;
        break;
    case AS_IT_IS:
        break;
    case REVISIT:
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
    items_share();
    done_weight += (double)items_weight;
    for (;;) {
        while (depth > 1 && items_top <= frames[depth - 1]->base)
            depth--;
        search_graph = frames[depth - 1];
        if (items_top == 0)
            return false;
        struct item i = items[--items_top];
        items_from = items_top;
        if (i.looks.n > 0) {
            items_asleep--;
            done_weight += (double)i.weight;
            continue;
        }
        if (i.whose != OURS)
            continue;
        items_level = i.level;
        items_id = i.id;
        items_pushed = 0;
        /* Shards deal the subtrees of one level out among them; what lies above, each walks through. */
        if (items_level == SHARD_LEVEL && search_shards > 1 && (items_id >> 8) % search_shards != search_shard) {
            done_weight += (double)i.weight;
            continue;
        }
        if (apply(&i))
            return true;
        items_share();
        done_weight += (double)items_weight;
    }
}

void search_clear(void)
{
    items_top = items_asleep = items_from = 0;
    depth = 1;
    search_graph = frames[0];
    items_weight = 0;
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
    items_stream(s);
    stream(s, &depth, sizeof(depth));
    if (s->loads)
        search_revisited = NIL;
    for (unsigned d = 0; d < depth; d++) {
        if (d == frames_made && (frames[frames_made++] = calloc(1, sizeof(struct frame))) == NULL)
            abort();
        stream_frame(s, frames[d]);
    }
    search_graph = frames[depth - 1];
}
