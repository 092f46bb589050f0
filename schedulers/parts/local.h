/* SPDX-License-Identifier: MIT
 *
 * Local queues with stealing (003 §4.3.1, §4.4.1), the part that fifo and lifo share. The module that includes
 * this defines TN_KNOB_OWNER, and LOCAL_LIFO as 0 or 1; or LOCAL_DEQUE, for a queue from both of whose ends the owner may
 * take, and says by LOCAL_NEWEST which one is next (hybrid).
 *
 * What a worker has, and in which order its owner takes it:
 *
 *              fifo: oldest first                       lifo: newest first
 *     open     SPMC ring, thieves take the oldest       SPMC deque, thieves take the oldest
 *     private  after open (it is newer)                 before open (it is newer)
 *     soft     soft yields: FIFO, at the latest after SOFT_AFTER others, at once if there is nothing else
 *     inbox    what did not fit in, and what others placed here: a locked list; after all that
 *
 * and the cluster: the shared queue (from threads that are no workers of it) and the yield queue (hard yields).
 * Inbox, shared and yield queue come last, and first when next() is asked to be fair, though not twice in a row:
 * where every yield is hard, local work must not starve either.
 *
 * Private part and soft yields are guarded by the owner-biased lock (biased.h): their owner uses no atomic
 * read-modify-write. When the private part is full, its older half goes to open; while a worker is idle, everything
 * that becomes ready does. A thief that sees two or more fibres held sets `asked`, which the owner answers at its
 * next scheduling point or spawn; if the owner has not moved for HOG_NS, a thief takes them itself, and the next
 * CAUGHT ones are shown at once while anybody searches. A single held fibre of an owner that moves is left to it:
 * it will run in a moment, and moving it would cost more (a spawn that is joined at once, a pair that takes
 * turns).
 *
 * Invariants.
 *  1. A fibre given to ready() is in exactly one of these queues until next(), steal() or drain() takes it out.
 *  2. held == number of fibres in private and soft whenever the lock is free.
 *  3. Everything except private and soft can be taken by any worker at once; those two by way of `asked` or of the
 *     lock. So no work is out of reach behind a hog.
 */
#ifndef TN_PARTS_LOCAL_H
#define TN_PARTS_LOCAL_H

#include "scheduler.h"
#include "biased.h"
#include "victims.h"
#include "queues/locked.h"
#if defined LOCAL_DEQUE
#include "queues/spmc_deque.h"
#define OPEN(op) tn_spmc_deque_##op
typedef struct tn_spmc_deque local_open;
#define LOCAL_POP(l, newest) ((newest) ? OPEN(pop)((l)->open) : OPEN(pop_bottom)((l)->open))
#elif LOCAL_LIFO
#include "queues/spmc_lifo.h"
#define OPEN(op) tn_spmc_lifo_##op
typedef struct tn_spmc_lifo local_open;
#else
#include "queues/spmc_fifo.h"
#define OPEN(op) tn_spmc_fifo_##op
typedef struct tn_spmc_fifo local_open;
#endif

/* What a module has besides: LOCAL_OWN_KNOBS, with `capacity` among them (of the open part), and counters. */
#ifndef LOCAL_OWN_COUNTERS
#define LOCAL_OWN_COUNTERS
#endif

/* Does the owner take its newest fibre next, or its oldest? And that one, from the open part. */
#ifndef LOCAL_NEWEST
#define LOCAL_NEWEST(me)     LOCAL_LIFO
#define LOCAL_POP(l, newest) OPEN(pop)((l)->open)
#endif

