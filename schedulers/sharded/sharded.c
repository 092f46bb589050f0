/* SPDX-License-Identifier: MIT
 *
 * sharded: several FIFO queues for the cluster, as many as one likes whatever the number of workers (003 §4.3.1). Worker i
 * inserts into shard i and takes from it first; who has no shard of its own (there are more workers than shards, or it is no
 * worker), finds its own full, or finds nothing in it, goes by `choice`:
 *
 *   choice=       inserts into                          takes from
 *   round-robin   the next one in turn                  the next one in turn
 *   random        one at random                         one at random
 *   two           the shorter of two drawn at random    the longer of two drawn at random
 *
 * and on from there to the first that has room, or work. With `bound` no fibre is taken while more than so many older ones
 * lie in the shards: a worker then passes over its own shard where that has got too far ahead (parts/shards.h).
 *
 * Hard yields go to the cluster's yield queue; soft ones to the end of the worker's shard, as what is woken. When next() is
 * asked to be fair, the yield queue, another shard, and the own one come first in turn.
 *
 * Invariant: a fibre given to ready() is in exactly one shard or the yield queue until next() or drain() takes it out; any
 * worker can take it at once, so there is nothing to steal.
 */
#include "scheduler.h"
#define TN_SHARDS_BOUND(s) ((void)(s), TN_KNOB_FIX_(sharded, bound, (s)->bound))
#include "parts/admit.h"
#include "parts/shards.h"
#include "queues/locked.h"

#define TN_KNOB_OWNER sharded
#define SHARDED_KNOBS(K)                                                                                         \
    K(shards, NULL, 8, 1, 1024, "shards", "how many queues the cluster has", "003 §4.3.1")                       \
    K(choice, "round-robin|random|two", 0, 0, 2, "", "which shard, where it is not one's own", "003 §4.3.1")     \
    K(capacity, NULL, 128, 1, 1 << 20, "fibres", "from how many on a shard is full, and others are filled",      \
      "003 §7.1.1")                                                                                              \
    K(full, "overflow|refuse", 0, 0, 1, "", "a spawn when all are full: into one all the same, or EAGAIN",       \
      "003 §7.1.1")                                                                                              \
    K(bound, NULL, -1, -1, 1 << 30, "fibres", "older ones that may be queued when one is taken; -1: any number", \
      "003 §4.3.1")

enum { SHARDED_KNOBS(TN_KNOB_ENUM) };
static const struct tn_knob sharded_knobs[] = {SHARDED_KNOBS(TN_KNOB_ROW)};
#define KNOB(cl, k) TN_KNOB((cl)->knobs, TN_KNOB_OWNER, k)

enum { CHOICE_ROUND_ROBIN, CHOICE_RANDOM, CHOICE_TWO };
enum { FULL_OVERFLOW, FULL_REFUSE };

enum { SHARDED_OTHER, SHARDED_OVERFLOW, SHARDED_PASSED, SHARDED_YIELDS };
static const struct tn_counter_row sharded_counters[] = {
    [SHARDED_OTHER] = {"other", "fibres taken from a shard that is not the worker's own"},
    [SHARDED_OVERFLOW] = {"overflow", "fibres that found their worker's shard full"},
    [SHARDED_PASSED] = {"passed", "times that a worker passed over its shard because of the bound"},
    [SHARDED_YIELDS] = {"yields", "fibres taken from the yield queue"},
};

struct sharded_worker {
    uint32_t own; /* its shard, or NONE; constant */
    /* owner only */
    uint32_t turn, fairs;
};
#define NONE UINT32_MAX

struct sharded_cluster {
    struct tn_shards shards;
    struct tn_locked_queue yields;
    _Alignas(TN_CACHE_LINE) _Atomic(uint32_t) turn; /* of who is no worker */
    struct tn_admit admit;                          /* full=refuse */
};

static inline struct sharded_worker *of(struct tn_worker *w)
{
    return w->sched;
}

/* ---- choice ---- */

static uint64_t draw(struct sharded_cluster *c, struct tn_worker *me, int64_t choice)
{
    if (me != NULL)
        return choice == CHOICE_ROUND_ROBIN ? ++of(me)->turn : tn_random(me) >> 32;
    uint32_t turn = atomic_fetch_add_explicit(&c->turn, 1, memory_order_relaxed); /* relaxed: only a number */
    struct tn_worker nobody = {.random = turn};
    return choice == CHOICE_ROUND_ROBIN ? turn : tn_random(&nobody) >> 32;
}

/* Where to begin. */
static uint32_t choose(struct sharded_cluster *c, struct tn_worker *me, int64_t choice, bool longer)
{
    uint32_t n = c->shards.n, i = (uint32_t)(draw(c, me, choice) % n);
    if (choice != CHOICE_TWO)
        return i;
    uint32_t other = (uint32_t)(draw(c, me, choice) % n);
    size_t a = tn_shards_length(&c->shards, i), b = tn_shards_length(&c->shards, other);
    return (longer ? a >= b : a <= b) ? i : other;
}

/* ---- ready ---- */

static int sharded_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    struct sharded_cluster *c = f->cluster->sched;
    uint32_t own = me != NULL ? of(me)->own : NONE, n = c->shards.n;
    size_t capacity = (size_t)KNOB(f->cluster, capacity);
    if (KNOB(f->cluster, full) == FULL_REFUSE && !tn_admit(&c->admit, f, why, n * (uint64_t)capacity))
        return EAGAIN;
    if (why == TN_YIELDED_HARD) {
        tn_locked_queue_push_back(&c->yields, &f->link);
        return 0;
    }
    if (own != NONE && (why == TN_YIELDED || tn_shards_length(&c->shards, own) < capacity)) {
        tn_shards_push(&c->shards, own, f);
        return 0;
    }
    uint32_t first = choose(c, me, KNOB(f->cluster, choice), false), i = first, seen = 0;
    while (seen < n && tn_shards_length(&c->shards, i) >= capacity) {
        i = i + 1 == n ? 0 : i + 1;
        seen++;
    }
    if (own != NONE)
        TN_COUNT_ADD(me, SHARDED_OVERFLOW, 1);
    tn_shards_push(&c->shards, i, f);
    return 0;
}

