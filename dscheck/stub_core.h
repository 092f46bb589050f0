/* SPDX-License-Identifier: MIT */
/*
 * A core without fibres, in which scheduler modules are explored: workers are threads of the case, fibres are tokens
 * that are handed to ready() and come out of next().  What the core promises to modules (core/scheduler.h) and what it
 * does around them (stealing, parking, waking, the watch) it does here as core/worker.c and core/switch.c do, on the
 * shipped idle.h.
 *
 * It checks what a module owes: a fibre that was made ready comes out exactly once, and only then.
 *
 * A case includes the module's .c file and stub_core.c, and supplies the platform (cases/protocol-case.h).
 */
#ifndef DSCHECK_STUB_CORE_H
#define DSCHECK_STUB_CORE_H

#include "scheduler.h"
#include "idle.h"

enum { STUB_WORKERS = 3, STUB_FIBRES = 6, STUB_KNOBS = 24, STUB_STATE = 4 };

struct stub_worker {
    struct tn_worker pub;
    struct tn_idle_slot slot;
    bool searching;   /* its own */
    bool asleep;      /* its own: it begins so */
    unsigned ticks;   /* its own: yields */
    tn_time watch_ns; /* its own */
};

/* All plain: whoever owns the fibre owns them, and the module's queues must order that. */
struct stub_fibre {
    struct tn_fibre pub;
    void *word;                 /* the module's */
    uint64_t state[STUB_STATE]; /* the module's */
    bool ready;
    int made, runs; /* how often it was made ready, and ran */
};

struct stub_setting {
    const char *knob;
    int64_t value;
};

static struct tn_cluster stub_cluster;
static struct stub_worker stub_worker[STUB_WORKERS];
static struct stub_fibre stub_fibre[STUB_FIBRES];

/* Fresh state: a cluster of n workers under `sched`, with knobs at their defaults but for `settings`, which end with a
 * NULL.  stub_fini drains, and checks that each fibre ran or was drained as often as it was made ready. */
static inline void stub_init(const struct tn_scheduler *sched, unsigned n, const struct stub_setting *settings);
static inline void stub_fini(void);

/* By the owner of the fibre: make it ready on worker `me`, or from outside with NULL. */
static inline void stub_ready(struct stub_worker *me, struct stub_fibre *f, enum tn_why why);

/* `spawner`, which runs on `me`, spawns f. Where the module says so f runs at once, and the spawner is made ready. False: the
 * module refused f. */
static inline bool stub_spawn(struct stub_worker *me, struct stub_fibre *spawner, struct stub_fibre *f);

/* `f`, which runs on `me`, yields. Returns who runs then; f itself where there is nobody else. */
static inline struct stub_fibre *stub_yield(struct stub_worker *me, struct stub_fibre *f);

/* One call of next() or steal(); a fibre that next() returns runs. */
static inline struct stub_fibre *stub_next(struct stub_worker *me, bool hard);
static inline unsigned stub_steal(struct stub_worker *me, struct stub_worker *victim);

/* Before the threads are there: the worker has parked, and looked in vain; its loop goes on from there. */
static inline void stub_asleep(struct stub_worker *me);

/* The worker's loop until it has a fibre to run: next, search, park.  It goes on for as long as there is none. */
static inline struct stub_fibre *stub_get(struct stub_worker *me);

/* Before the threads are there: the last worker is none yet; on its thread: it becomes one. */
static inline void stub_absent(struct stub_worker *me);
static inline void stub_join(struct stub_worker *me);

/* The worker leaves; the caller uses it no more. */
static inline void stub_leave(struct stub_worker *me);

#endif
