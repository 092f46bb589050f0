/* SPDX-License-Identifier: MIT
 *
 * The core's own view of its objects. What modules see of each (core/scheduler.h) comes first in each.
 */
#ifndef TN_INTERNAL_H
#define TN_INTERNAL_H

#include "tenter.h"
#include "scheduler.h"
#include "poller.h"
#include "idle.h"
#include "diagnose.h"
#include "joiner.h"
#include "joinword.h"
#include "keeper.h"
#include "pool.h"
#include "room.h"
#include "sanitize.h"
#include "scope.h"
#include "split.h"
#include "suspend.h"
#include "timers.h"
#include "token.h"
#include "visitors.h"
#include "queues/spinlock.h"

#include <string.h>

/* ---- fibres ---- */

/* What the wait number `seq` of a fibre is for; of any other wait it says nothing (tn_wait_note). */
struct tn_wait_note {
    const char *what;
    const void *object;
    uint64_t seq;
};

/* fibre.join: see joinword.h; fibre.wait: see waitword.h. */
struct fibre {
    /* Two lines of the cache are what a wait, a wake and a switch look at: where many fibres wait, these are fetched anew each time. */
    struct tn_fibre pub;
    unsigned destroyed; /* the fibre itself: destructors called, 0 before its end */
    unsigned has;       /* the fibre itself: locks that it has, of those that are counted (tn_has) */

    _Atomic(uint64_t) wait; /* anyone */
    /* Low half: its errno while it is off a worker. High half: the watchdog's mark, which goes each time that the fibre
     * has run, since the switch stores the whole word (diagnose.c). */
    _Atomic(uint64_t) saved_errno;
    struct tn_exceptions exceptions; /* while it is off a worker */
    struct tn_scope *scope;          /* the fibre itself: it is a member of a group (scope.h); NULL: of none */
    struct tn_wait_note note;        /* the fibre itself, for diagnoses */

    /* the fibre itself, on whatever worker it runs */
    void *(*fn)(void *);
    void *value; /* argument, then result */

    /* anyone */
    tn_joinword join;
#if TN_SUSPENSION == TN_SUSPENSION_LOCK
    struct tn_spinlock wait_lock; /* handed over: see waitlock.h */
#endif

#if TN_PREEMPTION
    /* The fibre itself, and the handler that interrupts it: relaxed throughout, they are one thread. */
    _Atomic(bool) preempt_masked, preempt_due; /* due: while it was masked, a tick would have preempted it */
#endif

    struct local_block *locals;  /* the fibre itself: what tn_local_set has set; NULL: nothing */
    struct tn_timer timer;       /* under the timers' lock */
    struct token_entry entry;    /* with the token that its wait names; its group's has the scope's own */
    struct tn_cleanup *cleanups; /* the fibre itself: those it has pushed, the last one first */

    void *word; /* the module's, see tn_fibre_word */

    uint32_t exclusive_stack; /* of an unusual size: its pages; 0: from the pool */

    struct fibre *joins; /* the fibre itself, for diagnoses: whom it waits for in tn_join; NULL: it does not */

    struct fibre *next_block; /* of all control blocks of the runtime, living or not, constant */
    char *stack;              /* lowest usable byte; constant where stacks are pooled, else NULL when there is none */
#if !TN_STACKS_POOLED
    char *top;          /* one past the highest; where stacks are pooled that is this block */
    size_t stack_bytes; /* of the mapping */
#endif
#if TN_STACKS_SPLIT
    struct tn_split split;
#endif
    char name[16];
    struct tn_sanitize sanitize;
};

_Static_assert(offsetof(struct fibre, pub) == 0, "a tn_fibre is its fibre");
_Static_assert(sizeof(void *) < 8 || offsetof(struct fibre, fn) <= 2 * TN_CACHE_LINE, "two lines");

#include "stacks/stacks.h"

