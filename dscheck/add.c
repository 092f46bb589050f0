/* SPDX-License-Identifier: MIT */
/*
 * Adds events, each the latest that it can be, and pushes what else they could have done.
 *
 * A read's older values are looked at ahead: the thread goes on with such a value until it asks for anything else;
 * if it comes back to a recorded state, the value lets it wait, which is nothing to try.
 */
#include "exec.h"

#include <string.h>

enum { CANDIDATES = 512 };

static struct {
    bool under_way, latest_waits, latest_vain;
    unsigned t, n, at;
    uint16_t e;
    struct candidate {
        uint16_t rf;
        bool writes, steal, ahead, waits, vain; /* vain: the turn of a retry fails */
        uint8_t choices;
        bool sleeps;               /* all turns that begin so are in vain, as long as nobody writes ... */
        struct search_looks looks; /* ... there */
    } of[CANDIDATES];
    unsigned records; /* of the thread, that of the read itself included */
    uint16_t span;    /* of the latest value: how many reads before this one belong to the loop that waits */
    /* The reads of a turn after its first one, each with a value that is tried. */
    unsigned deep;
    struct further {
        uint16_t loc, rf;
        struct clock hb; /* before it */
    } further[SEARCH_LOOKS];
} look;

static void look_ahead(void);

static uint16_t append(unsigned t, enum slot_kind kind)
{
    struct frame *g = search_graph;
    const struct request *q = &exec_state[t].q;
    if (run_traced >= run_options.events_max || g->n + 2 >= SLOTS_MAX)
        in_bug("unbounded loop",
               "an execution of more than %u events: a loop that need not end, or not unless others get to run (a "
               "counter in it, or a write in each turn, hides that it waits), or --events is too low",
               run_options.events_max);
    uint16_t e = graph_append(g, kind, t);
    struct slot *s = &g->slot[e];
    s->op = q->op;
    s->log = q->log;
    s->weak = q->weak;
    s->arg = q->arg;
    s->expect = q->expect;
    s->pc = q->pc;
    s->choices = 1;
    return e;
}

static void append_event(uint16_t e)
{
    struct frame *g = search_graph;
    struct slot *s = &g->slot[e];
    s->idx = g->count[s->tid];
    uint16_t f = follows(g, s->tid);
    if (f != NIL) {
        s->porf = g->slot[f].porf;
        s->hb = g->slot[f].hb;
    }
    if (s->rf != NIL) {
        clock_join(&s->porf, &g->slot[s->rf].porf);
        clock_join(&s->hb, &g->slot[s->rf].hb);
    }
    clock_tick(&s->porf, s->tid, s->idx);
    g->count[s->tid]++;
    g->last[s->tid] = e;
    g->bottom[s->tid] = NIL;
}

/* e writes, after all others: clocks, place, revisits. */
static void append_write(uint16_t e)
{
    struct frame *g = search_graph;
    struct slot *s = &g->slot[e];
    uint16_t last = g->place[s->loc].last;
    uint16_t r = last == NIL ? g->place[s->loc].readers : g->slot[last].readers;
    if (last != NIL)
        clock_join(&s->hb, &g->slot[last].hb);
    for (; r != NIL; r = g->slot[r].reader)
        if (r != e)
            clock_join(&s->hb, &g->slot[r].hb);
    clock_tick(&s->hb, s->tid, s->idx);
    graph_co_insert(g, e, last);
    search_wrote(e);
}

/* Something else comes first: this execution is not one. */
static void let_be(void)
{
    if (!exec_abandoned)
        run_result.blocked -= search_counts();
    exec_abandoned = true;
}

static void add_store(unsigned t)
{
    struct frame *g = search_graph;
    uint16_t loc = place_of(&exec_state[t].q, t);
    uint16_t f = follows(g, t);
    uint16_t e = append(t, EVENT);
    struct slot *s = &g->slot[e];
    s->loc = loc;
    s->writes = true;
    s->new = s->arg;
    bool leave = false;
    append_event(e);
    append_write(e);
    if (exec_exhaustive()) {
        for (uint16_t x = g->slot[e].before; x != NIL; x = g->slot[x].before) {
            if (clock_has(&g->slot[f].hb, &g->slot[x]))
                break;
            if (!g->slot[x].reads) /* else it is right behind what it reads */
                search_push_place(e, g->slot[x].before);
        }
        leave = search_push_revisits(e);
    }
    run_perform(t, e);
    if (leave)
        let_be();
}

