/* SPDX-License-Identifier: MIT */
/*
 * Executes the program once for each graph that the search makes.  First it repeats the graph, in the model's order;
 * then it adds events, each the latest that it can be, and pushes what else they could have done.
 *
 * Everything here runs on the engine's stack, entered by a thread that asks for an operation (in_engine), and left by
 * resuming one (in_cur).  A thread that is not resumed is suspended inside its request.
 *
 * Loops that wait.  Each read is recorded with the state of its thread: all bytes of its stack from the stack pointer
 * on, where the registers lie too.  A thread that comes back to a recorded state without having written anything has
 * done nothing: it waits.  Its last read then becomes a BOTTOM, and the thread is put back to where it was about to
 * read; it goes on when somebody writes there.
 * A read's older values are looked at ahead: the thread goes on with such a value until it asks for anything else;
 * if it comes back to a recorded state, the value lets it wait, which is nothing to try.
 */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run_options run_options = {.events_max = 4000};
struct run_result run_result;
struct run_step run_trace[SLOTS_MAX];
uint32_t run_traced;
volatile int run_interrupted;

enum { RECORDS = 64, RECORD_BYTES = 64 * 1024, LOCATIONS = 1 << 14, CANDIDATES = 512 };

struct request {
    uint8_t op, log;
    bool weak;
    uint64_t at, arg, expect;
    uint64_t *expected; /* where to write what was found */
    uint32_t pc;
};

struct record {
    void *sp;
    uint32_t bytes, at;
    uint16_t slot;
    struct request q;
};

struct state {
    bool pending;
    struct request q;
    unsigned records;
    uint32_t used;
    struct record record[RECORDS];
    char kept[RECORD_BYTES];
    /* With --retry-as-await: what it has read in this turn of a loop, without having written, and whether the turn has
     * failed: by a compare-and-exchange, or since a location that was read twice had changed.  Who then comes back to
     * such a place stops: the same thread will be found, in another execution, to start that turn later. */
    struct {
        void *sp;
        uint64_t value;
        uint32_t pc;
        uint16_t loc;
    } been[RECORDS];
    unsigned beens;
    bool failed, stopped;
    uint16_t done, latest; /* events in this execution; the latest one's slot */
    int priority;
};

static struct state *state; /* of each thread */
static unsigned threads;
static int cursor;
static uint64_t execution; /* number of the one under way */

/* ---- locations ---- */

static struct location {
    uint64_t at;
    uint64_t touched; /* the execution that touched it last */
    uint8_t log, users;
    uint16_t by;
} location[LOCATIONS];
static unsigned locations;
static uint16_t hashed[LOCATIONS * 2];

static uint32_t hash(uint64_t at)
{
    return (uint32_t)((at * UINT64_C(0x9e3779b97f4a7c15)) >> 49);
}

static uint16_t find(uint64_t at)
{
    uint32_t h = hash(at);
    for (; hashed[h] != 0; h = (h + 1) % (LOCATIONS * 2))
        if (location[hashed[h] - 1].at == at)
            return (uint16_t)(hashed[h] - 1);
    return NIL;
}

static _Noreturn void give_up(const char *why)
{
    run_result.unsupported = true;
    in_bug("unsupported", "%s", why);
}

static uint16_t location_of(uint64_t at, unsigned log)
{
    uint32_t h = hash(at);
    for (; hashed[h] != 0; h = (h + 1) % (LOCATIONS * 2))
        if (location[hashed[h] - 1].at == at) {
            if (location[hashed[h] - 1].log != log)
                give_up("atomic accesses of different sizes to one location");
            return (uint16_t)(hashed[h] - 1);
        }
    for (unsigned near = 1; near < 8; near++) {
        uint16_t below = find(at - near), above = near < (1U << log) ? find(at + near) : NIL;
        if ((below != NIL && (1U << location[below].log) > near) || above != NIL)
            give_up("atomic accesses that overlap in part");
    }
    if (locations == LOCATIONS - 1)
        give_up("more atomic locations than the explorer has room for");
    location[locations] = (struct location){at, 0, (uint8_t)log, 0, NIL};
    hashed[h] = (uint16_t)++locations;
    return (uint16_t)(locations - 1);
}

uint64_t run_address(uint16_t loc)
{
    return location[loc].at;
}

static uint64_t fetch(uint64_t at, unsigned log)
{
    uint64_t v = 0;
    memcpy(&v, (void *)at, (size_t)1 << log);
    return v;
}

