/* SPDX-License-Identifier: MIT
 *
 * multiq: the relaxed multi-queue of Williams, Sanders and Dementiev (2021), of which 003 §4.3.1 speaks: `queues` for each
 * worker that there is, all shared by all. A fibre that becomes ready goes into one drawn at random; a worker runs the
 * better of the first of two. core/queues/multiqueue.h is the structure, this is its policy: what a fibre's key is, and
 * how many queues are drawn from.
 *
 * Key: the time at which the fibre became ready, so that the oldest comes first, nearly. With `level` each step of
 * priority is worth so many microseconds of waiting: one that is a step less urgent runs before all that became ready
 * that much later. So whatever the priorities are nothing starves, and a great level is an order by priority alone.
 *
 * When a worker leaves, the queues that are then too many are emptied into the others. What is put there at that very
 * moment, by someone who still thought them in use, is found by the turn that every fair choice gives to the next queue of all, or
 * by whoever finds nothing else.
 *
 * Invariant: a fibre given to ready() is in exactly one queue until next() or drain() takes it out.
 */
#include "scheduler.h"
#include "queues/multiqueue.h"

#define TN_KNOB_OWNER multiq
#define MULTIQ_KNOBS(K)                                                                                         \
    K(queues, NULL, 2, 1, 64, "", "queues for each worker of the cluster", "Williams et al. 2021: c")           \
    K(stick, NULL, 4, 1, 1024, "", "operations for which a worker stays with the queues that it has drawn",     \
      "Williams et al. 2021: stickiness")                                                                       \
    K(buffer, NULL, 16, 1, 1024, "fibres",                                                                      \
      "size of the two buffers before each queue's heap, rounded up to a power of two", "Williams et al. 2021") \
    K(level, NULL, 0, 0, 1000000000, "us",                                                                      \
      "waiting time that a step of priority is worth; 0: oldest first, priorities count nothing", "")

enum { MULTIQ_KNOBS(TN_KNOB_ENUM) };
static const struct tn_knob multiq_knobs[] = {MULTIQ_KNOBS(TN_KNOB_ROW)};
#define KNOB(cl, k) TN_KNOB((cl)->knobs, TN_KNOB_OWNER, k)

/* So that no priority makes a key negative: beyond 31 levels of 10^12 ns; and it leaves 2^63 ns to the clock. */
#define BASE (UINT64_C(1) << 46)

enum { MULTIQ_DRAWN, MULTIQ_SCANNED, MULTIQ_REFILLED, MULTIQ_EMPTIED };
static const struct tn_counter_row multiq_counters[] = {
    [MULTIQ_DRAWN] = {"drawn", "queues drawn at random"},
    [MULTIQ_SCANNED] = {"scanned", "fibres found by looking at all queues, since those drawn had none"},
    [MULTIQ_REFILLED] = {"refilled", "times that the buffer of a queue's first fibres was filled from its heap"},
    [MULTIQ_EMPTIED] = {"emptied", "queues emptied into the others when a worker left"},
};

struct multiq_worker {
    struct tn_multi_hand hand; /* owner only */
    uint32_t turn;             /* owner only: of the fair choices */
};

struct multiq_cluster {
    struct tn_multi multi;
    tn_time epoch; /* keys count from here */
    /* Written by whoever joins or leaves, read by all. */
    _Alignas(TN_CACHE_LINE) _Atomic(uint32_t) workers;
};

static struct multiq_worker *of(struct tn_worker *w)
{
    return w->sched;
}

/* How many queues there are for so many workers; those of one at least: there is work before there is a worker. */
static uint32_t range(struct tn_cluster *cl, uint32_t workers)
{
    (void)cl; /* where the build fixes it */
    return (workers > 0 ? workers : 1) * (uint32_t)KNOB(cl, queues);
}

static uint32_t range_now(struct tn_cluster *cl)
{
    struct multiq_cluster *c = cl->sched;
    /* relaxed: a number only, and one that is out of date is as good: see the top */
    return range(cl, atomic_load_explicit(&c->workers, memory_order_relaxed));
}

static uint64_t key_of(struct tn_fibre *f)
{
    struct multiq_cluster *c = f->cluster->sched;
    return BASE + (tn_now() - c->epoch) - (uint64_t)(f->priority * KNOB(f->cluster, level) * 1000);
}

static void count(struct tn_worker *me)
{
    struct tn_multi_hand *h = &of(me)->hand;
    TN_COUNT_ADD(me, MULTIQ_DRAWN, h->drawn);
    TN_COUNT_ADD(me, MULTIQ_SCANNED, h->scanned);
    TN_COUNT_ADD(me, MULTIQ_REFILLED, h->refilled);
    h->drawn = h->scanned = h->refilled = 0;
}

/* ---- ready, next ---- */