#define LOCAL_KNOBS(K)                                                                                               \
    LOCAL_OWN_KNOBS(K)                                                                                               \
    K(private, NULL, 128, 0, 4096, "fibres",                                                                         \
      "local: the part of a queue that its worker uses without atomics, rounded up to a power of two", "")           \
    K(full, "overflow|refuse", 0, 0, 1, "", "a spawn into a full queue: into a list, or EAGAIN", "003 §7.1.1")       \
    K(steal, "half|one", 0, 0, 1, "", "how much a thief takes", "003 §4.4.1")                                        \
    K(spawn, "parent|child", 0, 0, 1, "", "which of the two goes on first after a spawn", "")                        \
    K(victims, "random|nearest|busy", 0, 0, 2, "", "whom a thief tries; busy: the longest busy first", "000 §3.2.2") \
    K(nearest, NULL, 15, 1, 4096, "workers", "victims=nearest: how many neighbours", "003 §7.1.1")                   \
    K(place, "waker|home", 0, 0, 1, "", "where a woken fibre goes: to its waker, or to the worker it ran on",        \
      "000 §3.2.2")

enum { LOCAL_KNOBS(TN_KNOB_ENUM) };
static const struct tn_knob local_knobs[] = {LOCAL_KNOBS(TN_KNOB_ROW)};
#define KNOB(cl, k) TN_KNOB((cl)->knobs, TN_KNOB_OWNER, k)

enum { FULL_OVERFLOW, FULL_REFUSE };
enum { STEAL_HALF, STEAL_ONE };
enum { SPAWN_PARENT, SPAWN_CHILD };
enum { VICTIMS_RANDOM, VICTIMS_NEAREST, VICTIMS_BUSY };
enum { PLACE_WAKER, PLACE_HOME };

enum { SOFT_AFTER = 8, STEAL_MAX = 64, HOG_NS = 10000, PATIENCE = 128, CAUGHT = 64 };

enum { LOCAL_SPILL, LOCAL_OVERFLOW, LOCAL_ASKED, LOCAL_REVOKED, LOCAL_SHARED, LOCAL_COUNTERS };
static const struct tn_counter_row local_counters[] = {
    [LOCAL_SPILL] = {"spill", "times that the private part was full and its older half was opened"},
    [LOCAL_OVERFLOW] = {"overflow", "fibres that found the bounded queue full and went to a list"},
    [LOCAL_ASKED] = {"asked", "times that an owner opened its private part because a thief asked"},
    [LOCAL_REVOKED] = {"revoked", "times that a thief took private work behind a hog under the heavy fence"},
    [LOCAL_SHARED] = {"shared", "fibres taken from the cluster's shared or yield queue"},
    LOCAL_OWN_COUNTERS /* nothing, or rows that end in a comma */
};

struct local_worker {
    /* the owner's, and under the lock a thief's */
    struct tn_biased lock;
    uint32_t head, tail, limit; /* private ring: slot[head … tail), at most limit */
    uint32_t since_soft;
    void **slot;
    struct tn_list soft;
    /* owner writes, thieves read */
    _Atomic(uint32_t) held;
    /* thieves write, owner reads */
    _Atomic(uint32_t) asked, caught;
    /* owner only */
    bool global;    /* layout=global */
    bool was_fair;  /* the last fair call looked at the shared queues first */
    uint32_t ticks; /* fibres taken from shared queues; layout=global: calls of next */
    uint32_t start; /* of this round of victims */
    struct tn_victim_walk walk;
    local_open *open;

    /* thieves: since when the owner has not moved */
    _Alignas(TN_CACHE_LINE) _Atomic(uint32_t) seen_seq;
    _Atomic(uint64_t) seen_at;

    struct tn_locked_queue inbox;
};

struct local_cluster {
    struct tn_locked_queue shared, yields;
    struct tn_mpmc_ring *ring; /* layout=global of fifo, see global.h */
};

static inline struct local_worker *local_of(struct tn_worker *w)
{
    return w->sched;
}

static inline size_t local_round(int64_t n)
{
    size_t size = 1;
    while (size < (size_t)n)
        size *= 2;
    return size;
}

/* ---- the private part; inside the lock ---- */