static void put(uint64_t at, unsigned log, uint64_t v)
{
    memcpy((void *)at, &v, (size_t)1 << log);
}

/* The place of a request; its initial value is what lies there when the execution first touches it. */
static uint16_t place(const struct request *q, unsigned tid)
{
    uint16_t loc = location_of(q->at, q->log);
    struct location *l = &location[loc];
    run_atomic(q->at, (size_t)1 << q->log, tid, q->pc);
    struct place *p = graph_place(search_graph, loc);
    if (l->touched != execution) {
        l->touched = execution;
        p->init = fetch(q->at, q->log);
        l->by = (uint16_t)tid;
    } else if (l->by != tid) {
        run_result.conflicts = 1;
        l->by = (uint16_t)tid;
    }
    return loc;
}

/* ---- states ---- */

static bool may_loop(const struct request *q)
{
    return q->op < OP_ATOMIC_END && q->op != OP_STORE;
}

/* A failed compare-and-exchange counts as work, unless the user says otherwise. */
static bool may_wait(const struct request *q)
{
    return may_loop(q) && q->op < OP_CAS;
}

static void record(unsigned t, uint16_t slot)
{
    struct state *s = &state[t];
    char *sp = in_thread[t].sp;
    uint32_t bytes = (uint32_t)(in_thread[t].high - sp);
    if (s->records == RECORDS || s->used + bytes > RECORD_BYTES)
        s->records = s->used = 0;
    if (bytes > RECORD_BYTES)
        return;
    s->record[s->records++] = (struct record){sp, bytes, s->used, slot, s->q};
    memcpy(s->kept + s->used, sp, bytes);
    s->used += bytes;
}

/* The recorded state that the thread has come back to; -1: none. */
static int came_back(unsigned t)
{
    struct state *s = &state[t];
    char *sp = in_thread[t].sp;
    for (unsigned i = 0; i < s->records; i++) {
        const struct record *r = &s->record[i];
        if (r->sp == sp && r->q.at == s->q.at && r->q.op == s->q.op && memcmp(s->kept + r->at, sp, r->bytes) == 0)
            return (int)i;
    }
    return -1;
}

static void put_back(unsigned t, const struct record *r)
{
    in_thread[t].sp = r->sp;
    memcpy(r->sp, state[t].kept + r->at, r->bytes);
    state[t].q = r->q;
    state[t].pending = true;
}

static void wrote(unsigned t)
{
    state[t].records = state[t].used = 0;
}

/* ---- threads ---- */

static bool newer(const struct frame *g, uint16_t w, uint16_t bottom)
{
    const struct slot *b = &g->slot[bottom];
    unsigned time = write_time(g, w);
    return time > bottom &&
           (b->cause == NIL || (time > b->cause && w != b->cause && clock_has(&g->slot[w].porf, &g->slot[b->cause])));
}

static bool offered(const struct frame *g, unsigned t)
{
    const struct slot *b = &g->slot[g->bottom[t]];
    for (uint16_t w = g->place[b->loc].last; w != NIL; w = g->slot[w].before)
        if (newer(g, w, g->bottom[t]))
            return true;
    return false;
}

static bool runnable(const struct frame *g, unsigned t)
{
    if (!in_thread[t].alive || in_thread[t].ended)
        return false;
    if (state[t].stopped)
        return false;
    if (g->bottom[t] != NIL)
        return offered(g, t);
    return !state[t].pending || state[t].q.op != OP_JOIN || in_thread[state[t].q.arg].ended;
}