static int multiq_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    (void)why; /* whoever yields is the youngest again */
    struct multiq_cluster *c = f->cluster->sched;
    struct tn_multi_node *node = tn_fibre_state(f);
    node->key = key_of(f);
    node->item = f;
    struct tn_multi_hand outside = {.random = node->key ^ (uintptr_t)f, .stick = 1};
    tn_multi_push(&c->multi, me != NULL ? &of(me)->hand : &outside, range_now(f->cluster), node);
    return 0;
}

static struct tn_fibre *multiq_next(struct tn_worker *me, bool fair)
{
    struct multiq_cluster *c = me->cluster->sched;
    struct multiq_worker *w = of(me);
    if (fair)
        tn_multi_turn(&c->multi, &w->hand, range_now(me->cluster), w->turn++);
    struct tn_multi_node *node = tn_multi_pop(&c->multi, &w->hand, range_now(me->cluster));
    count(me);
    return node != NULL ? node->item : NULL;
}

static enum tn_work multiq_may_have_work(struct tn_worker *me)
{
    struct multiq_cluster *c = me->cluster->sched;
    return tn_multi_any(&c->multi) ? TN_WORK_SOME : TN_WORK_NONE;
}

static size_t multiq_queued(struct tn_cluster *cl, struct tn_worker *w)
{
    struct multiq_cluster *c = cl->sched;
    return w == NULL ? tn_multi_length(&c->multi) : 0;
}

/* ---- life ---- */

static uint32_t multiq_buffer(struct tn_cluster *cl)
{
    uint32_t size = 1;
    (void)cl; /* where the build fixes it */
    while (size < KNOB(cl, buffer))
        size *= 2;
    return size;
}

static int multiq_cluster_init(struct tn_cluster *cl)
{
    struct multiq_cluster *c = cl->sched;
    uint32_t queues = range(cl, cl->slots), buffer = multiq_buffer(cl);
    void *memory = tn_sched_alloc(tn_multi_bytes(queues, buffer));
    if (memory == NULL)
        return ENOMEM;
    tn_multi_init(&c->multi, queues, buffer, memory);
    c->epoch = tn_now();
    return 0;
}

static void multiq_cluster_fini(struct tn_cluster *cl)
{
    struct multiq_cluster *c = cl->sched;
    tn_sched_free(c->multi.queue, tn_multi_bytes(c->multi.queues, c->multi.buffer));
}

static int multiq_worker_init(struct tn_worker *me)
{
    of(me)->hand = (struct tn_multi_hand){.random = tn_random(me), .stick = (uint32_t)KNOB(me->cluster, stick)};
    of(me)->turn = me->index;
    return 0;
}

static void multiq_worker_join(struct tn_worker *me)
{
    struct multiq_cluster *c = me->cluster->sched;
    atomic_fetch_add_explicit(&c->workers, 1, memory_order_relaxed); /* relaxed: see range_now() */
}

static void multiq_worker_leave(struct tn_worker *me)
{
    struct multiq_cluster *c = me->cluster->sched;
    uint32_t was = atomic_fetch_sub_explicit(&c->workers, 1, memory_order_relaxed); /* relaxed: see range_now() */
    uint32_t now = range(me->cluster, was - 1), end = range(me->cluster, was);
    for (uint32_t i = now; i < end; i++)
        tn_multi_empty(&c->multi, &of(me)->hand, now, i);
    TN_COUNT_ADD(me, MULTIQ_EMPTIED, end - now);
    count(me);
}

static void multiq_drain(struct tn_cluster *cl, struct tn_list *out)
{
    struct multiq_cluster *c = cl->sched;
    struct tn_multi_hand hand = {.stick = 1};
    struct tn_multi_node *node;
    while ((node = tn_multi_pop(&c->multi, &hand, 1)) != NULL)
        tn_list_push_back(out, &((struct tn_fibre *)node->item)->link);
}

TN_SCHEDULER(multiq) = {
    .name = "multiq",
    .summary = "a relaxed multi-queue: the better of two drawn queues, by age or by priority with ageing",
    .cluster_size = sizeof(struct multiq_cluster),
    .worker_size = sizeof(struct multiq_worker),
    .fibre_size = sizeof(struct tn_multi_node),
    .knobs = multiq_knobs,
    .n_knobs = sizeof multiq_knobs / sizeof multiq_knobs[0],
    .counters = multiq_counters,
    .n_counters = sizeof multiq_counters / sizeof multiq_counters[0],
    .cluster_init = multiq_cluster_init,
    .cluster_fini = multiq_cluster_fini,
    .worker_init = multiq_worker_init,
    .worker_join = multiq_worker_join,
    .worker_leave = multiq_worker_leave,
    .ready = multiq_ready,
    .next = multiq_next,
    .may_have_work = multiq_may_have_work,
    .queued = multiq_queued,
    .drain = multiq_drain,
};