/* Behind it, on a line of its own: the module's state (fibre_size). */
enum { FIBRE_BYTES = (sizeof(struct fibre) + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE };

static inline char *stack_top(const struct fibre *f)
{
#if TN_STACKS_POOLED
    return (char *)(uintptr_t)f;
#else
    return f->top;
#endif
}

/* Between which addresses its frames lie, for back-traces. A split stack has further segments anywhere. */
static inline uintptr_t stack_low(const struct fibre *f)
{
    return TN_STACKS_SPLIT ? 1 : (uintptr_t)f->stack;
}

static inline uintptr_t stack_high(const struct fibre *f)
{
    return TN_STACKS_SPLIT ? UINTPTR_MAX : (uintptr_t)stack_top(f);
}

/* How far below its end the stack of a block in a slab of blocks begins. */
static inline size_t stack_colour(const struct tn_stacks *s, const struct fibre *f)
{
    return (uintptr_t)f / s->fibre_bytes % COLOURS * COLOUR_BYTES;
}

/* ---- workers ---- */

enum core_count {
    COUNT_SWITCH,
    COUNT_SPAWN,
    COUNT_EXIT,
    COUNT_YIELD,
    COUNT_YIELD_HARD,
    COUNT_YIELD_NULL,
    COUNT_WAIT,
    COUNT_WAKE,
    COUNT_MIGRATE,
    COUNT_REFUSED,
    COUNT_STEAL_TRY,
    COUNT_STEAL_HIT,
    COUNT_STOLEN,
    COUNT_ANNOUNCE,
    COUNT_PARK,
    COUNT_UNPARK,
    COUNT_WATCH,
    COUNT_TIMER,
    COUNT_POLL,
    COUNT_STACK_REFILL,
    COUNT_BLOCKING,
    COUNT_POOL_THREAD,
    COUNT_REPLACED,
#if TN_PREEMPTION
    COUNT_PREEMPT,
#endif
    COUNT_CORE
};
_Static_assert(COUNT_CORE + TN_MODULE_COUNTERS_MAX <= TN_COUNTERS_MAX, "tn_counters has room for all");

/* What others write into a worker's `due`: look up now; or the same, from the monitor, who will see whether the worker
 * has done so since. Both lie in the past of every tick. */
enum { DUE_NOW = 0 };
#define DUE_ASKED UINT32_MAX

/* What the next stack does for the one that was left, right after a switch: the one moment at which the former
 * fibre is surely off its stack ("switch, then register", 004 §3.3.7). */
enum after {
    AFTER_NOTHING,
    AFTER_YIELD,
    AFTER_PASS, /* a yield whose fibre the module has already */
    AFTER_READY,
    AFTER_SUSPEND,
    AFTER_EXIT,
    AFTER_MIGRATE,
    AFTER_HANDED_OVER,
    AFTER_PREEMPT
};

struct worker {
    struct tn_worker pub;

    /* owner only: the switch path */
    struct fibre *current; /* NULL while the worker's own loop runs */
    int *errno_at;
    struct tn_exceptions *exceptions_at; /* of its thread, or NULL */
    enum after after;
    enum tn_why after_why;
    struct fibre *after_fibre;
    bool (*after_commit)(struct fibre *self, void *arg);
    void *after_arg;
    struct fibre *then;      /* what the step on this worker's own stack goes on with (suspend.h) */
    uint32_t ticks, rounds;  /* scheduling points since it last looked up; times that it has */
    uint32_t looks, passing; /* look-ups; the next victim in passing */
    uint32_t yields;         /* soft yields, in a build that does not count them */
    uint32_t in_vain;        /* hard yields that found nothing */
    struct fibre *free;      /* cache of ended fibres, by pub.link */
    unsigned n_free;
    bool searching;
    bool brief;        /* what it has waited for, and no waker, ended its wait: one look around is enough */
    tn_time watch_ns;  /* how long the last watch was */
    struct fibre loop; /* the worker's own context, on its thread's stack */
    uint64_t counts[TN_COUNTERS_MAX];
#if TN_PREEMPTION
    struct tn_ticks ticks_of;
    struct tn_list preempted;    /* fibres that go on here and nowhere else (preempt.c) */
    bool preempt_turn;           /* whether the last fair choice was among them */
    struct fibre *preempt_fibre; /* at the last tick: what ran, and since which scheduling point */
    uint64_t preempt_point;
    unsigned preempt_tries; /* since then, of those that came at a bad moment */
#endif

    /* Of its fibres' choices (tn_waiting_random): not pub.random, since how often a worker looks for work is a matter of time. */
    uint64_t chances;

    /* anyone */
    _Alignas(TN_CACHE_LINE) _Atomic(uint32_t) due; /* ticks at which to look up from work; from others: DUE_* */
    _Atomic(bool) leave;
    _Atomic(uint32_t) *until; /* of the thread that has lent itself: no more 0 when it shall come back; or NULL */
    bool stuck;               /* the monitor's: it has not answered, and sleeps in the kernel */
    struct tn_idle_slot slot;