/* The thread's last read turns out to wait.  False: it reads an old value, so this execution is of no interest. */
static bool wait_there(unsigned t, unsigned first)
{
    struct frame *g = search_graph;
    struct state *st = &exec_state[t];
    struct record *r = &st->record[st->records - 1];
    uint16_t k = g->last[t];
    struct slot *s = &g->slot[k];
    if (r->slot != k)
        return false;
    for (unsigned i = first; i < st->records; i++)
        if (g->slot[st->record[i].slot].choice != 0)
            return false; /* it has failed for no reason: what it does without has been tried */
    if (s->writes)
        graph_co_remove(g, k);
    graph_unread(g, k);
    s->writes = false;
    graph_turn(g, k, BOTTOM);
    if (s->rf != NIL && s->rf > k) {
        s->cause = s->rf;
        s->since = k;
    }
    s->span = (uint16_t)(st->records - 1 - first);
    await_put_back(t, r);
    st->used = r->at;
    st->records--;
    st->done = g->count[t];
    st->latest = g->last[t];
    return !exec_exhaustive() || s->rf == g->place[s->loc].last; /* what has come since then is an offer */
}

static void commit(void)
{
    struct frame *g = search_graph;
    unsigned t = look.t;
    uint16_t e = look.e;
    const struct candidate *instead = NULL;
    look.under_way = false;
    in_ahead = false;
    for (unsigned i = 0; i < look.n; i++)
        if (look.latest_vain && instead == NULL && !look.of[i].waits && !look.of[i].writes) {
            instead = &look.of[i];
        } else if (!look.of[i].waits) {
            uint16_t rf = look.of[i].rf;
            if (look.of[i].sleeps)
                search_push_asleep(e, rf, &look.of[i].looks);
            else if (!look.of[i].steal)
                search_push_read(e, rf, 0); /* which pushes its other choices */
            for (unsigned c = 0; look.of[i].steal && c < look.of[i].choices; c++)
                if (effect_of(&g->slot[e], value_of(g, rf, g->slot[e].loc), c).writes)
                    search_push_steal(e, rf, c);
                else
                    search_push_read(e, rf, c);
        }
    struct slot *s = &g->slot[e];
    if (look.latest_waits) {
        /* What is no new offer has been tried elsewhere: whether it would let the thread go on is not known here. */
        uint16_t was = g->bottom[t], now = g->place[s->loc].last;
        s->kind = BOTTOM;
        s->writes = false;
        if (look.span != 0)
            s->span = look.span;
        s->rf = was != NIL && !graph_newer(g, now, was) ? g->slot[was].rf : now;
        g->bottom[t] = e;
        if (exec_state[t].records > 0 && exec_state[t].record[exec_state[t].records - 1].slot == e) {
            exec_state[t].used = exec_state[t].record[exec_state[t].records - 1].at;
            exec_state[t].records--;
        }
        return;
    }
    uint16_t last = g->place[s->loc].last;
    s->old = value_of(g, last, s->loc);
    s->rf = last;
    unsigned choice = 0;
    bool leave = false;
    struct effect f = effect_of(s, s->old, 0);
    if (f.choices > 1 && !exec_exhaustive()) {
        choice = pick_choice(f.choices);
        f = effect_of(s, s->old, choice);
    }
    s->new = f.new;
    s->writes = f.writes;
    s->choices = f.choices;
    s->choice = (uint8_t)choice;
    if (exec_exhaustive())
        for (unsigned c = 1; c < f.choices; c++)
            search_push_read(e, last, c);
    append_event(e);
    clock_tick(&s->hb, t, s->idx);
    graph_read(g, e, last);
    if (s->writes) {
        append_write(e);
        leave = exec_exhaustive() && search_push_revisits(e);
    }
    run_perform(t, e);
    if (leave)
        let_be();
    if (instead != NULL) { /* of the values that are not in vain it comes first */
        search_push_instead(e, instead->rf);
        let_be();
    }
}

