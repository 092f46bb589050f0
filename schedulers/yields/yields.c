/* SPDX-License-Identifier: MIT
 *
 * yields: a local stack a worker, stolen from at its bottom, and the ways to yield that 003 §4.4.4 compares. The
 * first four are meant to be as naive as described there, their livelocks included; they serve row M4.4.
 *
 *   yield=    where the fibre goes                     what runs in its place
 *   top       nowhere: the top of the stack is itself  the same fibre
 *   pop       on top, after the next one was popped    the newest of this worker
 *   swap      to the place of the one that it swaps    one of this worker, at random
 *   tail      to the bottom of its worker's stack      the newest of this worker
 *   global    to the cluster's yield queue             the newest here, else the oldest yield of the cluster
 *   soft      soft: as tail; hard: as global           as theirs
 *
 * Local preference: on behalf of a fibre that yields, the first four never steal. A worker without a fibre does.
 *
 * Invariant: a fibre given to ready() is in exactly one of a worker's stack, the shared queue, the yield queue.
 */
#include "scheduler.h"
#include "parts/stack.h"
#include "parts/victims.h"
#include "queues/locked.h"

#define TN_KNOB_OWNER yields
#define YIELDS_KNOBS(K)                                                                                    \
    K(yield, "top|pop|swap|tail|global|soft", 4, 0, 5, "", "where a fibre that yields goes", "003 §4.4.4") \
    K(size, NULL, 4096, 1, 1 << 20, "fibres",                                                              \
      "size of each worker's stack, rounded up to a power of two; the rest goes to the shared queue", "003 §7.1.1")

enum { YIELDS_KNOBS(TN_KNOB_ENUM) };
static const struct tn_knob yields_knobs[] = {YIELDS_KNOBS(TN_KNOB_ROW)};
#define WAY(cl) TN_KNOB((cl)->knobs, TN_KNOB_OWNER, yield)

enum { WAY_TOP, WAY_POP, WAY_SWAP, WAY_TAIL, WAY_GLOBAL, WAY_SOFT };
enum { STEAL_MAX = 64 };

enum { YIELDS_OVERFLOW, YIELDS_GLOBAL };
static const struct tn_counter_row yields_counters[] = {
    [YIELDS_OVERFLOW] = {"overflow", "fibres that found the stack full and went to the shared queue"},
    [YIELDS_GLOBAL] = {"yield_global", "yields that went to the cluster's queue"},
};

struct yields_worker {
    struct tn_stack stack;
    /* owner only */
    bool yielding;  /* the last choice was for a fibre that yields */
    uint32_t fairs; /* fair choices: every other one looks at the shared queues first, at each of the two in turn */
    uint64_t hole;  /* swap: the place that was taken from */
    uint32_t start; /* of this round of victims */
};

struct yields_cluster {
    struct tn_locked_queue shared, yields;
};

static struct yields_worker *of(struct tn_worker *w)
{
    return w->sched;
}

/* Owner. */
static void put(struct tn_worker *me, struct tn_fibre *f, int64_t place)
{
    if (!tn_stack_put(&of(me)->stack, f, place)) {
        TN_COUNT_ADD(me, YIELDS_OVERFLOW, 1);
        tn_locked_queue_push_back(&((struct yields_cluster *)me->cluster->sched)->shared, &f->link);
    }
}

/* ---- ready ---- */

static int yields_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    struct yields_cluster *c = f->cluster->sched;
    int64_t way = WAY(f->cluster);
    bool yielded = why == TN_YIELDED || why == TN_YIELDED_HARD;
    if (yielded && (way == WAY_GLOBAL || (way == WAY_SOFT && why == TN_YIELDED_HARD))) {
        if (me != NULL)
            TN_COUNT_ADD(me, YIELDS_GLOBAL, 1);
        tn_locked_queue_push_back(&c->yields, &f->link);
    } else if (me == NULL) {
        tn_locked_queue_push_back(&c->shared, &f->link);
    } else {
        bool down = yielded && way >= WAY_TAIL, swap = yielded && way == WAY_SWAP;
        put(me, f, down ? TN_STACK_BOTTOM : swap ? (int64_t)of(me)->hole : TN_STACK_TOP);
    }
    return 0;
}

/* ---- next ---- */

static struct tn_fibre *choose(struct tn_worker *me, bool fair, bool random)
{
    struct yields_cluster *c = me->cluster->sched;
    struct yields_worker *y = of(me);
    struct tn_fibre *f = NULL;
    if (fair && (++y->fairs & 1) != 0) {
        bool yields_first = (y->fairs & 2) == 0;
        f = tn_fibre_of(tn_locked_queue_pop_front(yields_first ? &c->yields : &c->shared));
        f = f != NULL ? f : tn_fibre_of(tn_locked_queue_pop_front(yields_first ? &c->shared : &c->yields));
    }
    if (f == NULL && random)
        y->hole = tn_random(me);
    f = f != NULL ? f : tn_stack_take(&y->stack, random ? &y->hole : NULL);
    f = f != NULL ? f : tn_fibre_of(tn_locked_queue_pop_front(&c->shared));
    return f != NULL ? f : tn_fibre_of(tn_locked_queue_pop_front(&c->yields));
}

