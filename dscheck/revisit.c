/* SPDX-License-Identifier: MIT
 *
 * When a write may be read by a read that was there before it: of all graphs that this leads to, exactly one way to each.
 */
#include "revisit.h"

/* Whether write x had come when slot e was added, or leads to w, which came later. */
static inline bool previous(const struct frame *g, uint16_t x, uint16_t e, uint16_t w)
{
    return x <= e || graph_leads(g, x, w);
}

/* Whether write e was put behind all that had come, and nothing that was there before reads it. */
static bool first_place(const struct frame *g, uint16_t e, uint16_t w)
{
    for (uint16_t x = g->slot[e].after; x != NIL; x = g->slot[x].after)
        if (previous(g, x, e, w))
            return false;
    for (uint16_t r = g->slot[e].readers; r != NIL; r = g->slot[r].reader)
        if (r < e)
            return false;
    return true;
}

/* Whether slot e did what comes first: a read takes the latest value, a write is the latest, of those that had come. */
static bool did_first(const struct frame *g, uint16_t e, uint16_t w)
{
    const struct slot *s = &g->slot[e];
    if (s->kind == BOTTOM) {
        if (s->since != e)
            return true;
        if (!graph_leads(g, s->cause, w))
            return false;
        for (uint16_t x = g->slot[s->cause].after; x != NIL; x = g->slot[x].after)
            if (previous(g, x, e, w) && !graph_caused(g, x, e))
                return false;
        return true;
    }
    if (s->choice != 0)
        return false;
    if (s->reads) {
        /* A later write that it reads goes as well, unless it leads to w, and has not done what comes first: it is read. */
        uint16_t x = s->rf == NIL ? g->place[s->loc].first : g->slot[s->rf].after;
        for (; x != NIL; x = g->slot[x].after)
            if (x != e && !(s->skips && x < e) && previous(g, x, e, w) &&
                (s->cause == NIL || x < e || graph_caused(g, x, e)))
                return false;
    }
    return first_place(g, e, w); /* who does not write has none */
}

bool revisit_drops(const struct frame *g, uint16_t i, uint16_t r, uint16_t w)
{
    const struct slot *s = &g->slot[i];
    if (i <= r || i == w)
        return false;
    return s->kind == BOTTOM || !graph_leads(g, i, w);
}

bool revisit_may(const struct frame *g, uint16_t r, uint16_t w)
{
    if (g->slot[r].cause != NIL && !graph_caused(g, w, r))
        return false;
    if (!did_first(g, r, w))
        return false;
    for (uint32_t i = r + 1U; i < g->n; i++)
        if (revisit_drops(g, (uint16_t)i, r, w) && !did_first(g, (uint16_t)i, w))
            return false;
    for (uint32_t i = 0; i < r; i++) {
        uint16_t cause = g->slot[i].cause;
        if (cause != NIL && (cause == r || revisit_drops(g, cause, r, w)))
            return false;
    }
    return true;
}