static inline void local_publish(struct local_worker *l)
{
    /* relaxed: a hint for thieves, who look again inside the lock; for parking, the idle fences order it */
    atomic_store_explicit(&l->held, l->tail - l->head + (uint32_t)l->soft.count, memory_order_relaxed);
}

/* Open up n of the oldest private fibres. Returns how many found room. */
static inline uint32_t local_open_up(struct local_worker *l, uint32_t n)
{
    uint32_t done = 0;
    while (done < n && OPEN(push)(l->open, l->slot[l->head & (l->limit - 1)])) {
        l->head++;
        done++;
    }
    return done;
}

/* A thief waits for private work: open half of it, and tell. */
static __attribute__((noinline, cold)) void local_answer(struct tn_worker *me)
{
    struct local_worker *l = local_of(me);
    atomic_store_explicit(&l->asked, 0, memory_order_relaxed); /* relaxed: a hint */
    TN_COUNT_ADD(me, LOCAL_ASKED, 1);
    uint32_t turn = tn_biased_enter(&l->lock);
    local_open_up(l, (l->tail - l->head + 1) / 2);
    while (l->soft.count > 1)
        tn_locked_queue_push_back(&((struct local_cluster *)me->cluster->sched)->yields, tn_list_pop_front(&l->soft));
    local_publish(l);
    tn_biased_leave(&l->lock, turn);
    tn_notify(me->cluster);
}

/* ---- ready ---- */

/* Somebody wants work. If he is idle, he is about to be woken for it: put it where he can take it. If he only searches,
 * he asks for what he needs; a single fibre that is left to its owner is his for the asking only if the owner does not
 * move, and he has to wait to see that. So an owner that was caught as a hog shows what it has for some time. */
static __attribute__((noinline)) bool local_show(struct tn_worker *me)
{
    struct local_worker *l = local_of(me);
    if (tn_idle_count(me->cluster) != 0)
        return true;
    uint32_t caught = atomic_load_explicit(&l->caught, memory_order_relaxed); /* relaxed: a hint */
    if (caught != 0)
        atomic_store_explicit(&l->caught, caught - 1, memory_order_relaxed);
    return caught != 0;
}

/* The owner's own queue. EAGAIN: full, and `refuse`. */
static inline int local_push(struct tn_worker *me, struct tn_fibre *f, bool refuse)
{
    struct local_worker *l = local_of(me);
    bool taken = false, open = true;
    if (__builtin_expect(atomic_load_explicit(&l->asked, memory_order_relaxed) != 0, 0)) /* relaxed: a hint */
        local_answer(me);
    bool show = __builtin_expect(tn_hungry(me->cluster), 0) && local_show(me);
    if (l->limit != 0) {
        uint32_t turn = tn_biased_enter(&l->lock);
        uint32_t n = l->tail - l->head;
        if (__builtin_expect(show || n == l->limit, 0)) {
            uint32_t opened = local_open_up(l, show ? n : (n + 1) / 2);
            TN_COUNT_ADD(me, LOCAL_SPILL, !show && opened != 0);
            n -= opened;
            taken = show && n == 0 && OPEN(push)(l->open, f);
        }
        if (!taken && n < l->limit) {
            l->slot[l->tail++ & (l->limit - 1)] = f;
            taken = true;
            open = show;
        }
        local_publish(l);
        tn_biased_leave(&l->lock, turn);
    } else {
        taken = OPEN(push)(l->open, f);
    }
    if (__builtin_expect(taken, 1))
        return open ? 0 : TN_HELD;
    if (refuse)
        return EAGAIN;
    TN_COUNT_ADD(me, LOCAL_OVERFLOW, 1);
    tn_locked_queue_push_back(&l->inbox, &f->link);
    return 0;
}