static struct tn_fibre *yields_next(struct tn_worker *me, bool fair)
{
    of(me)->yielding = false;
    return choose(me, fair, false);
}

static struct tn_fibre *yields_next_of_yield(struct tn_worker *me, bool fair)
{
    int64_t way = WAY(me->cluster);
    of(me)->yielding = true;
    return way == WAY_TOP ? NULL : choose(me, fair, way == WAY_SWAP);
}

/* ---- stealing ---- */

static unsigned yields_steal(struct tn_worker *me, struct tn_worker *victim)
{
    struct tn_fibre *got[STEAL_MAX];
    if (of(me)->yielding && WAY(me->cluster) <= WAY_TAIL) /* local preference */
        return 0;
    unsigned n = tn_stack_take_half(&of(victim)->stack, STEAL_MAX, got);
    for (unsigned i = 0; i < n; i++)
        put(me, got[i], TN_STACK_TOP);
    return n;
}

static struct tn_worker *yields_victim(struct tn_worker *me, unsigned attempt)
{
    uint32_t used = atomic_load_explicit(&me->cluster->used, memory_order_acquire); /* U0 acquire */
    return tn_victim_random(me, used, attempt, &of(me)->start);
}

static enum tn_work yields_may_have_work(struct tn_worker *me)
{
    struct yields_cluster *c = me->cluster->sched;
    if (tn_locked_queue_length(&c->shared) != 0 || tn_locked_queue_length(&c->yields) != 0)
        return TN_WORK_SOME;
    uint32_t used = atomic_load_explicit(&me->cluster->used, memory_order_acquire); /* U0 acquire */
    for (uint32_t i = 0; i < used; i++)
        if (tn_stack_length(&of(me->cluster->workers[i])->stack) != 0)
            return TN_WORK_SOME;
    return TN_WORK_NONE;
}

/* ---- life ---- */

static int yields_cluster_init(struct tn_cluster *cl)
{
    struct yields_cluster *c = cl->sched;
    tn_locked_queue_init(&c->shared);
    tn_locked_queue_init(&c->yields);
    return 0;
}

static int yields_worker_init(struct tn_worker *me)
{
    return tn_stack_init(&of(me)->stack, TN_KNOB(me->cluster->knobs, TN_KNOB_OWNER, size));
}

static void yields_worker_fini(struct tn_worker *me)
{
    tn_stack_fini(&of(me)->stack);
}

/* All of the worker's stack, as a list. */
static void empty(struct tn_worker *w, struct tn_list *out)
{
    struct tn_fibre *f;
    while ((f = tn_stack_take(&of(w)->stack, NULL)) != NULL)
        tn_list_push_back(out, &f->link);
}

static void yields_worker_leave(struct tn_worker *me)
{
    struct tn_list left = {0};
    empty(me, &left);
    tn_locked_queue_push_list(&((struct yields_cluster *)me->cluster->sched)->shared, &left);
}

static void yields_drain(struct tn_cluster *cl, struct tn_list *out)
{
    struct yields_cluster *c = cl->sched;
    uint32_t used = atomic_load_explicit(&cl->used, memory_order_acquire); /* U0 acquire */
    tn_locked_queue_pop_n(&c->shared, SIZE_MAX, out);
    tn_locked_queue_pop_n(&c->yields, SIZE_MAX, out);
    for (uint32_t i = 0; i < used; i++)
        empty(cl->workers[i], out);
}

TN_SCHEDULER(yields) = {
    .name = "yields",
    .summary = "local stacks, and the ways to yield of 003 §4.4.4, the naive ones included",
    .cluster_size = sizeof(struct yields_cluster),
    .worker_size = sizeof(struct yields_worker),
    .knobs = yields_knobs,
    .n_knobs = sizeof yields_knobs / sizeof yields_knobs[0],
    .counters = yields_counters,
    .n_counters = sizeof yields_counters / sizeof yields_counters[0],
    .cluster_init = yields_cluster_init,
    .worker_init = yields_worker_init,
    .worker_fini = yields_worker_fini,
    .worker_leave = yields_worker_leave,
    .ready = yields_ready,
    .next = yields_next,
    .next_of_yield = yields_next_of_yield,
    .steal = yields_steal,
    .victim = yields_victim,
    .may_have_work = yields_may_have_work,
    .drain = yields_drain,
};
