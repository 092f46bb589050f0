/* SPDX-License-Identifier: MIT */
/*
 * Executes the program once for each graph that the search makes.  First it repeats the graph, in the model's order;
 * then it adds events (add.c).
 *
 * Everything here runs on the engine's stack, entered by a thread that asks for an operation (in_engine), and left by
 * resuming one (in_cur).  A thread that is not resumed is suspended inside its request.
 */
#include "exec.h"
#include "invariant.h"

#include <stdlib.h>
#include <string.h>

struct run_options run_options = {.events_max = 4000};
struct run_result run_result;
struct run_step run_trace[SLOTS_MAX];
uint32_t run_traced;
volatile int run_interrupted;
volatile uint64_t run_entries;
uint8_t *run_seen;

struct state exec_state[IN_THREADS];
unsigned exec_threads;
uint64_t exec_number;
bool exec_abandoned;
static int cursor;   /* in search_order: what has been repeated */
static unsigned now; /* whose turn it is */

_Noreturn void exec_give_up(const char *why)
{
    run_result.unsupported = true;
    in_bug("unsupported", "%s", why);
}

const struct clock *run_clock(unsigned tid, uint16_t *epoch)
{
    if (in_ahead)
        return add_clock(epoch);
    uint16_t f = exec_state[tid].latest != NIL ? exec_state[tid].latest : search_graph->create[tid];
    *epoch = exec_state[tid].done;
    return f == NIL ? NULL : &search_graph->slot[f].porf;
}

static void start(unsigned id, unsigned parent, uint64_t fn, uint64_t arg)
{
    union {
        uint64_t n;
        void *(*f)(void *);
    } to = {fn};
    in_thread_start(id, parent, to.f, (void *)arg);
    struct state *s = &exec_state[id];
    s->pending = false;
    s->records = s->used = s->beens = s->done = 0;
    s->failed = s->stopped = s->refused = false;
    s->latest = NIL;
    s->priority = (int)(pick_random() & 0xffff) + 1;
    if (id + 1 > run_result.threads)
        run_result.threads = id + 1;
}

static uint8_t number[IN_THREADS][IN_THREADS];

unsigned run_number(unsigned parent)
{
    unsigned n = in_thread[parent].children++;
    if (n >= IN_THREADS - 1 || (number[parent][n] == 0 && exec_threads >= IN_THREADS - 1))
        exec_give_up("more than 15 threads");
    if (number[parent][n] == 0) {
        number[parent][n] = (uint8_t)exec_threads++;
        graph_wide = exec_threads > 8;
    }
    return number[parent][n];
}

void run_answer(unsigned t, const struct slot *s)
{
    struct state *st = &exec_state[t];
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
        if (!s->writes && st->q.expected != NULL) {
            await_plain(t, st->q.expected, (size_t)1 << s->log);
            place_put((uint64_t)st->q.expected, s->log, s->old);
        }
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
    default:
        break;
    }
    in_thread[t].ret = ret;
    st->pending = false;
}

static void trace(unsigned t, uint16_t slot)
{
    if (run_traced < SLOTS_MAX)
        run_trace[run_traced++] = (struct run_step){slot, (uint8_t)t};
}

void run_perform(unsigned t, uint16_t e)
{
    const struct slot *s = &search_graph->slot[e];
    trace(t, e);
    exec_state[t].done = (uint16_t)(s->idx + 1);
    exec_state[t].latest = e;
    run_answer(t, s);
    if (s->loc != NIL && s->writes) {
        place_put(place_address(s->loc), s->log, s->new);
        await_wrote(t);
    } else if (s->loc == NIL) {
        await_wrote(t);
    }
    if (run_options.retry_as_await && s->loc != NIL)
        await_note_retry(t, s);
    if (s->op == OP_CREATE)
        start((unsigned)s->arg, t, exec_state[t].q.at, exec_state[t].q.arg);
    else if (s->op == OP_END)
        in_thread[t].ended = true;
    else if (s->op == OP_JOIN)
        in_thread[exec_state[t].q.arg].joined = true;
}

static bool repeat(unsigned t, uint16_t e)
{
    struct frame *g = search_graph;
    struct slot *s = &g->slot[e];
    const struct request *q = &exec_state[t].q;
    if (q->op != s->op)
        exec_give_up("the program does something else when it is run again: something is not repeatable");
    if (s->loc != NIL) {
        if (!place_again(q, t, s->loc) || (s->reads && place_fetch(q->at, q->log) != s->old && q->op != OP_STORE))
            exec_give_up(
                "the program does something else when it is run again: something is not repeatable, or a location is "
                "used both as an atomic and as a plain one");
        if (s->reads && s->idx >= exec_state[t].wrote) /* a write makes it forget what it has recorded */
            await_record(t, e);
        s->arg = q->arg;
        if (!s->reads)
            s->new = q->arg;
    } else if (s->op == OP_CREATE) {
        run_number(t);
    }
    run_perform(t, e);
    return true;
}