/* ---- next ---- */

/* From the first shard that has something to take, starting at `i`. */
static __attribute__((noinline)) struct tn_fibre *from_any(struct tn_worker *me, uint32_t i, uint64_t limit)
{
    struct sharded_cluster *c = me->cluster->sched;
    for (uint32_t seen = 0; seen < c->shards.n; seen++) {
        struct tn_fibre *f = tn_shards_take(&c->shards, i, limit);
        if (f != NULL) {
            TN_COUNT_ADD(me, SHARDED_OTHER, i != of(me)->own);
            return f;
        }
        i = i + 1 == c->shards.n ? 0 : i + 1;
    }
    return NULL;
}

static struct tn_fibre *from_yields(struct tn_worker *me)
{
    struct sharded_cluster *c = me->cluster->sched;
    struct tn_link *l = tn_locked_queue_pop_front(&c->yields);
    TN_COUNT_ADD(me, SHARDED_YIELDS, l != NULL);
    return tn_fibre_of(l);
}

static struct tn_fibre *sharded_next(struct tn_worker *me, bool fair)
{
    struct sharded_cluster *c = me->cluster->sched;
    struct sharded_worker *w = of(me);
    struct tn_fibre *f = NULL;
    uint64_t limit = tn_shards_limit(&c->shards);
    if (__builtin_expect(fair, 0)) {
        uint32_t what = w->fairs++ % 3;
        if (what == 0)
            f = from_yields(me);
        else if (what == 1) /* in turn, whatever the choice: so that none is left out */
            f = from_any(me, w->fairs / 3 % c->shards.n, limit);
    }
    if (f == NULL && w->own != NONE && (f = tn_shards_take(&c->shards, w->own, limit)) == NULL)
        TN_COUNT_ADD(me, SHARDED_PASSED, tn_shards_beyond(&c->shards, w->own, limit));
    if (f == NULL)
        f = from_any(me, choose(c, me, KNOB(me->cluster, choice), true), limit);
    f = f != NULL ? f : from_yields(me);
    if (KNOB(me->cluster, full) == FULL_REFUSE)
        tn_admit_begins(&c->admit, f);
    return f;
}

static enum tn_work sharded_may_have_work(struct tn_worker *me)
{
    struct sharded_cluster *c = me->cluster->sched;
    size_t n = tn_locked_queue_length(&c->yields);
    for (uint32_t i = 0; i < c->shards.n; i++)
        n += tn_shards_length(&c->shards, i);
    return n != 0 ? TN_WORK_SOME : TN_WORK_NONE;
}

/* ---- life ---- */

static int sharded_cluster_init(struct tn_cluster *cl)
{
    struct sharded_cluster *c = cl->sched;
    tn_locked_queue_init(&c->yields);
    return tn_shards_init(&c->shards, (uint32_t)KNOB(cl, shards), KNOB(cl, bound));
}

static void sharded_cluster_fini(struct tn_cluster *cl)
{
    tn_shards_fini(&((struct sharded_cluster *)cl->sched)->shards);
}

static int sharded_worker_init(struct tn_worker *me)
{
    of(me)->own = me->index < (uint32_t)KNOB(me->cluster, shards) ? me->index : NONE;
    of(me)->turn = me->index;
    return 0;
}

/* What all share: the shards and the yield queue. */
static size_t sharded_queued(struct tn_cluster *cl, struct tn_worker *w)
{
    struct sharded_cluster *c = cl->sched;
    size_t n = w == NULL ? tn_locked_queue_length(&c->yields) : 0;
    for (uint32_t i = 0; i < c->shards.n; i++)
        n += (w != NULL ? of(w)->own == i
                        : i >= atomic_load_explicit(&cl->used, memory_order_acquire)) /* U0 acquire */
                 ? tn_shards_length(&c->shards, i)
                 : 0;
    return n;
}

static void sharded_drain(struct tn_cluster *cl, struct tn_list *out)
{
    struct sharded_cluster *c = cl->sched;
    struct tn_fibre *f;
    for (uint32_t i = 0; i < c->shards.n; i++)
        while ((f = tn_shards_take(&c->shards, i, TN_SHARD_EMPTY - 1)) != NULL)
            tn_list_push_back(out, &f->link);
    tn_locked_queue_pop_n(&c->yields, SIZE_MAX, out);
}

TN_SCHEDULER(sharded) = {
    .name = "sharded",
    .summary = "several FIFO queues, independent of the workers; a bound on how far they get out of step",
    .cluster_size = sizeof(struct sharded_cluster),
    .worker_size = sizeof(struct sharded_worker),
    .fibre_size = sizeof(uint64_t),
    .knobs = sharded_knobs,
    .n_knobs = sizeof sharded_knobs / sizeof sharded_knobs[0],
    .counters = sharded_counters,
    .n_counters = sizeof sharded_counters / sizeof sharded_counters[0],
    .cluster_init = sharded_cluster_init,
    .cluster_fini = sharded_cluster_fini,
    .worker_init = sharded_worker_init,
    .ready = sharded_ready,
    .next = sharded_next,
    .may_have_work = sharded_may_have_work,
    .queued = sharded_queued,
    .drain = sharded_drain,
};