static inline int local_ready(struct tn_worker *me, struct tn_fibre *f, enum tn_why why)
{
    struct local_cluster *c = f->cluster->sched;
    if (why == TN_YIELDED && me != NULL) {
        struct local_worker *l = local_of(me);
        uint32_t turn = tn_biased_enter(&l->lock);
        tn_list_push_back(&l->soft, &f->link);
        local_publish(l);
        tn_biased_leave(&l->lock, turn);
        return TN_HELD;
    }
    if (why == TN_YIELDED_HARD) {
        tn_locked_queue_push_back(&c->yields, &f->link);
        return 0;
    }
    if (why == TN_WOKEN && KNOB(f->cluster, place) == PLACE_HOME && f->home != NULL && f->home != me &&
        f->home->cluster == f->cluster) {
        struct tn_worker *home = f->home;
        tn_locked_queue_push_back(&local_of(home)->inbox, &f->link);
        return TN_FOR(home->index);
    }
    if (me == NULL) {
        tn_locked_queue_push_back(&c->shared, &f->link);
        return 0;
    }
    if (why == TN_SPAWNED && KNOB(f->cluster, spawn) == SPAWN_CHILD)
        return TN_RUN_NOW;
    return local_push(me, f, why == TN_SPAWNED && KNOB(f->cluster, full) == FULL_REFUSE);
}

/* ---- next ---- */

static inline size_t local_shared_length(struct tn_worker *me)
{
    struct local_cluster *c = me->cluster->sched;
    return tn_locked_queue_length(&c->yields) + tn_locked_queue_length(&c->shared) +
           tn_locked_queue_length(&local_of(me)->inbox);
}

/* From what comes last otherwise. Each of the three comes first in turn: two fibres that yield hard to each other keep
 * the yield queue filled for ever, and would hide the others. */
static __attribute__((noinline)) struct tn_link *local_shared(struct tn_worker *me)
{
    struct local_cluster *c = me->cluster->sched;
    struct local_worker *l = local_of(me);
    struct tn_locked_queue *queue[] = {&c->yields, &c->shared, &l->inbox};
    struct tn_link *f = NULL;
    for (uint32_t i = 0; i < 3 && f == NULL; i++)
        f = tn_locked_queue_pop_front(queue[(l->ticks + i) % 3]);
    if (f != NULL) {
        l->ticks++;
        TN_COUNT_ADD(me, LOCAL_SHARED, 1);
    }
    return f;
}

static inline struct tn_fibre *local_next(struct tn_worker *me, bool fair)
{
    struct local_worker *l = local_of(me);
    struct tn_link *f = NULL;
    if (__builtin_expect(fair, 0) && (l->was_fair = !l->was_fair) && (f = local_shared(me)) != NULL)
        return tn_fibre_of(f);
    if (__builtin_expect(atomic_load_explicit(&l->asked, memory_order_relaxed) != 0, 0)) /* relaxed: a hint */
        local_answer(me);

    const bool newest = LOCAL_NEWEST(me);
    bool open = OPEN(length)(l->open) != 0;
again:
    if (!newest && open && l->since_soft < SOFT_AFTER) {
        l->since_soft++;
        if ((f = LOCAL_POP(l, newest)) != NULL)
            return tn_fibre_of(f);
        open = false; /* thieves were faster */
    }
    uint32_t turn = tn_biased_enter(&l->lock);
    bool private = l->head != l->tail;
    if (l->soft.head != NULL && ((!private && !open) || l->since_soft >= SOFT_AFTER)) {
        l->since_soft = 0;
        f = tn_list_pop_front(&l->soft);
        if (l->soft.head != NULL)
            tn_prefetch(l->soft.head);
    } else if (private && (newest || !open)) {
        l->since_soft++;
        f = l->slot[(newest ? --l->tail : l->head++) & (l->limit - 1)];
    }
    if (l->soft.head == NULL)
        l->since_soft = 0;
    local_publish(l);
    tn_biased_leave(&l->lock, turn);
    if (f == NULL && open) {
        l->since_soft++;
        f = LOCAL_POP(l, newest);
        if (!newest && f == NULL && private) { /* thieves were faster, and private had been passed over */
            open = false;
            goto again;
        }
    }
    if (f == NULL && local_shared_length(me) != 0)
        f = local_shared(me);
    return tn_fibre_of(f);
}