/*
 * The same, at once, for a request of who is to repeat e and goes on after it: all that repeat() does which is not known
 * to come to nothing.  False: it is not known.  (Of what msq repeats, nearly half comes here.)
 */
static bool repeat_at_once(uint64_t at, uint64_t a1, uint64_t a2)
{
    uint16_t e = search_order[cursor];
    struct slot *s = &search_graph->slot[e];
    struct state *st = &exec_state[s->tid];
    if (in_cur != &in_thread[s->tid] || in_code != s->op * 8U + s->log || s->op >= OP_ATOMIC_END || s->log > 3 ||
        (!s->writes && (s->idx >= st->wrote || s->op >= OP_CAS)) || !place_quiet(s->loc, at))
        return false;
    uint64_t mask = s->log == 3 ? ~UINT64_C(0) : (UINT64_C(1) << (8U << s->log)) - 1, ret = s->old;
    if (s->reads && place_fetch(at, s->log) != s->old)
        return false;
    if (s->op >= OP_CAS) {
        if (((s->op == OP_CAS_VAL ? a1 & mask : place_fetch(a1, s->log)) != s->expect) || (a2 & mask) != s->arg)
            return false;
        ret = s->op == OP_CAS_VAL ? ret : 1;
    } else if (s->op != OP_LOAD && (a1 & mask) != s->arg) {
        return false;
    }
    if (s->writes)
        place_put(at, s->log, s->new);
    cursor++;
    now = s->tid;
    trace(now, e);
    st->done = (uint16_t)(s->idx + 1);
    st->latest = e;
    if (run_options.retry_as_await)
        await_note_retry(now, s);
    in_cur->ret = s->op == OP_STORE ? 0 : ret;
    return true;
}

/* ---- executions ---- */

static void restart(void)
{
    exec_number++;
    run_traced = 0;
    cursor = 0;
    exec_abandoned = false;
    run_forget();
    in_world_reset();
    for (unsigned t = 0; t < exec_threads; t++)
        exec_state[t].wrote = 0;
    for (int i = 0; i < search_ordered; i++) {
        const struct slot *s = &search_graph->slot[search_order[i]];
        if (s->writes || s->loc == NIL)
            exec_state[s->tid].wrote = s->idx;
    }
    start(0, 0, (uint64_t)in_object.main, 0);
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
    if (!exec_exhaustive())
        return pick_plan();
    while (!search_next())
        if (!run_more())
            return false;
    return true;
}

/* The revisited read would store what it read: a loop that waits, or a write after all. */
static void revisited(void)
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
    search_wrote(r);
    await_wrote(s->tid);
    search_revised(r);
}