/* False: the thread waits. */
static bool add_read(unsigned t)
{
    struct frame *g = search_graph;
    struct request *q = &exec_state[t].q;
    uint16_t loc = place_of(q, t);
    uint16_t f = follows(g, t), bottom = g->bottom[t];
    uint16_t e = append(t, EVENT);
    struct slot *s = &g->slot[e];
    s->loc = loc;
    s->reads = true;
    s->weak = q->weak && run_options.spurious_cas && graph_may_fail(g, e);
    if (bottom != NIL) {
        s->cause = g->slot[bottom].cause;
        s->since = g->slot[bottom].since;
        s->span = g->slot[bottom].span;
    }
    look.t = t;
    look.e = e;
    look.n = look.at = 0;
    look.span = 0;
    look.latest_vain = false;

    uint16_t last = g->place[loc].last;
    struct effect latest = effect_of(s, value_of(g, last, loc), 0);
    bool fails = run_options.retry_as_await && q->op >= OP_CAS && q->op <= OP_CAS_VAL;
    bool ahead = false, loops = await_may_loop(q->op) && (q->op < OP_CAS || await_seen(t));
    look.latest_waits = latest.waits || (bottom != NIL && !graph_newer(g, last, bottom));
    if (exec_exhaustive())
        for (uint16_t x = last; x != NIL && look.n < CANDIDATES - 1;) {
            if (clock_has(&g->slot[f].hb, &g->slot[x]))
                break;
            uint16_t w = g->slot[x].before;
            if (bottom == NIL || (w != NIL && graph_newer(g, w, bottom))) {
                struct effect old = effect_of(s, value_of(g, w, loc), 0);
                if (!old.waits) {
                    bool reads =
                        (loops || fails) && (!old.writes || (q->op < OP_CAS && old.new == value_of(g, w, loc)));
                    bool steal = old.writes && g->slot[x].reads;
                    ahead |= reads;
                    look.of[look.n++] = (struct candidate){w, old.writes, steal, reads, false, false, old.choices};
                }
            }
            x = w;
        }
    if (await_may_loop(q->op))
        await_record(t, e);
    if (!look.latest_waits && q->op < OP_CAS && latest.writes && latest.new == value_of(g, last, loc)) {
        look.of[look.n] = (struct candidate){last, true, false, true, false, false, 1};
        ahead = true;
        look.latest_waits = true; /* until the look says otherwise */
        look.n++;
    } else if (run_options.retry_as_await && bottom == NIL && look.n > 0 && !latest.writes && !look.latest_waits) {
        look.of[look.n++] = (struct candidate){.rf = last, .ahead = true, .choices = 1};
        ahead = true;
    }
    if (!ahead || exec_state[t].records == 0) {
        commit();
        return !look.latest_waits;
    }
    look.under_way = true;
    look.records = exec_state[t].records;
    look_ahead();
    return true;
}

/* Lets the thread go on with the next candidate. */
static void look_ahead(void)
{
    unsigned t = look.t;
    struct frame *g = search_graph;
    while (look.at < look.n && !look.of[look.at].ahead)
        look.at++;
    if (look.at == look.n) {
        const struct candidate *c = &look.of[look.n - 1];
        if (c->rf == g->place[g->slot[look.e].loc].last) { /* the latest itself */
            look.latest_waits = c->waits && !c->vain;
            look.latest_vain = c->vain;
            look.n--;
        }
        commit();
        return;
    }
    struct slot s = g->slot[look.e];
    s.old = value_of(g, look.of[look.at].rf, s.loc);
    s.writes = effect_of(&s, s.old, 0).writes;
    g->slot[look.e].rf = look.of[look.at].rf; /* for who asks whether it has read the same before */
    run_answer(t, &s);
    if (run_options.retry_as_await)
        await_try_retry(t, &s);
    look.deep = 0;
    in_ahead = true;
    exec_resume(t);
}

/* The thread takes its value, in the turn that is tried, from the write that `further` says. */
static void try_further(void)
{
    const struct further *f = &look.further[look.deep - 1];
    struct slot s = {.op = OP_LOAD, .log = exec_state[look.t].q.log, .old = value_of(search_graph, f->rf, f->loc)};
    run_answer(look.t, &s);
    exec_resume(look.t);
}

/* The turn that is tried reads on: each value that it may find is tried.  False: that is not known, or too much. */
static bool look_further(void)
{
    const struct frame *g = search_graph;
    struct state *st = &exec_state[look.t];
    if (run_options.retry_as_await || st->q.op != OP_LOAD || look.deep == SEARCH_LOOKS || !await_room(look.t))
        return false;
    uint16_t loc = place_touched(st->q.at), rf = look.deep == 0 ? g->slot[look.e].rf : look.further[look.deep - 1].rf;
    if (loc == NIL)
        return false;
    struct further *f = &look.further[look.deep];
    memset(&f->hb, 0, sizeof(f->hb));
    if (look.deep > 0)
        f->hb = look.further[look.deep - 1].hb;
    else if (follows(g, look.t) != NIL)
        f->hb = g->slot[follows(g, look.t)].hb;
    if (rf != NIL)
        clock_join(&f->hb, &g->slot[rf].hb);
    f->loc = loc;
    f->rf = g->place[loc].last;
    await_record(look.t, look.e);
    struct search_looks *looks = &look.of[look.at].looks;
    unsigned n = 0;
    while (n < looks->n && looks->loc[n] != loc)
        n++;
    looks->loc[n] = loc;
    if (n == looks->n)
        looks->n++;
    look.deep++;
    try_further();
    return true;
}

