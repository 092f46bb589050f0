/* SPDX-License-Identifier: MIT
 *
 * The interface between the core and a scheduler module. A module is one `const struct tn_scheduler`, whose
 * comments are the specification. The module owns order, placement and the order of victims. The core owns when
 * to steal, parking and waking, the wait primitive, timers, pollers, statistics.
 *
 * Ownership of a fibre: whoever owns it may use its link. ready() hands it to the module, next() and drain()
 * hand it back. Nothing is lost: a fibre made ready comes out of next() exactly once.
 *
 * Included by modules and by the core. A module needs nothing else but core/queues/ and schedulers/parts/.
 */
#ifndef TN_SCHEDULER_H
#define TN_SCHEDULER_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "knob.h"
#include "platform.h"
#include "queues/link.h"

/* ---- what a module sees of a fibre, a worker and a cluster; the core's own part lies behind each ---- */

struct tn_fibre {
    struct tn_link link;        /* the owner's: for lists; the first field, so that a link is its fibre */
    void *context;              /* where it resumes; a module may prefetch it, nothing else */
    struct tn_cluster *cluster; /* where it runs; set before ready() */
    struct tn_worker *home;     /* the worker that ran it last, or NULL: for placement by affinity */
    int priority;               /* as its spawner said: -TN_PRIORITY_MAX to TN_PRIORITY_MAX, more is more urgent */
    bool background;            /* as its spawner said: it runs only where nothing else does (000 §3.2.2) */
};

struct tn_worker {
    void *sched; /* the module's state of this worker */
    struct tn_cluster *cluster;
    uint64_t random;  /* state of tn_random(); owner only */
    uint32_t index;   /* its slot in the cluster */
    uint64_t *counts; /* the module's counters, in the order of its table; owner writes */
};

struct tn_cluster {
    void *sched;                /* the module's state of this cluster */
    const int64_t *knobs;       /* values, for TN_KNOB */
    uint32_t slots;             /* size of workers[], constant */
    _Atomic(uint32_t) used;     /* workers[0 … used) may be looked at; grows only */
    struct tn_worker **workers; /* a slot once used stays valid memory while the cluster lives */

    /* On lines of their own: whoever runs out of work writes them, and all who look for some read what is above. */
    _Alignas(
        TN_CACHE_LINE) _Atomic(uint32_t) hungry; /* workers without work, a hint: see tn_hungry(), tn_idle_count() */
    _Alignas(TN_CACHE_LINE) _Atomic(uint32_t) busy; /* workers that are not parked, a hint */
};

static inline struct tn_fibre *tn_fibre_of(struct tn_link *link)
{
    return (struct tn_fibre *)(void *)link;
}

/* The module's state of a fibre (fibre_size bytes, zeroed when it is spawned in or moved to the cluster). */
TN_MODULE_API void *tn_fibre_state(struct tn_fibre *f);

/* One word of each fibre that is the module's, whatever its fibre_size: undefined until the module writes it, which it may
 * do whenever it owns the fibre; in TN_SPAWNED and TN_MIGRATED it has no value yet. For placement, mostly. */
TN_MODULE_API void **tn_fibre_word(struct tn_fibre *f);

/* Does anybody want work? Workers that are parked, or search. A hint. */
static inline bool tn_hungry(struct tn_cluster *cl)
{
    return atomic_load_explicit(&cl->hungry, memory_order_relaxed) != 0; /* relaxed: a hint */
}

/* How many are parked. A hint. */
static inline uint32_t tn_idle_count(struct tn_cluster *cl)
{
    return atomic_load_explicit(&cl->hungry, memory_order_relaxed) & 0xffff; /* relaxed: a hint; see core/idle.h */
}