/* Goes on with whoever comes next, until a thread is to be resumed. */
static void go_on(void)
{
    for (;;) {
        struct frame *g = search_graph;
        if (cursor < search_ordered) {
            uint16_t e = search_order[cursor];
            unsigned t = g->slot[e].tid;
            now = t;
            if (!exec_state[t].pending) {
                exec_resume(t);
                return;
            }
            cursor++;
            repeat(t, e);
            if (!in_thread[t].ended) {
                exec_resume(t);
                return;
            }
            continue;
        }
        if (search_revisited != NIL) {
            /* its thread first: it may come back to where it was */
            now = g->slot[search_revisited].tid;
            if (g->bottom[now] == NIL && !in_thread[now].ended && !exec_state[now].pending) {
                exec_resume(now);
                return;
            }
            if (exec_state[now].pending && await_may_loop(exec_state[now].q.op) && g->bottom[now] == NIL &&
                await_came_back(now) >= 0)
                search_revisited = NIL;
            else
                revisited();
        }
        int t = exec_abandoned ? -1 : pick_thread(now);
        if (t < 0 && !exec_abandoned)
            t = rest_tries_again();
        if (t < 0) {
            rest_end();
            if (!next_graph()) {
                in_cur = &in_boot;
                return;
            }
            restart();
            now = 0;
            continue;
        }
        now = (unsigned)t;
        if (!exec_state[t].pending) {
            exec_resume(now);
            return;
        }
        if (add_event(now)) {
            exec_resume(now);
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
    if (q->op >= OP_MEMORY_END)
        in_bug("unsupported", "threads before main(), in a constructor");
    s.old = place_fetch(q->at, q->log);
    struct effect f = effect_of(&s, s.old, 0);
    if (f.writes)
        place_put(q->at, q->log, f.new);
    if (q->op == OP_CAS || q->op == OP_CAS_WEAK) {
        if (!f.writes)
            place_put((uint64_t)q->expected, q->log, s.old);
        return f.writes;
    }
    return s.old;
}

static __attribute__((noinline)) void asked(uint64_t a0, uint64_t a1, uint64_t a2)
{
    /* A thread's own is made where it stays: copied at once, it would have to reach the cache first. */
    struct request apart;
    bool own = in_cur != &in_boot && !invariant_asks();
    struct request *q = own ? &exec_state[in_cur->id].q : &apart;
    *q = (struct request){
        .op = (uint8_t)(in_code / 8), .log = (uint8_t)(in_code % 8), .at = a0, .arg = a1, .expect = a2};
    if (q->op < OP_ATOMIC_END) {
        uint64_t mask = q->log >= 3 ? ~UINT64_C(0) : (UINT64_C(1) << (8U << q->log)) - 1;
        if (q->op == OP_CAS || q->op == OP_CAS_WEAK) {
            q->expected = (uint64_t *)a1;
            q->expect = place_fetch(a1, q->log);
            q->arg = a2 & mask;
            q->weak = q->op == OP_CAS_WEAK;
        } else if (q->op == OP_CAS_VAL) {
            q->expect = a1 & mask;
            q->arg = a2 & mask;
        } else {
            q->arg = a1 & mask;
        }
    }
    if (in_cur == &in_boot) {
        in_boot.ret = direct(q);
        return;
    }
    unsigned t = in_cur->id;
    uint64_t from = ((uint64_t *)in_cur->sp)[6];
    if (from < (uint64_t)in_object.text || from >= (uint64_t)in_object.text_end)
        from = in_cur->pc;
    if (from > (uint64_t)in_object.base && from <= (uint64_t)in_object.text_end) { /* not so: a thread's end */
        q->pc = (uint32_t)(from - 1 - (uint64_t)in_object.base);
        if (!run_seen[q->pc]) /* all processes share it: a store for each event would make them wait for each other */
            run_seen[q->pc] = 1;
    }
    if (!own) {
        in_cur->ret = invariant_answer(q);
        return;
    }
    if (!add_looking() && q->op == OP_YIELD) {
        in_cur->ret = 0;
        return;
    }
    if (q->op == OP_FENCE || (add_looking() && q->op == OP_YIELD)) { /* under sequential consistency: nothing */
        in_cur->ret = 0;
        return;
    }
    exec_state[t].pending = true;
    if (q->op < OP_MEMORY_END && !add_looking()) {
        const char *wrong = in_heap_wrong((char *)q->at, (size_t)1 << q->log, q->op == OP_STORE);
        if (wrong != NULL)
            run_heap_wrong(wrong, q);
    }
    if (q->op == OP_ASSUME && !add_looking())
        exec_state[t].stopped = exec_state[t].refused = true;
    if (add_looking()) {
        add_looked();
        if (add_looking())
            return;
        if (!exec_state[t].pending) {
            exec_resume(t);
            return;
        }
    }
    go_on();
}

void in_engine(uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4)
{
    (void)a3;
    (void)a4;
    run_entries++;
    if (cursor >= search_ordered || !repeat_at_once(a0, a1, a2))
        asked(a0, a1, a2);
}

void run_stream(struct stream *s)
{
    stream(s, number, sizeof(number));
    stream(s, &exec_threads, sizeof(exec_threads));
    graph_wide = exec_threads > 8;
    place_stream(s);
    pick_stream(s);
    search_stream(s);
}

void run_all(void)
{
    exec_threads = 1;
    for (unsigned t = 0; t < IN_THREADS; t++) {
        struct state *s = &exec_state[t];
        s->been = calloc(RECORDS, sizeof(*s->been));
        s->record = calloc(RECORDS, sizeof(*s->record));
        s->undo = calloc(UNDOS, sizeof(*s->undo));
        s->kept = malloc(RECORD_BYTES);
        if (s->been == NULL || s->record == NULL || s->undo == NULL || s->kept == NULL)
            abort();
    }
    pick_init();
    search_init();
    if (run_options.resume && (!run_more() || !next_graph()))
        return;
    restart();
    exec_resume(0);
    in_launch();
}