/* The turn was in vain: the next value of the last of its reads that has one.  False: none has. */
static bool look_elsewhere(void)
{
    const struct frame *g = search_graph;
    for (; look.deep > 0; look.deep--) {
        struct further *f = &look.further[look.deep - 1];
        if (f->rf != NIL && !clock_has(&f->hb, &g->slot[f->rf])) {
            f->rf = g->slot[f->rf].before;
            await_put_back_to(look.t, look.records + look.deep);
            try_further();
            return true;
        }
    }
    return false;
}

void add_looked(void)
{
    unsigned t = look.t;
    struct state *st = &exec_state[t];
    int to = await_may_loop(st->q.op) ? await_came_back(t) : -1;
    /* Else it came back to nothing (-1), or the loop is a later one: this read lets it go on. */
    bool back = (unsigned)to < look.records;
    struct candidate *c = &look.of[look.at];
    if (back ? look_elsewhere() : to < 0 && !c->writes && look_further())
        return;
    look.at++;
    if (c->rf == search_graph->place[search_graph->slot[look.e].loc].last)
        look.span = (uint16_t)(look.records - 1 - (unsigned)to);
    c->vain = run_options.retry_as_await && await_tried_retry(t);
    c->sleeps = back && c->looks.n > 0;
    c->waits = (back && !c->sleeps) || c->vain;
    await_put_back_to(t, look.records);
    look_ahead();
}

bool add_looking(void)
{
    return look.under_way;
}

/*
 * A turn in vain is not explored where its value is an old one, but what it looks at counts: as the thread's, before the
 * read that it makes instead.  Where that is a race, the turn is no wait: the race shows when it is explored.
 */
const struct clock *add_clock(uint16_t *epoch)
{
    static struct clock known;
    const struct frame *g = search_graph;
    uint16_t f = follows(g, look.t), rf = g->slot[look.e].rf;
    memset(&known, 0, sizeof(known));
    if (f != NIL)
        known = g->slot[f].porf;
    if (rf != NIL)
        clock_join(&known, &g->slot[rf].porf);
    for (unsigned i = 0; i < look.deep; i++)
        if (look.further[i].rf != NIL)
            clock_join(&known, &g->slot[look.further[i].rf].porf);
    *epoch = exec_state[look.t].done;
    return &known;
}

bool add_event(unsigned t)
{
    struct frame *g = search_graph;
    struct request *q = &exec_state[t].q;
    if (run_options.retry_as_await && g->bottom[t] == NIL && await_retries(t)) {
        exec_state[t].stopped = true;
        return false;
    }
    switch (q->op) {
    case OP_STORE:
        add_store(t);
        return true;
    case OP_CREATE: {
        unsigned child = run_number(t);
        uint16_t e = append(t, EVENT);
        g->slot[e].writes = true;
        g->slot[e].arg = child;
        append_event(e);
        clock_tick(&g->slot[e].hb, t, g->slot[e].idx);
        g->create[child] = e;
        g->slot[e].old = child;
        run_perform(t, e);
        return true;
    }
    case OP_END: {
        uint16_t e = append(t, EVENT);
        g->slot[e].writes = true;
        append_event(e);
        clock_tick(&g->slot[e].hb, t, g->slot[e].idx);
        g->end[t] = e;
        run_perform(t, e);
        return false;
    }
    case OP_JOIN: {
        uint16_t e = append(t, EVENT);
        g->slot[e].reads = true;
        g->slot[e].rf = g->end[q->arg];
        append_event(e);
        clock_tick(&g->slot[e].hb, t, g->slot[e].idx);
        run_perform(t, e);
        return true;
    }
    case OP_CHOOSE: {
        uint16_t e = append(t, EVENT);
        append_event(e);
        clock_tick(&g->slot[e].hb, t, g->slot[e].idx);
        g->slot[e].choices = (uint8_t)q->arg;
        g->slot[e].choice = (uint8_t)(exec_exhaustive() ? 0 : pick_choice((unsigned)q->arg));
        g->slot[e].old = g->slot[e].choice;
        if (exec_exhaustive())
            for (unsigned c = 1; c < q->arg; c++)
                search_push_read(e, NIL, c);
        run_perform(t, e);
        return true;
    }
    default:
        if (await_may_loop(q->op)) {
            int first = await_came_back(t);
            if (first >= 0) {
                exec_abandoned = !wait_there(t, (unsigned)first);
                return false;
            }
        }
        return add_read(t);
    }
}