static uint64_t random_state;
static uint64_t random_next(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Of strategies that choose schedules. */
static struct {
    uint8_t taken[1 << 16], of[1 << 16], kind[1 << 16];
    uint32_t n, at;
    unsigned preemptions;
    uint32_t change[16], longest;
} plan;

static unsigned choose(unsigned of)
{
    if (plan.at >= sizeof(plan.taken))
        return 0;
    uint32_t at = plan.at++;
    if (at >= plan.n) {
        plan.n = at + 1;
        plan.taken[at] = run_options.strategy == BOUNDED ? 0 : (uint8_t)(random_next() % of);
        plan.of[at] = (uint8_t)of;
    }
    return plan.taken[at];
}

static int pick(unsigned now)
{
    const struct frame *g = search_graph;
    unsigned can[IN_THREADS], n = 0;
    bool mine = false;
    if (run_options.strategy == EXHAUSTIVE) {
        bool settled = !state[now].pending || g->bottom[now] != NIL || !may_loop(&state[now].q) || came_back(now) < 0;
        for (unsigned t = 0; t < threads && settled; t++)
            if (g->bottom[t] != NIL && runnable(g, t))
                return (int)t;
        if (runnable(g, now))
            return (int)now;
        for (unsigned t = 0; t < threads; t++)
            if (runnable(g, t))
                return (int)t;
        return -1;
    }
    if (runnable(g, now)) {
        can[n++] = now;
        mine = true;
        /* where it has yet to ask for something, there is nothing to choose */
        if (!state[now].pending)
            return (int)now;
    }
    for (unsigned t = 0; t < threads; t++)
        if (t != now && runnable(g, t))
            can[n++] = t;
    if (n <= 1)
        return n == 0 ? -1 : (int)can[0];
    switch (run_options.strategy) {
    case SCHEDULE: {
        uint32_t at = run_traced;
        unsigned t = at < run_options.schedule_n ? run_options.schedule[2 * at] : now;
        for (unsigned i = 0; i < n; i++)
            if (can[i] == t)
                return (int)t;
        return (int)can[0];
    }
    case BOUNDED: {
        if (mine && plan.preemptions >= run_options.bound)
            return (int)now;
        unsigned c = choose(n);
        plan.preemptions += mine && c != 0;
        return (int)can[c];
    }
    case PCT: {
        for (unsigned i = 0; i < run_options.bound && i < 16; i++)
            if (plan.change[i] == run_traced)
                state[now].priority = -(int)i - 1;
        unsigned best = can[0];
        for (unsigned i = 1; i < n; i++)
            if (state[can[i]].priority > state[best].priority)
                best = can[i];
        return (int)best;
    }
    default:
        return (int)can[random_next() % n];
    }
}

static unsigned choice_of(uint16_t e, unsigned choices)
{
    (void)e;
    if (run_options.strategy == EXHAUSTIVE)
        return 0;
    if (run_options.strategy == SCHEDULE)
        return run_traced < run_options.schedule_n ? run_options.schedule[2 * run_traced + 1] % choices : 0;
    return choose(choices);
}

const struct clock *run_clock(unsigned tid, uint16_t *epoch)
{
    uint16_t f = state[tid].latest != NIL ? state[tid].latest : search_graph->create[tid];
    *epoch = state[tid].done;
    return f == NIL ? NULL : &search_graph->slot[f].porf;
}

static void start(unsigned id, unsigned parent, uint64_t fn, uint64_t arg)
{
    union {
        uint64_t n;
        void *(*f)(void *);
    } to = {fn};
    in_thread_start(id, parent, to.f, (void *)arg);
    struct state *s = &state[id];
    s->pending = false;
    s->records = s->used = s->beens = s->done = 0;
    s->failed = s->stopped = false;
    s->latest = NIL;
    s->priority = (int)(random_next() & 0xffff) + 1;
    if (id + 1 > run_result.threads)
        run_result.threads = id + 1;
}

/* The same number for the same child of the same parent, whatever the order in which they come. */
static unsigned number_of(unsigned parent)
{
    static uint8_t number[IN_THREADS][IN_THREADS];
    unsigned n = in_thread[parent].children++;
    if (n >= IN_THREADS - 1 || (number[parent][n] == 0 && threads >= IN_THREADS - 1))
        give_up("more than 15 threads");
    if (number[parent][n] == 0) {
        number[parent][n] = (uint8_t)threads++;
        graph_wide = threads > 8;
    }
    return number[parent][n];
}

/* ---- results ---- */

static void answer(unsigned t, const struct slot *s)
{
    struct state *st = &state[t];
    uint64_t ret = s->old;
    switch (s->op) {
    case OP_STORE:
    case OP_LOCK:
    case OP_RDLOCK:
        ret = 0;
        break;
    case OP_CAS:
    case OP_CAS_WEAK:
        ret = s->writes;
        if (!s->writes && st->q.expected != NULL)
            put((uint64_t)st->q.expected, s->log, s->old);
        break;
    case OP_TRYLOCK:
    case OP_TRYRDLOCK:
    case OP_TRYTAKE:
    case OP_REMOVE:
        ret = s->writes;
        break;
    case OP_DEQUEUE:
        ret = s->writes ? s->old >> (4 * s->choice) & 15 : 0;
        break;
    case OP_ARRIVE:
        ret = s->new == 0;
        break;
    default:
        break;
    }
    in_thread[t].ret = ret;
    st->pending = false;
}

static void resume(unsigned t)
{
    in_cur = &in_thread[t];
}

static void trace(unsigned t, uint16_t slot)
{
    if (run_traced < SLOTS_MAX)
        run_trace[run_traced++] = (struct run_step){slot, (uint8_t)t};
}

static void note_retry(unsigned t, const struct slot *s)
{
    struct state *st = &state[t];
    if (s->writes) {
        st->beens = 0;
        st->failed = false;
        return;
    }
    st->failed |= s->op >= OP_CAS && s->op <= OP_CAS_VAL;
    for (unsigned i = 0; i < st->beens; i++) {
        if (st->been[i].loc != s->loc)
            continue;
        if (st->been[i].pc == s->pc && st->been[i].sp == in_thread[t].sp) { /* it has waited here */
            st->been[i].value = s->old;
            return;
        }
        st->failed |= st->been[i].value != s->old;
    }
    if (st->beens < RECORDS) {
        st->been[st->beens].sp = in_thread[t].sp;
        st->been[st->beens].value = s->old;
        st->been[st->beens].pc = s->pc;
        st->been[st->beens++].loc = s->loc;
    }
}

/* Whether the request starts another turn after one that has failed. */
static bool retries(unsigned t)
{
    struct state *st = &state[t];
    for (unsigned i = 0; i < st->beens; i++)
        if (st->been[i].pc == st->q.pc && st->been[i].sp == in_thread[t].sp) {
            if (st->failed)
                return true;
            st->beens = 0; /* a turn that was not in vain */
        }
    return false;
}

/* What an event does outside the graph. */
static void perform(unsigned t, uint16_t e)
{
    const struct slot *s = &search_graph->slot[e];
    trace(t, e);
    state[t].done = (uint16_t)(s->idx + 1);
    state[t].latest = e;
    answer(t, s);
    if (s->loc != NIL && s->writes) {
        put(location[s->loc].at, s->log, s->new);
        wrote(t);
    } else if (s->loc == NIL || (s->op >= OP_CAS && s->op <= OP_CAS_VAL)) {
        wrote(t);
    }
    if (run_options.retry_as_await && s->loc != NIL)
        note_retry(t, s);
    if (s->op == OP_CREATE)
        start((unsigned)s->arg, t, state[t].q.at, state[t].q.arg);
    else if (s->op == OP_END)
        in_thread[t].ended = true;
    else if (s->op == OP_JOIN)
        in_thread[state[t].q.arg].joined = true;
}

/* ---- repeating a graph ---- */

static bool repeat(unsigned t, uint16_t e)
{
    struct frame *g = search_graph;
    struct slot *s = &g->slot[e];
    const struct request *q = &state[t].q;
    if (q->op != s->op)
        give_up("the program does something else when it is run again: something is not repeatable");
    if (s->loc != NIL) {
        uint16_t loc = place(q, t);
        if (loc != s->loc || (s->reads && fetch(q->at, q->log) != s->old && q->op != OP_STORE))
            give_up(
                "the program does something else when it is run again: something is not repeatable, or a location is "
                "used both as an atomic and as a plain one");
        if (s->reads)
            record(t, e);
        s->arg = q->arg;
        if (!s->reads)
            s->new = q->arg;
    } else if (s->op == OP_CREATE) {
        number_of(t);
    }
    perform(t, e);
    return true;
}

/* ---- adding events ---- */

static struct {
    bool under_way, latest_waits;
    unsigned t, n, at;
    uint16_t e;
    struct candidate {
        uint16_t rf;
        bool steal, ahead, waits;
    } of[CANDIDATES];
} look;

static void look_ahead(void);

static uint16_t append(unsigned t, enum slot_kind kind)
{
    struct frame *g = search_graph;
    const struct request *q = &state[t].q;
    if (g->n >= run_options.events_max)
        in_bug("unbounded loop",
               "an execution of more than %u events: a loop that need not end, or one with a counter in it, "
               "which hides that it waits",
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
    if (s->reads && s->rf != NIL) {
        clock_join(&s->porf, &g->slot[s->rf].porf);
        clock_join(&s->hb, &g->slot[s->rf].hb);
    }
    s->porf.of[s->tid] = (int16_t)(s->idx + 1);
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
    s->hb.of[s->tid] = (int16_t)(s->idx + 1);
    graph_co_insert(g, e, last);
}

static bool exhaustive(void)
{
    return run_options.strategy == EXHAUSTIVE;
}

static void add_store(unsigned t)
{
    struct frame *g = search_graph;
    uint16_t loc = place(&state[t].q, t);
    uint16_t f = follows(g, t);
    uint16_t e = append(t, EVENT);
    struct slot *s = &g->slot[e];
    s->loc = loc;
    s->writes = true;
    s->new = s->arg;
    append_event(e);
    append_write(e);
    if (exhaustive()) {
        for (uint16_t x = g->slot[e].before; x != NIL; x = g->slot[x].before) {
            if (f != NIL && clock_has(&g->slot[f].hb, &g->slot[x]))
                break;
            if (!(g->slot[x].reads && g->slot[x].writes))
                search_push_place(e, g->slot[x].before);
        }
        search_push_revisits(e);
    }
    perform(t, e);
}

/* The thread's last read turns out to wait.  False: it reads an old value, so this execution is of no interest. */
static bool wait_there(unsigned t, unsigned first)
{
    struct frame *g = search_graph;
    struct state *st = &state[t];
    struct record *r = &st->record[st->records - 1];
    uint16_t k = g->last[t];
    struct slot *s = &g->slot[k];
    if (r->slot != k || s->loc == NIL)
        return false;
    if (s->writes)
        graph_co_remove(g, k);
    graph_unread(g, k);
    s->writes = false;
    s->kind = BOTTOM;
    if (s->rf != NIL && s->rf > k)
        s->cause = s->rf;
    s->span = (uint16_t)(st->records - 1 - first);
    put_back(t, r);
    st->used = r->at;
    st->records--;
    graph_index(g);
    st->done = g->count[t];
    st->latest = g->last[t];
    return s->rf == g->place[s->loc].last;
}

static void commit(void)
{
    struct frame *g = search_graph;
    unsigned t = look.t;
    uint16_t e = look.e;
    look.under_way = false;
    in_ahead = false;
    for (unsigned i = 0; i < look.n; i++)
        if (!look.of[i].waits) {
            if (look.of[i].steal)
                search_push_steal(e, look.of[i].rf);
            else
                search_push_read(e, look.of[i].rf, 0);
        }
    struct slot *s = &g->slot[e];
    if (look.latest_waits) {
        s->kind = BOTTOM;
        s->writes = false;
        s->rf = g->place[s->loc].last;
        g->bottom[t] = e;
        if (state[t].records > 0 && state[t].record[state[t].records - 1].slot == e) {
            state[t].used = state[t].record[state[t].records - 1].at;
            state[t].records--;
        }
        return;
    }
    uint16_t last = g->place[s->loc].last;
    s->old = value_of(g, last, s->loc);
    s->rf = last;
    unsigned choice = 0;
    struct effect f = effect_of(s, s->old, 0);
    if (f.choices > 1 && !exhaustive()) {
        choice = choice_of(e, f.choices);
        f = effect_of(s, s->old, choice);
    }
    s->new = f.new;
    s->writes = f.writes;
    s->choices = f.choices;
    s->choice = (uint8_t)choice;
    if (exhaustive())
        for (unsigned c = 1; c < f.choices; c++)
            search_push_read(e, last, c);
    append_event(e);
    s->hb.of[t] = (int16_t)(s->idx + 1);
    graph_read(g, e, last);
    if (s->writes) {
        append_write(e);
        if (exhaustive())
            search_push_revisits(e);
    }
    perform(t, e);
}

/* False: the thread waits. */
static bool add_read(unsigned t)
{
    struct frame *g = search_graph;
    struct request *q = &state[t].q;
    uint16_t loc = place(q, t);
    uint16_t f = follows(g, t), bottom = g->bottom[t];
    uint16_t e = append(t, EVENT);
    struct slot *s = &g->slot[e];
    s->loc = loc;
    s->reads = true;
    s->weak = q->weak && run_options.spurious_cas;
    if (bottom != NIL) {
        s->cause = g->slot[bottom].cause;
        s->span = g->slot[bottom].span;
    }
    look.t = t;
    look.e = e;
    look.n = look.at = 0;

    uint16_t last = g->place[loc].last;
    struct effect latest = effect_of(s, value_of(g, last, loc), 0);
    bool ahead = false;
    look.latest_waits = latest.waits || (bottom != NIL && (last == NIL || !newer(g, last, bottom)));
    if (exhaustive())
        for (uint16_t x = last; x != NIL && look.n < CANDIDATES - 1;) {
            if (f != NIL && clock_has(&g->slot[f].hb, &g->slot[x]))
                break;
            uint16_t w = g->slot[x].before;
            if (bottom == NIL || (w != NIL && newer(g, w, bottom))) {
                struct effect old = effect_of(s, value_of(g, w, loc), 0);
                if (!old.waits) {
                    bool reads = may_wait(q) && (!old.writes || old.new == value_of(g, w, loc));
                    bool steal = old.writes && g->slot[x].reads && g->slot[x].writes;
                    ahead |= reads;
                    look.of[look.n++] = (struct candidate){w, steal, reads, false};
                }
            }
            x = w;
        }
    if (may_loop(q))
        record(t, e);
    if (!look.latest_waits && may_loop(q) && latest.writes && latest.new == value_of(g, last, loc)) {
        look.of[look.n] = (struct candidate){last, false, true, false};
        ahead = true;
        look.latest_waits = true; /* until the look says otherwise */
        look.n++;
    }
    if (!ahead || state[t].records == 0) {
        commit();
        return !look.latest_waits;
    }
    look.under_way = true;
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
        const struct candidate *c = look.n > 0 ? &look.of[look.n - 1] : NULL;
        if (c != NULL && c->rf == g->place[g->slot[look.e].loc].last) { /* the latest itself */
            look.latest_waits = c->waits;
            look.n--;
        }
        commit();
        return;
    }
    struct slot s = g->slot[look.e];
    s.old = value_of(g, look.of[look.at].rf, s.loc);
    s.writes = effect_of(&s, s.old, 0).writes;
    answer(t, &s);
    in_ahead = true;
    resume(t);
}

/* The thread that looked ahead has come to something. */
static void looked(void)
{
    unsigned t = look.t;
    struct state *st = &state[t];
    bool back = st->q.op < OP_ATOMIC_END && st->q.op != OP_STORE && came_back(t) >= 0;
    struct candidate *c = &look.of[look.at++];
    c->waits = back && may_wait(&st->record[st->records - 1].q);
    put_back(t, &st->record[st->records - 1]);
    look_ahead();
}

static bool abandoned;

/* Adds the request of t; false: it waits. */
static bool add(unsigned t)
{
    struct frame *g = search_graph;
    struct request *q = &state[t].q;
    if (run_options.retry_as_await && g->bottom[t] == NIL && retries(t)) {
        state[t].stopped = true;
        return false;
    }
    switch (q->op) {
    case OP_STORE:
        add_store(t);
        return true;
    case OP_CREATE: {
        unsigned child = number_of(t);
        uint16_t e = append(t, EVENT);
        g->slot[e].writes = true;
        g->slot[e].arg = child;
        append_event(e);
        g->slot[e].hb.of[t] = (int16_t)(g->slot[e].idx + 1);
        g->create[child] = e;
        g->slot[e].old = child;
        perform(t, e);
        return true;
    }
    case OP_END: {
        uint16_t e = append(t, EVENT);
        g->slot[e].writes = true;
        append_event(e);
        g->slot[e].hb.of[t] = (int16_t)(g->slot[e].idx + 1);
        g->end[t] = e;
        perform(t, e);
        return false;
    }
    case OP_JOIN: {
        uint16_t e = append(t, EVENT);
        g->slot[e].reads = true;
        g->slot[e].rf = g->end[q->arg];
        append_event(e);
        g->slot[e].hb.of[t] = (int16_t)(g->slot[e].idx + 1);
        perform(t, e);
        return true;
    }
    case OP_CHOOSE: {
        uint16_t e = append(t, EVENT);
        append_event(e);
        g->slot[e].hb.of[t] = (int16_t)(g->slot[e].idx + 1);
        g->slot[e].choices = (uint8_t)q->arg;
        g->slot[e].choice = (uint8_t)(exhaustive() ? 0 : choice_of(e, (unsigned)q->arg));
        g->slot[e].old = g->slot[e].choice;
        if (exhaustive())
            for (unsigned c = 1; c < q->arg; c++)
                search_push_read(e, NIL, c);
        perform(t, e);
        return true;
    }
    default:
        if (may_loop(q)) {
            int first = came_back(t);
            if (first >= 0) {
                abandoned = !wait_there(t, (unsigned)first);
                return false;
            }
        }
        return add_read(t);
    }
}

/* The revisited read would store what it read: a loop that waits, or a write after all. */
static void commit_revisited(void)
{
    struct frame *g = search_graph;
    uint16_t r = search_revisited;
    search_revisited = NIL;
    if (r == NIL || g->slot[r].kind != EVENT || g->slot[r].loc == NIL || g->slot[r].writes)
        return;
    struct slot *s = &g->slot[r];
    if (s->op == OP_LOAD || s->op >= OP_CAS)
        return;
    s->writes = true;
    graph_co_insert(g, r, s->rf);
    wrote(s->tid);
    search_write_part(r);
}

/* ---- executions ---- */

static void restart(void)
{
    execution++;
    run_traced = 0;
    cursor = 0;
    abandoned = false;
    run_forget();
    in_world_reset();
    start(0, 0, (uint64_t)in_object.main, 0);
}

static const char *stuck(void)
{
    const struct frame *g = search_graph;
    bool waits = false;
    if (in_thread[0].ended)
        return NULL;
    for (unsigned t = 0; t < threads; t++) {
        if (!in_thread[t].alive || in_thread[t].ended)
            continue;
        if (g->bottom[t] == NIL)
            continue; /* joins */
        const struct slot *b = &g->slot[g->bottom[t]];
        if (b->rf != g->place[b->loc].last)
            return ""; /* in reality it would go on */
        waits |= b->op < OP_ATOMIC_END;
        unsigned span = b->span;
        for (uint16_t i = g->bottom[t]; i-- > 0 && span > 0;)
            if (g->slot[i].kind == EVENT && g->slot[i].tid == t) {
                span--;
                if (g->slot[i].loc != NIL && g->slot[i].reads && !g->slot[i].writes &&
                    g->slot[i].rf != g->place[g->slot[i].loc].last)
                    return "";
            }
    }
    return waits ? "livelock" : "deadlock";
}

static void at_end(void)
{
    char text[900];
    bool all = true;
    for (unsigned t = 0; t < threads; t++)
        all &= !in_thread[t].alive || in_thread[t].ended;
    run_result.events += search_graph->n;
    if (abandoned) {
        run_result.blocked += search_counts();
        return;
    }
    bool stopped = false;
    for (unsigned t = 0; t < threads; t++)
        stopped |= in_thread[t].alive && state[t].stopped;
    if (stopped) {
        run_result.blocked += search_counts();
        return;
    }
    if (!all) {
        const char *what = stuck();
        if (what != NULL && *what == '\0') {
            run_result.blocked += search_counts();
            return;
        }
        if (what != NULL) {
            run_result.executions++;
            run_waiting(text, sizeof(text));
            in_bug(what, "%s", text);
        }
    }
    run_result.executions += search_counts();
    if (all && in_heap_leak(text, sizeof(text)) != NULL)
        in_bug("leak", "%s", text);
}

static bool next_plan(void)
{
    search_graph->n = 0;
    search_graph->places = 0;
    graph_index(search_graph);
    if (run_options.strategy == SCHEDULE)
        return false;
    if (run_options.strategy == BOUNDED) {
        plan.n = plan.at;
        while (plan.n > 0 && plan.taken[plan.n - 1] + 1U >= plan.of[plan.n - 1])
            plan.n--;
        if (plan.n == 0)
            return false;
        plan.taken[plan.n - 1]++;
    } else {
        plan.n = 0;
        if (search_graph->n > plan.longest)
            plan.longest = search_graph->n;
        if (run_traced > plan.longest)
            plan.longest = run_traced;
        for (unsigned i = 0; i < 16; i++)
            plan.change[i] = (uint32_t)(random_next() % (plan.longest + 1));
    }
    plan.at = plan.preemptions = 0;
    search_ordered = 0;
    return true;
}

static bool next_graph(void)
{
    static uint32_t tick;
    if ((++tick & 0xff) == 0)
        run_tick();
    if (run_interrupted || (run_options.budget != 0 && run_result.executions >= run_options.budget)) {
        run_result.incomplete = true;
        return false;
    }
    return exhaustive() ? search_next() : next_plan();
}

/* Goes on with whoever comes next, until a thread is to be resumed. */
static void go_on(void)
{
    static unsigned now;
    for (;;) {
        struct frame *g = search_graph;
        if (cursor < search_ordered) {
            uint16_t e = search_order[cursor];
            unsigned t = g->slot[e].tid;
            now = t;
            if (!state[t].pending) {
                resume(t);
                return;
            }
            cursor++;
            repeat(t, e);
            if (!in_thread[t].ended) {
                resume(t);
                return;
            }
            continue;
        }
        if (search_revisited != NIL) {
            /* its thread first: it may come back to where it was */
            now = g->slot[search_revisited].tid;
            if (g->bottom[now] == NIL && !in_thread[now].ended && !state[now].pending) {
                resume(now);
                return;
            }
            if (state[now].pending && may_loop(&state[now].q) && g->bottom[now] == NIL && came_back(now) >= 0)
                search_revisited = NIL;
            else
                commit_revisited();
        }
        int t = abandoned ? -1 : pick(now);
        if (t < 0) {
            at_end();
            if (!next_graph()) {
                in_cur = &in_boot;
                return;
            }
            restart();
            now = 0;
            continue;
        }
        now = (unsigned)t;
        if (!state[t].pending) {
            resume(now);
            return;
        }
        if (add(now)) {
            resume(now);
            return;
        }
    }
}

/* Before the first execution: constructors of the code under test. */
static uint64_t direct(const struct request *q)
{
    struct slot s = {.op = q->op, .log = q->log, .arg = q->arg, .expect = q->expect};
    if (q->op == OP_FENCE)
        return 0;
    s.old = fetch(q->at, q->log);
    struct effect f = effect_of(&s, s.old, 0);
    if (f.writes)
        put(q->at, q->log, f.new);
    if (q->op == OP_CAS || q->op == OP_CAS_WEAK) {
        if (!f.writes)
            put((uint64_t)q->expected, q->log, s.old);
        return f.writes;
    }
    return s.old;
}

void in_engine(uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4)
{
    struct request q = {.op = (uint8_t)(in_code / 8), .log = (uint8_t)(in_code % 8), .at = a0, .arg = a1};
    (void)a3;
    (void)a4;
    if (q.op < OP_ATOMIC_END) {
        uint64_t mask = q.log >= 3 ? ~UINT64_C(0) : (UINT64_C(1) << (8U << q.log)) - 1;
        if (q.op == OP_CAS || q.op == OP_CAS_WEAK) {
            q.expected = (uint64_t *)a1;
            q.expect = fetch(a1, q.log);
            q.arg = a2 & mask;
            q.weak = q.op == OP_CAS_WEAK;
        } else if (q.op == OP_CAS_VAL) {
            q.expect = a1 & mask;
            q.arg = a2 & mask;
        } else {
            q.arg = a1 & mask;
        }
    }
    if (in_cur == &in_boot) {
        in_boot.ret = direct(&q);
        return;
    }
    unsigned t = in_cur->id;
    uint64_t from = ((uint64_t *)in_cur->sp)[6];
    if (from < (uint64_t)in_object.text || from >= (uint64_t)in_object.text_end)
        from = in_cur->pc;
    q.pc = (uint32_t)(from - 1 - (uint64_t)in_object.base);
    if (!look.under_way && q.op == OP_YIELD) {
        in_cur->ret = 0;
        return;
    }
    if (q.op == OP_FENCE || (look.under_way && q.op == OP_YIELD)) { /* under sequential consistency: nothing */
        in_cur->ret = 0;
        return;
    }
    state[t].q = q;
    state[t].pending = true;
    if (q.op < OP_MEMORY_END && !look.under_way) {
        const char *wrong = in_heap_wrong((char *)q.at, (size_t)1 << q.log, q.op == OP_STORE);
        if (wrong != NULL) {
            in_bug("heap", "%s", wrong);
        }
    }
    if (q.op == OP_ASSUME) {
        abandoned = true;
        run_result.blocked -= search_counts(); /* asked for */
        look.under_way = false;
    }
    if (look.under_way) {
        looked();
        if (look.under_way)
            return;
        if (!state[t].pending) {
            resume(t);
            return;
        }
    }
    go_on();
}

void run_all(void)
{
    threads = 1;
    state = calloc(IN_THREADS, sizeof(*state));
    if (state == NULL)
        abort();
    random_state = run_options.seed;
    search_init();
    restart();
    resume(0);
    in_launch();
}
