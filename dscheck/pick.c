/* SPDX-License-Identifier: MIT */
/* Who comes next.  The exhaustive search has its own order; other strategies choose schedules. */
#include "exec.h"

static bool offered(const struct frame *g, unsigned t)
{
    const struct slot *b = &g->slot[g->bottom[t]];
    for (uint16_t w = g->place[b->loc].last; w != NIL; w = g->slot[w].before)
        if (graph_newer(g, w, g->bottom[t]))
            return true;
    return false;
}

static bool runnable(const struct frame *g, unsigned t)
{
    if (!in_thread[t].alive || in_thread[t].ended)
        return false;
    if (exec_state[t].stopped)
        return false;
    if (g->bottom[t] != NIL)
        return offered(g, t);
    if (!exec_state[t].pending || exec_state[t].q.op != OP_JOIN)
        return true;
    const struct in_thread *other = &in_thread[exec_state[t].q.arg];
    return other->ended && !other->exits; /* who calls exit() ends the process, and is never joined */
}

static uint64_t random_state;

uint64_t pick_random(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void pick_init(void)
{
    random_state = run_options.seed;
}

/* Of strategies that choose schedules. */
static struct {
    uint8_t taken[1 << 16], of[1 << 16];
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
        plan.taken[at] = run_options.strategy == BOUNDED ? 0 : (uint8_t)(pick_random() % of);
        plan.of[at] = (uint8_t)of;
    }
    return plan.taken[at];
}

int pick_thread(unsigned now)
{
    const struct frame *g = search_graph;
    unsigned can[IN_THREADS], n = 0;
    bool mine = false;
    if (run_options.strategy == EXHAUSTIVE) {
        for (unsigned t = 0; t < exec_threads; t++)
            if (g->bottom[t] != NIL && runnable(g, t)) {
                if (exec_state[now].pending && g->bottom[now] == NIL && await_may_loop(exec_state[now].q.op) &&
                    await_came_back(now) >= 0)
                    break; /* first it waits */
                return (int)t;
            }
        if (runnable(g, now))
            return (int)now;
        for (unsigned t = 0; t < exec_threads; t++)
            if (runnable(g, t))
                return (int)t;
        return -1;
    }
    if (runnable(g, now)) {
        can[n++] = now;
        mine = true;
        /* where it has yet to ask for something, there is nothing to choose */
        if (!exec_state[now].pending)
            return (int)now;
    }
    for (unsigned t = 0; t < exec_threads; t++)
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
                exec_state[now].priority = -(int)i - 1;
        unsigned best = can[0];
        for (unsigned i = 1; i < n; i++)
            if (exec_state[can[i]].priority > exec_state[best].priority)
                best = can[i];
        return (int)best;
    }
    default:
        return (int)can[pick_random() % n];
    }
}

unsigned pick_choice(unsigned choices)
{
    if (run_options.strategy == EXHAUSTIVE)
        return 0;
    if (run_options.strategy == SCHEDULE)
        return run_traced < run_options.schedule_n ? run_options.schedule[2 * run_traced + 1] % choices : 0;
    return choose(choices);
}

bool pick_plan(void)
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
        if (run_traced > plan.longest)
            plan.longest = run_traced;
        for (unsigned i = 0; i < 16; i++)
            plan.change[i] = (uint32_t)(pick_random() % (plan.longest + 1));
    }
    plan.at = plan.preemptions = 0;
    search_ordered = 0;
    return true;
}

void pick_stream(struct stream *s)
{
    stream(s, &random_state, sizeof(random_state));
    if (exec_exhaustive())
        return;
    stream(s, &plan.n, sizeof(plan.n));
    stream(s, &plan.at, sizeof(plan.at));
    stream(s, &plan.longest, sizeof(plan.longest));
    stream(s, plan.taken, plan.n);
    stream(s, plan.of, plan.n);
}