/* ---- stealing ---- */

/* Has the victim reached no scheduling point for HOG_NS? All thieves share one observation. */
static bool local_hogged(struct local_worker *v)
{
    uint32_t seq = atomic_load_explicit(&v->lock.seq, memory_order_relaxed); /* relaxed: compared only */
    tn_time now = tn_now();
    if (atomic_load_explicit(&v->seen_seq, memory_order_acquire) == seq)                           /* H0 acquire */
        return (int64_t)(now - atomic_load_explicit(&v->seen_at, memory_order_relaxed)) >= HOG_NS; /* relaxed: H0 */
    atomic_store_explicit(&v->seen_at, now, memory_order_relaxed);                                 /* relaxed: H0 */
    atomic_store_explicit(&v->seen_seq, seq, memory_order_release);                                /* H0 release */
    return false;
}

/* Take what a hog holds: the older half of its private part, or of its soft yields. */
static __attribute__((noinline, cold)) size_t local_take_held(struct tn_worker *me, struct local_worker *v,
                                                              size_t max, void *out[])
{
    size_t n = 0;
    if (!tn_biased_revoke(&v->lock, PATIENCE))
        return 0;
    uint32_t half = (v->tail - v->head + 1) / 2;
    while (n < half && n < max)
        out[n++] = v->slot[v->head++ & (v->limit - 1)];
    size_t soft = (v->soft.count + 1) / 2;
    while (half == 0 && n < soft && n < max)
        out[n++] = tn_list_pop_front(&v->soft);
    local_publish(v);
    tn_biased_restore(&v->lock);
    if (n != 0)
        atomic_store_explicit(&v->caught, CAUGHT, memory_order_relaxed); /* relaxed: a hint */
    TN_COUNT_ADD(me, LOCAL_REVOKED, n != 0);
    return n;
}

static unsigned local_steal(struct tn_worker *me, struct tn_worker *victim)
{
    struct local_worker *l = local_of(me), *v = local_of(victim);
    void *got[STEAL_MAX];
    size_t max = KNOB(me->cluster, steal) == STEAL_ONE ? 1 : STEAL_MAX;
    size_t n = OPEN(length)(v->open) != 0 ? OPEN(steal)(v->open, max, got) : 0;
    if (n == 0) {
        struct tn_list some = {0};
        tn_locked_queue_pop_n(&v->inbox, max == 1 ? 1 : (tn_locked_queue_length(&v->inbox) + 1) / 2, &some);
        unsigned count = (unsigned)some.count;
        tn_locked_queue_push_list(&l->inbox, &some);
        if (count != 0)
            return count;
    }
    uint32_t held = atomic_load_explicit(&v->held, memory_order_relaxed); /* relaxed: a hint */
    if (n == 0 && held != 0) {
        if (local_hogged(v))
            n = local_take_held(me, v, max, got);
        else if (held > 1)
            atomic_store_explicit(&v->asked, 1, memory_order_relaxed); /* relaxed: a hint */
    }
    for (size_t i = 0; i < n; i++)
        if (!OPEN(push)(l->open, got[i]))
            tn_locked_queue_push_back(&l->inbox, got[i]);
    return (unsigned)n;
}

static struct tn_worker *local_victim(struct tn_worker *me, unsigned attempt)
{
    uint32_t used = atomic_load_explicit(&me->cluster->used, memory_order_acquire); /* U0 acquire */
    if (KNOB(me->cluster, victims) == VICTIMS_NEAREST)
        return tn_victim_nearest(me, used, attempt, (unsigned)KNOB(me->cluster, nearest));
    if (KNOB(me->cluster, victims) == VICTIMS_BUSY)
        return tn_victim_busy(me, used, attempt, &local_of(me)->walk);
    return tn_victim_random(me, used, attempt, &local_of(me)->start);
}