    /* for diagnoses */
    _Atomic(bool) alive;       /* its thread runs worker_main */
    _Atomic(uint32_t) parks;   /* times that it has announced to park */
    struct tn_stopped stopped; /* its thread, while a dump looks at it */
    uint64_t seen;             /* the watchdog's: its rounds and ticks at the last look */
    unsigned still;            /* and looks since they moved */

    /* under the cluster's life lock */
    struct tn_thread thread;
    bool lent; /* by tn_run, which goes on when the worker has ended; no other changes it meanwhile */
    enum { WORKER_EMPTY, WORKER_UNBORN, WORKER_RUNS, WORKER_LEAVING, WORKER_GONE } state;
};

/* ---- clusters and the runtime ---- */

struct cluster {
    struct tn_cluster pub;
    const struct tn_scheduler *sched; /* in a static build the constant TN_SCHED is used in its place */
    struct tn_idle idle;
    struct tn_timers timers;
    struct tn_keeper keeper;
    struct tn_room room;
    struct tn_thread keeper_thread; /* under life; 0: none */
    struct runtime *rt;
    void *poller;   /* the poller's state */
    unsigned calls; /* what it has done around calls (poller.h) */
    bool sched_ready, poller_open, joined;
    int64_t idle_mode, spin_us, pin, preempt_us;
    int64_t sched_knobs[TN_KNOBS_MAX], poller_knobs[TN_KNOBS_MAX];
    unsigned first_cpu;
    struct cluster *next;        /* the runtime's list */
    struct tn_spinlock life;     /* workers joining and leaving */
    bool ending;                 /* under life: its threads are being ended, and none is made any more */
    unsigned active;             /* under life: workers that are not leaving */
    unsigned extra, calm;        /* the monitor's: replacements among them; looks since they were last needed */
    uint64_t counts[COUNT_CORE]; /* the monitor's: what it counts */
};

/* Threads for calls that block; one pool a runtime (blocking.c). */
struct pool_thread;
struct blocking_pool {
    struct tn_pool calls;
    tn_time patience; /* how long a thread stays idle */
    struct tn_spinlock lock;
    struct pool_thread *all; /* under the lock */
};

/* Memory of fibre-local storage; one pool a runtime (local.c). */
struct local_block;
struct locals {
    struct tn_spinlock lock;
    struct local_block *all, *free; /* under the lock */
};

/* What looks after workers that are stuck in the kernel; one a runtime (monitor.c). */
struct monitor {
    struct tn_thread thread;
    tn_time period; /* 0: there is none */
    _Atomic(uint32_t) end;
};

struct runtime {
    struct tn_stacks stacks;
    struct blocking_pool blocking;
    struct monitor monitor;
    struct locals locals;
    unsigned process;                   /* tn_process() when it was started */
    struct tn_spinlock lock;            /* clusters */
    _Atomic(struct cluster *) clusters; /* written under the lock; read without it by diagnoses */
    struct cluster *first;
    struct worker *lent;       /* the worker that tn_run's thread is; NULL: the thread only waits */
    struct tn_joiner *joiners; /* under the lock */
    _Atomic(bool) stopping;
    struct tn_visitors visitors;
    uint64_t seed;
    unsigned next_cpu;
    size_t stack_room; /* what preemption needs of each stack beyond what was asked for; 0: there is none */
    struct diagnosis diagnosis;
};

static inline struct fibre *fibre_of(struct tn_fibre *f)
{
    return (struct fibre *)(void *)f;
}
static inline struct cluster *cluster_of(struct tn_cluster *c)
{
    return (struct cluster *)(void *)c;
}
/* A fibre's runtime, whoever asks: the cluster may change meanwhile, but only to another one of that runtime. */
static inline struct runtime *runtime_of(struct tn_fibre *f)
{
    /* relaxed: either of the two will do, and both were published before the fibre was */
    return cluster_of(atomic_load_explicit((_Atomic(struct tn_cluster *) *)&f->cluster, memory_order_relaxed))->rt;
}
static inline struct worker *worker_of(struct tn_worker *w)
{
    return (struct worker *)(void *)w;
}

#if TN_OBSERVE
#define COUNT_N(w, what, n)                                                                                     \
    atomic_store_explicit((_Atomic(uint64_t) *)&(w)->counts[what],                                              \
                          atomic_load_explicit((_Atomic(uint64_t) *)&(w)->counts[what], memory_order_relaxed) + \
                              (uint64_t)(n),                                                                    \
                          memory_order_relaxed) /* one writer; readers want no more than each value whole */
#else
#define COUNT_N(w, what, n) ((void)(w))
#endif
#define COUNT(w, what) COUNT_N(w, what, 1)

/* How many yields, since a turn hangs on it: where they are counted, one counter serves both. */
static inline uint64_t count_yield(struct worker *w)
{
#if TN_OBSERVE
    COUNT(w, COUNT_YIELD);
    return atomic_load_explicit((_Atomic(uint64_t) *)&w->counts[COUNT_YIELD],
                                memory_order_relaxed); /* relaxed: own */
#else
    return ++w->yields;
#endif
}

/* ---- hot.c ---- */
void token_forget(struct fibre *f, void *); /* it has been dropped, and may wait with a token */
void *worker_main(void *worker);
void *keeper_main(void *cluster);
/* By a plain thread, which is w until f has ended; NULL: it only waits. */
int join_as_worker(struct fibre *f, void **value, struct worker *w);
void cluster_kick(struct cluster *cl); /* every worker looks up from its work soon */
const struct tn_scheduler *binding_find(const char *name, size_t length, bool *said);
const struct tn_scheduler *const *binding_all(size_t *n);
extern const struct tn_poller *const binding_poller;
extern const char binding_kind[];

/* ---- local.c ---- */
struct worker *locals_end(struct fibre *f);
void locals_fini(struct locals *l);

/* ---- blocking.c, monitor.c ---- */
void blocking_init(struct blocking_pool *pool, unsigned max, tn_time patience);
void blocking_fini(struct blocking_pool *pool);
bool blocking_is_self(struct blocking_pool *pool);
bool blocking_threads(struct blocking_pool *pool, unsigned *idle, unsigned *all);
int monitor_start(struct runtime *rt, tn_time period);
void monitor_stop(struct runtime *rt);

/* ---- runtime.c ---- */

/* Did the runtime's threads stay behind in a parent, when this process was forked off? Then there are locks in it that
 * nobody will ever release: only what is constant may be touched. Asked where plain threads come in; a fibre cannot be
 * there, since in such a child tn_self() is NULL. Says so on standard error, once a process. */
bool left_behind_in_parent(struct runtime *rt);

/* Around the wait of a plain thread in tn_join. False: the runtime stops. */
bool joiner_begins(struct runtime *rt, struct tn_joiner *t);
void joiner_ends(struct runtime *rt, struct tn_joiner *t);

/* ---- module.c: 0, or one line on standard error and EINVAL ---- */

int module_check(const struct tn_scheduler *s);
/* Of cluster_init and worker_init; an errno value is passed on. */
int module_answer(const struct tn_scheduler *s, int rc);
int module_room(const struct tn_scheduler *s, const struct tn_stacks *stacks);
void module_drain(struct cluster *cl);                           /* says it if the module keeps some */
void module_misplaced(const struct tn_scheduler *s, int answer); /* of ready(); ends the program */

/* ---- slots.c ---- */

/* Under life, all along: tn_stop and tn_workers_remove see a worker with its thread, or none. */
enum worker_from { WORKER_ANEW, WORKER_ON_DEMAND, WORKER_LENT };
int cluster_add_worker(struct cluster *cl, enum worker_from from);
int worker_start(struct worker *w);
void keeper_start(struct cluster *cl);
void worker_ended(struct worker *w);

/* ---- fault.c ---- */
void fault_tell(uintptr_t address, uintptr_t sp);

/* ---- config.c ---- */
int config_resolve(const struct tn_config *given, struct tn_config *out);
extern const struct tn_knob config_knobs[];
extern const size_t n_config_knobs;

/* What a source work calls its default, by a name: a module with its knobs, and what a worker without work does, where
 * nothing else says that. docs/modules.md writes them out. */
struct preset {
    const char *name, *stands_for;
    int64_t idle;
};
extern const struct preset config_presets[];
extern const size_t n_config_presets;

/* ---- counters of the core ---- */
extern const struct tn_counter_row core_counters[COUNT_CORE];

/* ---- binding: generated by meson ---- */
#ifndef TN_LOCK_CHECK
#define TN_LOCK_CHECK 0
#endif
#ifndef TN_FORCE_MIGRATION
#define TN_FORCE_MIGRATION 0
#endif

/* ---- io/descriptors.c ---- */
void io_forget(struct runtime *rt); /* descriptors that its fibres waited for are nobody's */

/* ---- wait.c: tn_wake in two steps ---- */

/* Decides the wait. TN_DECIDED_PARKED: the fibre is the caller's, who makes it ready. */
enum tn_decision tn_wake_decide(tn_waiter waiter);
void tn_wake_resume(tn_fibre *fibre);

#endif
