/* SPDX-License-Identifier: MIT */
/* What was found, as lines `key value`, with one line a step of a failing execution. */
#include "answer.h"

#include "exec.h"

#include <stdio.h>
#include <string.h>

void run_waiting(char *text, size_t size)
{
    const struct frame *g = search_graph;
    size_t n = 0;
    for (unsigned t = 0; t < IN_THREADS && n < size; t++) {
        char who[16] = "main";
        if (!in_thread[t].alive || in_thread[t].ended)
            continue;
        if (t > 0)
            snprintf(who, sizeof(who), "thread %u", t);
        const struct request *q = &exec_state[t].q;
        if (g->bottom[t] == NIL)
            n += (size_t)snprintf(text + n, size - n, "%s%s waits at @%x to join thread %u", n > 0 ? "; " : "", who,
                                  q->pc, (unsigned)q->arg);
        else
            n += (size_t)snprintf(text + n, size - n, "%s%s waits at @%x", n > 0 ? "; " : "", who,
                                  g->slot[g->bottom[t]].pc);
    }
}

/* Of a turn in vain the last read is a step, but no event any more: between the same writes as it was. */
static bool vain_fits(uint32_t step, const uint16_t *done, const uint16_t *place)
{
    const struct slot *s = &search_graph->slot[run_trace[step].slot];
    for (uint32_t i = 0; i < run_traced; i++) {
        const struct slot *o = &search_graph->slot[run_trace[i].slot];
        bool it = s->kind == BOTTOM && i < step && o->writes, is = o->kind == BOTTOM && i < step && s->writes;
        if ((it || is) && o->loc == s->loc && place[i] >= done[o->tid])
            return false;
    }
    return true;
}

/* An order of the events that were executed with few switches between threads: the best of some greedy ones. */
static uint32_t shortest(uint16_t *best)
{
    const struct frame *g = search_graph;
    static uint16_t of[IN_THREADS][SLOTS_MAX], order[SLOTS_MAX], place[SLOTS_MAX];
    uint16_t n[IN_THREADS] = {0};
    unsigned fewest = ~0U;
    bool vain = false;
    for (uint32_t i = 0; i < run_traced; i++) {
        best[i] = run_trace[i].slot;
        vain |= g->slot[best[i]].kind == BOTTOM;
        place[i] = n[run_trace[i].tid]++;
        of[run_trace[i].tid][place[i]] = (uint16_t)i;
    }
    uint64_t seed = 1;
    for (unsigned round = 0; round < 2000 && run_traced < 1000; round++) {
        uint16_t done[IN_THREADS] = {0}, events[IN_THREADS] = {0};
        uint32_t at = 0;
        unsigned t = 0, switches = 0;
        while (at < run_traced) {
            unsigned can[IN_THREADS], m = 0;
            bool stay = false;
            for (unsigned u = 0; u < IN_THREADS; u++) {
                if (done[u] == n[u])
                    continue;
                uint16_t step = of[u][done[u]];
                const struct slot *s = &g->slot[run_trace[step].slot];
                bool ready = true;
                for (unsigned v = 0; v < IN_THREADS; v++)
                    ready &= v == u || s->hb.of[v] <= (int16_t)events[v];
                if (ready && (!vain || vain_fits(step, done, place))) {
                    can[m++] = u;
                    stay |= u == t;
                }
            }
            if (m == 0)
                break;
            if (!stay) {
                seed = seed * 6364136223846793005U + 1442695040888963407U;
                t = can[(seed >> 33) % m];
                switches++;
            }
            order[at] = run_trace[of[t][done[t]++]].slot;
            events[t] += g->slot[order[at++]].kind == EVENT;
        }
        if (at == run_traced && switches < fewest) {
            fewest = switches;
            memcpy(best, order, run_traced * sizeof(*best));
        }
    }
    return run_traced;
}

static void value(bool any, unsigned log, uint64_t v)
{
    if (log == 4 && any)
        printf("1 %llx%016llx ", (unsigned long long)in_wide[v].half[1], (unsigned long long)in_wide[v].half[0]);
    else
        printf("%d %llx ", any, (unsigned long long)v);
}

static void steps(void)
{
    static uint32_t step_of[SLOTS_MAX];
    static uint16_t order[SLOTS_MAX];
    const struct frame *g = search_graph;
    uint32_t n = shortest(order);
    printf("base %llx\n", (unsigned long long)(uint64_t)in_object.base);
    for (unsigned t = 0; t < IN_THREADS; t++) {
        size_t size;
        const char *at;
        printf("stack %u %llx %llx\n", t, (unsigned long long)(uint64_t)in_thread[t].low,
               (unsigned long long)(uint64_t)in_thread[t].high);
        for (unsigned i = 0; (at = in_heap_block(t, i, &size)) != NULL; i++)
            printf("block %u %u %llx %zx\n", t, i + 1, (unsigned long long)(uint64_t)at, size);
    }
    for (unsigned i = 0; i < in_names; i++)
        printf("name %llx %s\n", (unsigned long long)(uint64_t)in_name[i].at, in_name[i].text);
    for (uint32_t i = 0; i < n; i++) {
        const struct slot *s = &g->slot[order[i]];
        step_of[order[i]] = i + 1;
        /* of a creation or a join: of which thread */
        printf("step %u %x %s %llx ", s->tid, s->pc, op_name(s->op),
               s->loc == NIL ? (unsigned long long)s->arg : (unsigned long long)place_address(s->loc));
        value(s->reads && s->loc != NIL, s->log, s->old);
        value(s->writes && s->loc != NIL, s->log, s->new);
        printf("%u %u\n", s->reads && s->rf != NIL ? step_of[s->rf] : 0, s->choice);
    }
    for (unsigned t = 0; t < IN_THREADS; t++) {
        const struct request *q = &exec_state[t].q;
        if (!in_thread[t].alive || in_thread[t].ended)
            continue;
        if (g->bottom[t] != NIL) {
            const struct slot *s = &g->slot[g->bottom[t]];
            printf("wait %u %x %s %llx\n", t, s->pc, op_name(s->op), (unsigned long long)place_address(s->loc));
        } else if (exec_state[t].pending && q->op == OP_JOIN) {
            printf("wait %u %x join %llx\n", t, q->pc, (unsigned long long)q->arg);
        }
    }
}

void answer_failure(void)
{
    const struct run_result *r = &run_result;
    printf("kind %s\nmessage %s\n", r->kind, r->message);
    for (unsigned i = 0; i < r->marks; i++) {
        const struct run_mark *m = &r->mark[i];
        printf("mark %u %u %x %d %llx %s\n", m->tid, m->epoch, m->pc, m->event, (unsigned long long)m->at, m->what);
    }
    steps();
}
