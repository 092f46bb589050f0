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
#include "joinword.h"
#include "keeper.h"
#include "sanitize.h"
#include "suspend.h"
#include "timers.h"
#include "queues/spinlock.h"

#include <string.h>

#define TN_LINE 64

/* ---- fibres ---- */

/* fibre.join: see joinword.h; fibre.wait: see waitword.h. */
struct fibre {
    struct tn_fibre pub;

    /* the fibre itself, on whatever worker it runs */
    void *(*fn)(void *);
    void *value; /* argument, then result */
    int saved_errno;
    uint32_t exclusive_stack; /* of an unusual size: its pages; 0: from the pool */

    /* anyone */
    tn_joinword join;
    _Atomic(uint64_t) wait;
#if TN_SUSPENSION == TN_SUSPENSION_LOCK
    struct tn_spinlock wait_lock; /* handed over: see waitlock.h */
#endif

    struct tn_timer timer;                /* under the timers' lock */
    struct fibre *token_next, **token_at; /* under the token's lock */

    char *stack; /* lowest usable byte, constant */
    char name[16];
    struct tn_sanitize sanitize;
};

_Static_assert(offsetof(struct fibre, pub) == 0, "a tn_fibre is its fibre");

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
    COUNT_PARK,
    COUNT_UNPARK,
    COUNT_WATCH,
    COUNT_TIMER,
    COUNT_POLL,
    COUNT_STACK_REFILL,
    COUNT_CORE
};

/* What the next stack does for the one that was left, right after a switch: the one moment at which the former
 * fibre is surely off its stack ("switch, then register", 004 §3.3.7). */
enum after { AFTER_NOTHING, AFTER_YIELD, AFTER_READY, AFTER_SUSPEND, AFTER_EXIT, AFTER_MIGRATE, AFTER_HANDED_OVER };

struct worker {
    struct tn_worker pub;

    /* owner only: the switch path */
    struct fibre *current; /* NULL while the worker's own loop runs */
    int *errno_at;
    enum after after;
    enum tn_why after_why;
    struct fibre *after_fibre;
    bool (*after_commit)(struct fibre *self, void *arg);
    void *after_arg;
    struct fibre *then;       /* what the step on this worker's own stack goes on with (suspend.h) */
    uint32_t ticks;           /* scheduling points */
    uint32_t looks, passing;  /* look-ups; the next victim in passing */
    uint32_t yields, in_vain; /* soft yields; hard ones that found nothing */
    struct fibre *free;       /* cache of ended fibres, by pub.link */
    unsigned n_free;
    bool searching;
    bool brief;        /* it has parked and nobody woke it: one look around is enough */
    tn_time watch_ns;  /* how long the last watch was */
    struct fibre loop; /* the worker's own context, on its thread's stack */
    uint64_t counts[TN_COUNTERS_MAX];

    /* anyone */
    _Alignas(TN_LINE) _Atomic(uint32_t) due; /* ticks at which to look up from work; 0 from others: now */
    _Atomic(bool) leave;
    struct tn_idle_slot slot;

    /* under the cluster's life lock */
    struct tn_thread thread;
    enum { WORKER_EMPTY, WORKER_UNBORN, WORKER_RUNS, WORKER_LEAVING, WORKER_GONE } state;
};

/* ---- clusters and the runtime ---- */

struct cluster {
    struct tn_cluster pub;
    const struct tn_scheduler *sched; /* in a static build the constant TN_SCHED is used in its place */
    struct tn_idle idle;
    struct tn_timers timers;
    struct tn_keeper keeper;
    struct tn_thread keeper_thread; /* under life; 0: none */
    void *poller;                   /* the poller's state */
    bool sched_ready, poller_open, joined;
    _Atomic(bool) in_poller; /* an idle worker waits in the poller in place of parking */
    int64_t idle_mode, spin_us, pin;
    int64_t sched_knobs[TN_KNOBS_MAX], poller_knobs[TN_KNOBS_MAX];
    unsigned first_cpu;
    struct runtime *rt;
    struct cluster *next;    /* the runtime's list */
    struct tn_spinlock life; /* workers joining and leaving */
    unsigned active;         /* under life: workers that are not leaving */
};

/* Stacks of the default size, in slabs; one pool a runtime (stack.c). */
struct stack_slab;
enum { STACK_BATCH = 32, STACK_CACHE = 128, STACK_CLASSES = 160 };
struct tn_stacks {
    size_t stride, usable; /* bytes from one stack to the next; of a stack without its guard */
    size_t fibre_bytes;    /* control block with module state, rounded to lines */
    struct tn_spinlock lock;
    struct fibre *free;               /* under the lock: chains of BATCH, linked by the first's token_next */
    struct fibre *odd[STACK_CLASSES]; /* under the lock: ended ones of other sizes, linked by token_next */
    struct stack_slab *slabs;         /* under the lock */
    unsigned colour;                  /* under the lock */
};

struct runtime {
    struct tn_stacks stacks;
    struct tn_spinlock lock; /* clusters */
    struct cluster *clusters, *first;
    _Atomic(bool) stopping;
    _Atomic(uint32_t) visitors; /* threads of outside that make a fibre ready right now */
    uint64_t seed;
    unsigned next_cpu;
};

static inline struct fibre *fibre_of(struct tn_fibre *f)
{
    return (struct fibre *)(void *)f;
}
static inline struct worker *worker_of(struct tn_worker *w)
{
    return (struct worker *)(void *)w;
}
static inline struct cluster *cluster_of(struct tn_cluster *c)
{
    return (struct cluster *)(void *)c;
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

/* ---- stack.c ---- */
int stacks_init(struct tn_stacks *s, size_t usable, size_t state_bytes);
void stacks_fini(struct tn_stacks *s);
/* A fibre with a stack: from the pool (a chain of several, linked by pub.link; *n tells how many) or, for an
 * unusual size, of its own. NULL: no memory. */
struct fibre *stacks_take(struct tn_stacks *s, unsigned *n);
void stacks_give(struct tn_stacks *s, struct fibre *chain, unsigned n);
struct fibre *stacks_take_odd(struct tn_stacks *s, size_t usable);
void stacks_give_odd(struct tn_stacks *s, struct fibre *f);

/* ---- hot.c ---- */
void *worker_main(void *worker);
void *keeper_main(void *cluster);
void cluster_kick(struct cluster *cl); /* every worker looks up from its work soon */
const struct tn_scheduler *binding_find(const char *name, size_t length);
const struct tn_scheduler *const *binding_all(size_t *n);
extern const struct tn_poller *const binding_poller;
extern const char binding_kind[];

/* ---- runtime.c ---- */
int worker_start(struct worker *w);
void keeper_start(struct cluster *cl);
void worker_ended(struct worker *w);

/* ---- config.c ---- */
int config_resolve(const struct tn_config *given, struct tn_config *out);
extern const struct tn_knob config_knobs[];
extern const size_t n_config_knobs;

/* ---- counters of the core ---- */
extern const struct tn_counter_row core_counters[COUNT_CORE];

/* ---- binding: generated by meson ---- */
#ifndef TN_FORCE_MIGRATION
#define TN_FORCE_MIGRATION 0
#endif

#endif