/* SplitMix64, one stream a worker, seeded by the core: the same seed, the same choices. */
static inline uint64_t tn_random(struct tn_worker *me)
{
    uint64_t z = (me->random += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Bring into the cache what a switch to the fibre of `link` will touch of its stack, and the control block of the one
 * behind it (NULL: there is none), whose stack is for the next call. Not what NULL points to, which is looked for in vain each
 * time, in no table of translations. */
static inline void tn_prefetch(struct tn_link *link, struct tn_link *behind)
{
    char *sp = tn_fibre_of(link)->context;
    __builtin_prefetch(sp, 1);
    __builtin_prefetch(sp + 64, 1);
    __builtin_prefetch(behind != NULL ? behind : link, 1);
}

/* Without a build that says it: a plug-in that is compiled by hand counts, a case of the explorer has no counters. */
#if !defined TN_OBSERVE && defined TN_PLUGIN
#define TN_OBSERVE 1
#elif !defined TN_OBSERVE
#define TN_OBSERVE 0
#endif

/* The worker `me` adds n to the i-th counter of its module's table. Who: that worker, or who holds its place (not ready() with
 * me NULL: a plain thread counts nothing). */
#if TN_OBSERVE
#define TN_COUNT_ADD(me, i, n)                                                                                \
    atomic_store_explicit((_Atomic(uint64_t) *)&(me)->counts[i],                                              \
                          atomic_load_explicit((_Atomic(uint64_t) *)&(me)->counts[i], memory_order_relaxed) + \
                              (uint64_t)(n),                                                                  \
                          memory_order_relaxed) /* one writer; readers want no more than each value whole */
#else
#define TN_COUNT_ADD(me, i, n) ((void)(me))
#endif

/* ---- the interface ---- */

enum tn_why {
    TN_SPAWNED,      /* new; may be refused */
    TN_WOKEN,        /* its wait has ended */
    TN_YIELDED,      /* gave way softly */
    TN_YIELDED_HARD, /* gave way to everything that is ready in the cluster (003 §4.4.4) */
    TN_DISPLACED,    /* spawned a fibre that the module ran first (TN_RUN_NOW) */
    TN_PREEMPTED,    /* lost the processor against its will */
    TN_MIGRATED,     /* comes from another cluster */
    TN_STAGED        /* goes on in the stage that stage() was told */
};

/* ready() may answer a spawn by a worker of the cluster with this: the module did not take the fibre, the core
 * runs it at once, and the spawner will be handed to ready() as TN_DISPLACED ("child first"). */
#define TN_RUN_NOW (-1)

/* ready() may answer with TN_HELD: taken, and kept where nobody but its owner can get at it for now. Workers that search
 * are not told. An idle one is woken as ever, for it may have looked just before; and who finds nothing but held work
 * (may_have_work() says TN_WORK_HELD) looks again soon. */
#define TN_HELD (-2)

/* ready() may answer with TN_AWAITED: taken, and some workers that are awake will come to it; others can get at it only if
 * these do not (may_have_work() tells them TN_WORK_HELD). An idle one is woken only if none sleeps with a deadline on
 * behalf of all. */
#define TN_AWAITED (-3)

/* ready() may answer with TN_FOR(i): taken, and placed where only worker i looks first. If that one is idle, it
 * is the one to be woken (000 §3.2: local work wakes its own worker, shared work the head of the idle list). */
#define TN_FOR(i)          (-4 - (int)(i))
#define TN_FOR_INDEX(code) ((uint32_t)(-4 - (code)))

enum tn_work {
    TN_WORK_NONE, /* nothing; the worker may park until it is woken */
    TN_WORK_HELD, /* something that its owner holds back for now: park, but look again soon */
    TN_WORK_SOME  /* something that next() or steal() can get */
};

/* A module of which there is more, or whose table lacks what may not be left out, is refused: a line on standard error
 * says so, and tn_start or tn_cluster_create returns EINVAL. */
#define TN_MODULE_COUNTERS_MAX 24 /* and TN_KNOBS_MAX knobs (knob.h) */
#define TN_FIBRE_STATE_MAX     ((size_t)1 << 20)

struct tn_counter_row {
    const char *name, *help;
};

struct tn_scheduler {
    const char *name;
    const char *summary; /* one line */

    /* Bytes of state that the core allocates for the module: line-aligned, zeroed. A fibre's comes on top of its stack,
     * and is there from the start of the runtime: room for the largest of the modules that are built in and of the
     * first cluster's. A plug-in that needs more is refused to further clusters. */
    size_t cluster_size, worker_size, fibre_size;

    const struct tn_knob *knobs;
    size_t n_knobs;
    const struct tn_counter_row *counters;
    size_t n_counters;

    /* ---- life ---- */

    /* Before the cluster's first worker; after its last. An errno value fails the cluster. Memory
     * beyond the fixed sizes comes from tn_sched_alloc and go by tn_sched_free. May be left out.
     * Pair: cluster_init/cluster_fini. */
    int (*cluster_init)(struct tn_cluster *cl);
    void (*cluster_fini)(struct tn_cluster *cl);

    /* For each slot when it is first used, before other workers can see it, on the thread that adds the worker;
     * when the cluster ends. A slot whose worker has left keeps its state and may be victim meanwhile.
     * May be left out. Pair: worker_init/worker_fini. */
    int (*worker_init)(struct tn_worker *me);
    void (*worker_fini)(struct tn_worker *me);

    /* On the worker itself: before it runs its first fibre, and after its last, when it leaves at run time or
     * the cluster ends. worker_leave must hand on whatever only this worker can get (the core calls next() no
     * more); the others find the rest by stealing. May be left out. Pair: worker_join/worker_leave. */
    void (*worker_join)(struct tn_worker *me);
    void (*worker_leave)(struct tn_worker *me);

    /* ---- order and placement ---- */

    /* `f` is ready: take it. me is the calling worker, or NULL when the caller is no worker of f->cluster. The
     * module owns f from here, and f may run on another worker before ready() returns.
     * Returns 0, TN_HELD, TN_AWAITED or TN_FOR(index); for TN_SPAWNED also EAGAIN (refused: f stays the core's, the spawner sees EAGAIN) or
     * TN_RUN_NOW. A module refuses for the sake of what is ready, not of what waits: who waits for room tries again whenever
     * a worker has found nothing to do. Everything else must be taken: a bounded queue overflows into a list by f->link. An answer that is none
     * of these ends the program, where the core comes to act on it. */
    int (*ready)(struct tn_worker *me, struct tn_fibre *f, enum tn_why why);

    /* Several at once, from pollers and timers; none may be refused, the list is empty afterwards. Left out: ready()
     * for each. */
    void (*ready_n)(struct tn_worker *me, struct tn_list *fibres, enum tn_why why);

    /* The fibre that `me` runs next, or NULL if it finds nothing without stealing. The caller owns it. Called
     * on each yield, wait and exit, on the stack of the fibre that is about to stop, which ready() sees only
     * after the switch. With `fair` the module looks first at what it would otherwise look at last: what all workers
     * share, above all fibres that have yielded hard. That is so after a hard yield, and at every 64th call, so that
     * no stream of local work starves the rest. Not each time, though: where all yield hard, every call is such a one,
     * and nothing else may starve either. */
    struct tn_fibre *(*next)(struct tn_worker *me, bool fair);

    /* The same on behalf of a fibre that yields; NULL: it goes on at once, and ready() is not called. Left out: next().
     * For a module in which a yield chooses otherwise than a wait does (003 §4.4.4). */
    struct tn_fibre *(*next_of_yield)(struct tn_worker *me, bool fair);

    /* A soft yield in one step: take `f`, which runs on me, as ready() would, and return whom next_of_yield() would choose.
     * f still runs: nobody may get at it before passed(), which is called right after the switch, on the stack of who
     * runs next; a lock may be held until then. There must be as much for others to find as before, all the time: nobody is
     * told of it. NULL: f is not taken; next_of_yield() and ready() do it. Not called with fair ones. Left out, both: the
     * same. Pair: pass/passed. */
    struct tn_fibre *(*pass)(struct tn_worker *me, struct tn_fibre *f);
    void (*passed)(struct tn_worker *me);

    /* `f`, which runs on me, goes on in `stage` (tn_stage): note that. 0: it stops, and is then handed to ready() as
     * TN_STAGED. TN_RUN_NOW: it goes on at once. EINVAL: there is no such stage. Left out: stages mean nothing. */
    int (*stage)(struct tn_worker *me, struct tn_fibre *f, unsigned stage);

    /* Move fibres from `victim` to `me`, so that next(me) finds them. Returns how many; 0 also when it lost a
     * race. Called after next() found nothing, before parking, with each victim in turn. May be left out by a
     * module whose workers share all queues. */
    unsigned (*steal)(struct tn_worker *me, struct tn_worker *victim);

    /* The victim of the attempt-th try of a round, NULL when the round is over. It may be `me`: for what may be had only
     * where no other has anything. A busy worker tries one now and then, in passing. Left out: all other workers once,
     * from a random start. */
    struct tn_worker *(*victim)(struct tn_worker *me, unsigned attempt);

    /* May `me` find work by next() or by steal()? Called when it has announced that it will park, after the
     * heavy fence: what ready() stored before the waker looked for idle workers must be seen here. A wrong
     * "yes" costs time, a wrong "none" loses a wake-up. */
    enum tn_work (*may_have_work)(struct tn_worker *me);

    /* How many fibres are ready in the queues of worker w or, with w NULL, in those that all share: a hint, for
     * diagnoses. Any thread, also inside a signal handler and while workers are stopped at any point: no lock. May be
     * left out. */
    size_t (*queued)(struct tn_cluster *cl, struct tn_worker *w);

    /* Take out everything, from any thread, when no worker runs any more. The core drops it. */
    void (*drain)(struct tn_cluster *cl, struct tn_list *out);

    /* ---- notifications; may be left out ---- */

    /* `f` starts to run on me, after a switch; it has stopped, and why (TN_WOKEN: it waits; TN_SPAWNED: it has
     * ended). For policies that count or time; statistics of the core need no module. */
    void (*running)(struct tn_worker *me, struct tn_fibre *f);
    void (*stopping)(struct tn_worker *me, struct tn_fibre *f, enum tn_why why);
};

/* Work that an owner held back can now be taken by others: wake one if that helps. For a module that opens up
 * private work outside ready(). Who: a worker. */
TN_MODULE_API void tn_notify(struct tn_cluster *cl);

/* The cluster's busy workers, those that run or search, by how long they have been so (000 §3.2.3): after NULL the one
 * that has been busy longest, after w the one that became so next. NULL: none, or w is no longer busy, or the list is in
 * use at the moment. Takes the lock of parking. Who: a worker. */
TN_MODULE_API struct tn_worker *tn_busy_after(struct tn_cluster *cl, struct tn_worker *w);

/* Is w parked, or about to be? For a module that places a fibre where only some workers look, to know whom of them to
 * wake (TN_FOR). Asked after the fibre has been put there: then whoever parks meanwhile is seen here, or sees the fibre in
 * may_have_work(). Who: any. */
TN_MODULE_API bool tn_worker_idle(struct tn_worker *w);

/* How far each slot's worker is from `me`, if all are where `pin` puts them: into to[slots], 0 for the same processor, and
 * the more the farther out the first part of the machine is that holds both. In worker_init and later.
 * Errors: ENOTSUP, nobody knows (a line on standard error says so); ENOMEM. */
TN_MODULE_API int tn_distances(struct tn_worker *me, uint8_t *to);

/* Line-aligned zeroed memory for a module; NULL when there is none. */
TN_MODULE_API void *tn_sched_alloc(size_t bytes);
TN_MODULE_API void tn_sched_free(void *memory, size_t bytes);

/* In a module's file: how the table is named, so that each way of binding finds it. A shared object (cc -shared
 * -fPIC -DTN_PLUGIN) shows it under one name; it takes the functions above from the program that loads it. */
#if defined(TN_PLUGIN)
#define TN_SCHEDULER(id)                                                                         \
    extern __attribute__((visibility("default"))) const struct tn_scheduler tn_scheduler_plugin; \
    const struct tn_scheduler tn_scheduler_plugin
#else
#define TN_SCHEDULER(id)                                \
    extern const struct tn_scheduler tn_scheduler_##id; \
    const struct tn_scheduler tn_scheduler_##id
#endif

#endif
