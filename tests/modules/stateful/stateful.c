/* SPDX-License-Identifier: MIT
 *
 * stateful: the module that keeps state with each fibre, and has as many counters as a module may. One queue, oldest
 * first. What is written into a fibre's state when it becomes ready must still be there when it is taken, and nobody
 * else's: else the process ends. The tests bind it by its directory, and build plug-ins of it that are larger, or are to
 * be refused.
 */
#include "scheduler.h"
#include "queues/locked.h"

#ifndef STATE_BYTES
#define STATE_BYTES 200
#endif
#ifndef N_COUNTERS
#define N_COUNTERS TN_MODULE_COUNTERS_MAX
#endif
#ifndef N_KNOBS
#define N_KNOBS 0
#endif
#ifndef ANSWER
#define ANSWER 0
#endif
#ifndef INIT
#define INIT 0
#endif
#ifdef LACKS
#define DRAIN  NULL
#define PASSED stateful_passed /* of a pair */
#else
#define DRAIN  stateful_drain
#define PASSED NULL
#endif

struct state {
    unsigned char bytes[STATE_BYTES];
};

static unsigned char mark(struct tn_fibre *f, size_t i)
{
    return (unsigned char)(((uintptr_t)f >> 6) + i % 251 + 1);
}

static int stateful_init(struct tn_cluster *cl)
{
    tn_locked_queue_init(cl->sched);
    return INIT;
}

static int stateful_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    struct state *s = tn_fibre_state(f);
    if ((uintptr_t)s % 64 != 0)
        __builtin_trap(); /* "line-aligned" */
    for (size_t i = 0; i < STATE_BYTES; i++) {
        if (why == TN_SPAWNED && s->bytes[i] != 0)
            __builtin_trap(); /* "zeroed when it is spawned" */
        s->bytes[i] = mark(f, i);
    }
    for (unsigned i = 0; me != NULL && i < N_COUNTERS; i++)
        TN_COUNT_ADD(me, i, i);
    tn_locked_queue_push_back(f->cluster->sched, &f->link);
    return ANSWER;
}

static struct tn_fibre *stateful_next(struct tn_worker *me, bool fair)
{
    (void)fair;
    struct tn_fibre *f = tn_fibre_of(tn_locked_queue_pop_front(me->cluster->sched));
    for (size_t i = 0; f != NULL && i < STATE_BYTES; i++)
        if (((struct state *)tn_fibre_state(f))->bytes[i] != mark(f, i))
            __builtin_trap();
    return f;
}

static enum tn_work stateful_may_have_work(struct tn_worker *me)
{
    return tn_locked_queue_length(me->cluster->sched) != 0 ? TN_WORK_SOME : TN_WORK_NONE;
}

static __attribute__((unused)) void stateful_drain(struct tn_cluster *cl, struct tn_list *out)
{
    tn_locked_queue_pop_n(cl->sched, SIZE_MAX, out);
}

static __attribute__((unused)) void stateful_passed(struct tn_worker *me)
{
    (void)me;
}

#define ROW(x)                                                   \
    {                                                            \
        "count_" #x, "how often a fibre became ready, times " #x \
    }
#define ROWS(x) \
    ROW(x##0), ROW(x##1), ROW(x##2), ROW(x##3), ROW(x##4), ROW(x##5), ROW(x##6), ROW(x##7), ROW(x##8), ROW(x##9)
static const struct tn_counter_row counters[] = {ROWS(), ROWS(1), ROWS(2)};
_Static_assert(N_COUNTERS <= sizeof counters / sizeof *counters, "a row for each");

static const struct tn_knob knobs[TN_KNOBS_MAX + 1]; /* never looked at: a module with so many is refused */

TN_SCHEDULER(stateful) = {
    .name = "stateful",
    .summary = "one locked queue, with state in each fibre that is looked after",
    .cluster_size = sizeof(struct tn_locked_queue),
    .fibre_size = sizeof(struct state),
    .knobs = knobs,
    .n_knobs = N_KNOBS,
    .counters = counters,
    .n_counters = N_COUNTERS,
    .cluster_init = stateful_init,
    .ready = stateful_ready,
    .next = stateful_next,
    .passed = PASSED,
    .may_have_work = stateful_may_have_work,
    .drain = DRAIN,
};