static enum tn_work local_may_have_work(struct tn_worker *me)
{
    struct local_cluster *c = me->cluster->sched;
    if (tn_locked_queue_length(&c->shared) != 0 || tn_locked_queue_length(&c->yields) != 0)
        return TN_WORK_SOME;
    enum tn_work work = TN_WORK_NONE;
    uint32_t used = atomic_load_explicit(&me->cluster->used, memory_order_acquire); /* U0 acquire */
    for (uint32_t i = 0; i < used; i++) {
        struct local_worker *v = local_of(me->cluster->workers[i]);
        if (OPEN(length)(v->open) != 0 || tn_locked_queue_length(&v->inbox) != 0)
            return TN_WORK_SOME;
        if (atomic_load_explicit(&v->held, memory_order_relaxed) != 0) { /* relaxed: behind the heavy fence */
            if (i == me->index)
                return TN_WORK_SOME;
            work = TN_WORK_HELD;
        }
    }
    return work;
}

/* ---- life ---- */

static int local_cluster_init(struct tn_cluster *cl)
{
    struct local_cluster *c = cl->sched;
    tn_locked_queue_init(&c->shared);
    tn_locked_queue_init(&c->yields);
    return 0;
}

static int local_worker_init(struct tn_worker *me)
{
    struct local_worker *l = local_of(me);
    size_t capacity = local_round(KNOB(me->cluster, capacity));
    tn_locked_queue_init(&l->inbox);
    l->limit = KNOB(me->cluster, private) != 0 ? (uint32_t)local_round(KNOB(me->cluster, private)) : 0;
    l->open = tn_sched_alloc(OPEN(bytes)(capacity));
    l->slot = tn_sched_alloc((l->limit + 1) * sizeof *l->slot);
    if (l->open == NULL || l->slot == NULL) {
        tn_sched_free(l->open, OPEN(bytes)(capacity));
        tn_sched_free(l->slot, (l->limit + 1) * sizeof *l->slot);
        return ENOMEM;
    }
    OPEN(init)(l->open, capacity);
    return 0;
}

static void local_worker_fini(struct tn_worker *me)
{
    struct local_worker *l = local_of(me);
    tn_sched_free(l->open, OPEN(bytes)(OPEN(capacity)(l->open)));
    tn_sched_free(l->slot, (l->limit + 1) * sizeof *l->slot);
}

/* Private work and the inbox go to the shared queue; the open part stays, for thieves. */
static void local_worker_leave(struct tn_worker *me)
{
    struct local_worker *l = local_of(me);
    struct local_cluster *c = me->cluster->sched;
    struct tn_list left = {0};
    uint32_t turn = tn_biased_enter(&l->lock);
    while (l->head != l->tail)
        tn_list_push_back(&left, l->slot[l->head++ & (l->limit - 1)]);
    tn_list_append(&left, &l->soft);
    local_publish(l);
    tn_biased_leave(&l->lock, turn);
    tn_locked_queue_pop_n(&l->inbox, SIZE_MAX, &left);
    tn_locked_queue_push_list(&c->shared, &left);
}

static void local_drain(struct tn_cluster *cl, struct tn_list *out)
{
    struct local_cluster *c = cl->sched;
    uint32_t used = atomic_load_explicit(&cl->used, memory_order_acquire); /* U0 acquire */
    tn_locked_queue_pop_n(&c->shared, SIZE_MAX, out);
    tn_locked_queue_pop_n(&c->yields, SIZE_MAX, out);
    for (uint32_t i = 0; i < used; i++) {
        struct local_worker *l = local_of(cl->workers[i]);
        void *f;
        while (l->head != l->tail)
            tn_list_push_back(out, l->slot[l->head++ & (l->limit - 1)]);
        tn_list_append(out, &l->soft);
        while ((f = OPEN(pop)(l->open)) != NULL)
            tn_list_push_back(out, f);
        tn_locked_queue_pop_n(&l->inbox, SIZE_MAX, out);
    }
}

#endif
