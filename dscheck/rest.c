/* SPDX-License-Identifier: MIT */
/* Executions in which nobody goes on: they have ended, or are blocked, or are the bug that was looked for. */
#include "exec.h"
#include "invariant.h"

/* Whether a thread that came to rest would go on in reality: what it has read is not the latest, or its time runs out. */
static bool would_go_on(unsigned t)
{
    const struct frame *g = search_graph;
    const struct state *st = &exec_state[t];
    for (unsigned i = 0; st->stopped && i < st->beens; i++)
        if (st->been[i].value != value_of(g, g->place[st->been[i].loc].last, st->been[i].loc))
            return true;
    if (g->bottom[t] == NIL)
        return false; /* it joins, or tries again */
    const struct slot *b = &g->slot[g->bottom[t]];
    if (b->rf != g->place[b->loc].last || (b->op == OP_AWAIT_OVER && b->expect != 0))
        return true;
    unsigned span = b->span;
    for (uint16_t i = g->bottom[t]; i-- > 0 && span > 0;)
        if (g->slot[i].kind == EVENT && g->slot[i].tid == t) {
            span--;
            if (g->slot[i].loc != NIL && g->slot[i].reads && !g->slot[i].writes &&
                g->slot[i].rf != g->place[g->slot[i].loc].last)
                return true;
        }
    return false;
}

/* Whether thread t waits for a signal of a condition variable that has been signalled while nobody waited. */
static bool missed_signal(unsigned t)
{
    const struct frame *g = search_graph;
    uint16_t b = g->bottom[t], e = b;
    if (b == NIL || g->slot[b].op != OP_AWAIT_OVER)
        return false;
    do
        if (e-- == 0 || (g->slot[e].tid == t && (g->slot[e].op == OP_ARRIVE || g->slot[e].loc == g->slot[b].loc)))
            return false; /* at a barrier, or for what is done once */
    while (g->slot[e].tid != t || g->slot[e].op != OP_ENQUEUE);
    for (uint32_t i = 0; i < g->n; i++) {
        const struct slot *s = &g->slot[i];
        if (s->kind == EVENT && s->loc == g->slot[e].loc && s->old == 0 && (s->op == OP_DEQUEUE || s->op == OP_XCHG))
            return true;
    }
    return false;
}

/* What keeps the threads that are left from ending; NULL: the process ends without them, or one of them would go on. */
static const char *stuck(bool *blocked)
{
    const struct frame *g = search_graph;
    bool waits = false, over = in_over, missed = false;
    for (unsigned t = 0; t < exec_threads; t++) {
        if (!in_thread[t].alive || in_thread[t].ended)
            continue;
        *blocked |= over ? exec_state[t].stopped : would_go_on(t);
        missed |= missed_signal(t);
        waits |= g->bottom[t] != NIL && await_may_loop(g->slot[g->bottom[t]].op);
    }
    return over || *blocked ? NULL : waits ? "livelock" : missed ? "lost wake-up" : "deadlock";
}

int rest_tries_again(void)
{
    int who = -1;
    for (unsigned t = 0; t < exec_threads && !in_over; t++) {
        if (!in_thread[t].alive || in_thread[t].ended)
            continue;
        if (exec_state[t].refused || would_go_on(t))
            return -1;
        if (exec_state[t].stopped)
            who = (int)t;
    }
    if (who >= 0) {
        exec_state[who].stopped = exec_state[who].failed = false;
        exec_state[who].beens = 0;
    }
    return who;
}

void rest_end(void)
{
    char text[900];
    bool all = true;
    for (unsigned t = 0; t < exec_threads; t++)
        all &= !in_thread[t].alive || in_thread[t].ended;
    run_result.events += search_graph->n;
    if (exec_abandoned) {
        run_result.blocked += search_counts();
        return;
    }
    for (unsigned t = 0; t < exec_threads; t++)
        if (in_thread[t].alive && exec_state[t].refused)
            return; /* as was asked for */
    if (!all) {
        bool blocked = false;
        const char *what = stuck(&blocked);
        if (blocked) {
            run_result.blocked += search_counts();
            return;
        }
        if (what != NULL) {
            run_result.executions++;
            run_waiting(text, sizeof(text));
            in_cur = &in_boot; /* nobody's deed */
            in_bug(what, "%s", text);
        }
    }
    run_result.executions += search_counts();
    invariant_check();
    if (all && in_heap_leak(text, sizeof(text)) != NULL) {
        in_cur = &in_boot;
        in_bug("leak", "%s", text);
    }
}
