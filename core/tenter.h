/* SPDX-License-Identifier: MIT
 *
 * Tenter: fibres (user-level threads) for C, scheduled M:N on worker threads.
 *
 * Conventions that hold for every function here:
 *  - Errors are returned: 0, or a positive errno value. errno itself is never used for reporting.
 *  - Times are nanoseconds of the monotonic clock, as tn_now() gives them; deadlines are absolute.
 *  - "Who": *fibre* means that only a fibre may call it, any other thread gets EPERM; *any* means fibres and
 *    plain threads alike.
 *  - "Blocks": the calling fibre (or thread) may be suspended. A fibre that is suspended, or that yields, may
 *    go on on another worker thread: thread-local addresses must not be kept over such a call. errno is
 *    carried along: it belongs to the fibre, in sources that include this header (tn_errno). So is, in a program with
 *    C++, what belongs to the exceptions that are being handled: a fibre may switch inside a catch block. An exception
 *    must not leave the fibre's function.
 *  - A pointer is valid unless its description allows NULL, and what it points to has not ended: a runtime that was
 *    stopped, a fibre that was joined. A fibre ends by return or tn_exit, never by pthread_exit (which ends the
 *    program with a message).
 *  - In a signal handler only tn_dump and what merely looks may be called: tn_now, tn_fibre_self, tn_worker_self,
 *    tn_cluster_self, tn_local_get, tn_token_fired.
 */
#ifndef TENTER_H
#define TENTER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_API __attribute__((visibility("default")))

typedef struct tn_runtime tn_runtime; /* workers, clusters, stacks; several may live in one process */
typedef struct tn_cluster tn_cluster; /* a set of workers under one scheduler module (000 §3.2) */
typedef struct tn_fibre tn_fibre;     /* a user-level thread */
typedef uint64_t tn_time;             /* nanoseconds, monotonic */

#define TN_FOREVER UINT64_MAX /* a deadline that never comes */

/* ---------------------------------------------------------------------------------------- configuration -- */

/* Values of the runtime's knobs. Start from TN_CONFIG_INIT. What is left at TN_UNSET (or NULL) is taken from
 * the environment (TENTER_WORKERS=4, TENTER_SCHEDULER=lifo:private=16), and where that says nothing, from the
 * default. `./tenter list` shows each with its range. A variable TENTER_… that nobody knows is an error, and so is one whose
 * value is none for its knob, whether or not the program sets that knob itself. */
#define TN_UNSET INT64_MIN

struct tn_config {
    int64_t workers;    /* threads that run fibres; 0: one for each processor that this process may use */
    int64_t slots;      /* the most workers the cluster may grow to; 0: the greater of workers, processors; with a
                              monitor 64 more */
    int64_t stack;      /* bytes of a fibre's stack, guard not counted; pooled ones hold its control block too, up
                              to 3 KiB */
    int64_t idle;       /* what a worker without work does: TN_IDLE_* */
    int64_t spin_us;    /* TN_IDLE_SPIN_BLOCK: microseconds of looking for work before the worker blocks */
    int64_t pin;        /* 1: pin each worker to a processor of its own */
    int64_t on_demand;  /* 1: start a worker thread only when there is work that nobody else can take */
    int64_t seed;       /* seed of every random choice */
    int64_t pool;       /* the most threads that run blocking calls (tn_blocking) */
    int64_t pool_ms;    /* milliseconds that such a thread stays when there is nothing to do */
    int64_t monitor_us; /* microseconds between two looks of a monitor that replaces stuck workers; 0: none */
    int64_t
        preempt_us; /* microseconds of computing after which a fibre gives way to others, if they are ready, whether it
                              calls anything or not; 0: never. Needs meson -Dpreemption=true; docs/preemption.md */
    int64_t deadlock;      /* what happens when every fibre is blocked for ever: TN_DEADLOCK_* */
    int64_t stall_ms;      /* a watchdog tells what has not moved for so many milliseconds; 0: none */
    int64_t sigquit;       /* what SIGQUIT does: TN_SIGQUIT_* */
    const char *scheduler; /* module and knobs, as "fifo:layout=local:capacity=128"; without a name: the first one */
    const char *poller;    /* poller and knobs */
};

enum { TN_IDLE_BLOCK, TN_IDLE_SPIN, TN_IDLE_SPIN_BLOCK }; /* 000 §3.2.3 */

/* When all fibres of the process's runtimes are blocked and nothing can wake one (no timer, no descriptor, no
 * tn_blocking, and every other thread of the process waits in tn_join): nothing, a dump, or a dump and abort(). One is
 * noticed within about a second. Otherwise a program that does nothing any more is at most a stall, which `stall_ms`
 * watches for. */
enum { TN_DEADLOCK_OFF, TN_DEADLOCK_DUMP, TN_DEADLOCK_ABORT };

/* SIGQUIT, where the program has not set it otherwise before tn_start: left alone; a dump of every runtime; a dump, and
 * then what it does by default, which is death with a core file. */
enum { TN_SIGQUIT_OFF, TN_SIGQUIT_DUMP, TN_SIGQUIT_DIE };

#define TN_CONFIG_INIT /* in the order of the members: C++ before C++20 has no other way */                 \
    {                                                                                                       \
        TN_UNSET, TN_UNSET, TN_UNSET, TN_UNSET, TN_UNSET, TN_UNSET, TN_UNSET, TN_UNSET, TN_UNSET, TN_UNSET, \
            TN_UNSET, TN_UNSET, TN_UNSET, TN_UNSET, TN_UNSET, NULL, NULL                                    \
    }

/* -------------------------------------------------------------------------------------------- life cycle -- */

/* fork(). Only the calling thread goes along into the child: no worker does. It is a plain thread there, also where a
 * fibre has called fork, and the parent's runtimes are refused to it: what changes or waits for something of them returns
 * EPERM (tn_wake false, tn_workers 0), and one line on standard error says why. It may exec; it may go on, and start a
 * runtime of its own. But the function of a fibre must not return there (that ends the child with a message): its
 * worker is not there to take over. A token of the parent is the child's own there: fired or not as it was at the fork, and
 * with it wait the child's fibres only. What others of the parent waited for (tenter_sync.h) is handed over to nobody who is
 * not there; what they held, or were just then at, stays locked, as under pthreads. */

/* Start a runtime with one cluster. `config` may be NULL.
 * Who: any thread. Blocks: briefly. Errors: EINVAL a knob or a variable TENTER_… is unknown, or a knob out of range
 * (one line on standard error names the nearest or the range), or the scheduler module is not as it must be (one line
 * says how), ENOMEM, EAGAIN no thread could be made. */
TN_API int tn_start(tn_runtime **out, const struct tn_config *config);

/* Stop a runtime: workers end at their next scheduling point, every fibre that has not ended is dropped (its
 * stack is released, nothing on it is run). Let fibres end first, by joining them, where that matters.
 * A plain thread that waits in tn_join gives up (ECANCELED). Tokens that dropped fibres wait with forget them; nothing else
 * does: what they wait for, or hold, of tenter_sync.h and tenter_channel.h must not be touched by others any more, not even
 * to destroy it, until it is initialised anew. So is it after tn_run, which stops the runtime when its first fibre has ended.
 * Calls of tn_blocking that are under way are waited for, and so is a worker that is stuck in the kernel.
 * Who: a thread that is no worker of it. Blocks: until the workers have ended.
 * Errors: EPERM from a fibre of this runtime, or from a call in its pool (tn_blocking). */
TN_API int tn_stop(tn_runtime *rt);

/* Start a runtime, run `fn(arg)` as its first fibre, named "main", stop the runtime when that returns.
 * With one worker that is not pinned the calling thread is that worker: the program has no second thread, and calls on
 * descriptors are cheaper for that. A signal may find it on a fibre's stack: long handlers want SA_ONSTACK. Else it waits.
 * Who: any thread that is no worker. Blocks. Errors: those of tn_start and tn_spawn; EPERM from a fibre. */
TN_API int tn_run(const struct tn_config *config, void *(*fn)(void *), void *arg, void **value);

/* One more cluster, with the knobs workers, slots, idle, spin_us, pin, on_demand, scheduler of `config`.
 * With several modules in the build (meson -Dschedulers=fifo,lifo) each cluster may have its own (003 §1.1).
 * `rt` may be NULL for a fibre: its own runtime. It lives until tn_stop; on an error nothing is left of it.
 * Who: any. Blocks: briefly. Errors: as tn_start; EPERM a plain thread named no runtime. */
TN_API int tn_cluster_create(tn_runtime *rt, const struct tn_config *config, tn_cluster **out);

/* The cluster that tn_start made. Who: any. */
TN_API tn_cluster *tn_cluster_first(tn_runtime *rt);

/* Let n more workers join the cluster, or let n leave it. One that leaves does so at its next scheduling point
 * and hands its work on. Who: any. Blocks: add briefly, remove not at all.
 * Errors: EAGAIN beyond the cluster's slots or no thread, ENOMEM (as many as could be have joined; tn_workers tells);
 * EINVAL if none would be left; EAGAIN from remove where fewer can leave for the moment, since a worker that is only
 * just being started is not removed, nor the last that runs. */
TN_API int tn_workers_add(tn_cluster *cluster, unsigned n);
TN_API int tn_workers_remove(tn_cluster *cluster, unsigned n);

/* The slot of the worker that runs the calling fibre, from 0; -1 on a plain thread. It holds until the next call that may
 * migrate. Who: any. */
TN_API int tn_worker_self(void);

/* The native handle of the thread of that worker (Linux: a pthread_t), for what only the system can do with it: its name,
 * its priority, its processor time. It is valid until that worker leaves or the runtime stops.
 * Who: any. Blocks: no. Errors: EINVAL no such slot; ESRCH no thread there: not started yet, or gone. */
TN_API int tn_worker_thread(const tn_cluster *cluster, unsigned worker, uintptr_t *handle);

/* Workers in the cluster now (those that are leaving not counted). Who: any. */
TN_API unsigned tn_workers(const tn_cluster *cluster);

/* ----------------------------------------------------------------------------------------------- fibres -- */

#define TN_STACK_MAX    ((size_t)1 << 30)
#define TN_PRIORITY_MAX 31

/* What a spawn does where the module has no room, and is to refuse then (its knob full=refuse; 003 §4.4.7), or where the group has
 * none (tn_group_bound). */
enum {
    TN_FULL_REFUSE,  /* EAGAIN */
    TN_FULL_WAIT,    /* waits until there is room, or `deadline` */
    TN_FULL_OVERFLOW /* goes where a woken fibre goes, which is never refused */
};

struct tn_attr {
    const char *name;    /* copied, cut to 15 characters; shown in diagnoses */
    size_t stack;        /* bytes, a page to TN_STACK_MAX; 0: the runtime's default */
    tn_cluster *cluster; /* NULL: the spawner's; required from a plain thread unless `runtime` is given */
    tn_runtime *runtime; /* for plain threads: spawn in this runtime's first cluster */
    bool detached;       /* its resources go when it ends; nobody may join it */
    int priority; /* up to ±TN_PRIORITY_MAX, the greater the more urgent; what it means is the module's (multiq, pushing) */
    bool
        background; /* runs only where nothing else does, also if others wait for it by yielding; where the module has a
                        queue for that (pushing) */
    struct tn_group *group; /* in which it is a member, open (tenter_group.h); NULL: in none */
    int full;               /* TN_FULL_… */
    tn_time deadline;       /* of TN_FULL_WAIT; 0: none */
};

/* Make a fibre that runs `fn(arg)`. With `out` NULL it is detached. `attr` may be NULL in a fibre.
 * Which of the two goes on first, and where the new one is placed, is the scheduler module's choice. On an error
 * *out is NULL.
 * Who: any. Blocks: under TN_FULL_WAIT; else never, but the caller may be moved behind the new fibre and so migrate.
 * Errors: EAGAIN the module's bounded queue is full and its knob says to refuse (003 §7.1.1), or the group is full; ETIMEDOUT
 * there was no room until `deadline`; ECANCELED the group is cancelled, or (TN_FULL_WAIT) the caller is; ENOMEM no stack,
 * EPERM a plain thread named neither cluster nor runtime, EINVAL stack too small or too large, priority out of range, no such
 * `full`. */
TN_API int tn_spawn(tn_fibre **out, const struct tn_attr *attr, void *(*fn)(void *), void *arg);

/* Wait until `f` ends, take its value (value may be NULL), release it. Exactly one join or detach a fibre.
 * tn_join_until gives up at `deadline` or when `token` fires: then `f` is untouched and may be joined again.
 * Who: any (deadline and token: fibre); a fibre joins those of its own runtime. Blocks.
 * Errors: EDEADLK a fibre joins itself, EINVAL already joined, detached or being joined, EPERM it is another runtime's,
 * ETIMEDOUT, ECANCELED `token` has fired; on a plain thread, the runtime was stopped. ENOMEM as tn_wait: `f` is
 * untouched. */
struct tn_token;
TN_API int tn_join(tn_fibre *f, void **value);
TN_API int tn_join_until(tn_fibre *f, void **value, tn_time deadline, struct tn_token *token);

/* Give up the right to join. Who: any. Blocks: no. Errors: EINVAL already joined, detached or being joined. */
TN_API int tn_detach(tn_fibre *f);

/* End the calling fibre with `value`. Who: fibre (a plain thread aborts with a message). */
TN_API void tn_exit(void *value) __attribute__((noreturn));

/* How large f's stack is, and how many bytes of it have been in use at most: since it was made, by `f` or by a fibre
 * that had it before (as exact as a word that was never written can tell). tn_stack_peak: the most of any stack of the
 * runtime, those of ended fibres included: what a smaller `stack` must still hold. 0: it cannot be told (stacks=malloc,
 * split). A few microseconds for tn_stack_used; tn_stack_peak looks at every stack. Who: any; `f` has not been
 * joined, nor ended if it is detached. Blocks: no. */
TN_API size_t tn_stack_size(const tn_fibre *f);
TN_API size_t tn_stack_used(const tn_fibre *f);
TN_API size_t tn_stack_peak(tn_runtime *rt);

/* The calling fibre, or NULL on a plain thread. Its name, its cluster. Who: any. */
TN_API tn_fibre *tn_fibre_self(void);
TN_API const char *tn_fibre_name(const tn_fibre *f);
TN_API tn_cluster *tn_cluster_self(void);

/* Where errno is at this moment: on the thread that runs the caller. Compilers may keep the address that <errno.h> gives
 * over any call, also over one after which the fibre is on another thread; so this header puts tn_errno in its place.
 * Sources may include <errno.h> or <cerrno> before or after. Code that is compiled without this header, as a library that
 * calls back, should not expect to find its errno after a callback that has switched. Who: any. Blocks: no. */
TN_API int *tn_errno(void);
#undef errno
#define errno (*tn_errno())

/* Let others run (003 §4.4.4). A soft yield may prefer fibres of the same worker; every 64th one, and every one
 * while some worker of the cluster is idle, is hard: the caller goes to the cluster's yield queue, behind
 * whatever any worker has yielded there. Who: any (a plain thread yields its processor). */
TN_API void tn_yield(void);
TN_API void tn_yield_hard(void);

/* While it is masked the calling fibre is not preempted (docs/preemption.md), also after it has waited or migrated; what
 * came too early takes effect when the mask is lifted. For a section in which it holds what another fibre of the worker
 * would block the thread for, as a lock of the C library, or has to be alone on its worker. Returns what was set before,
 * to be set again. Who: any (no fibre, or a build that never preempts: false, and nothing is done). Blocks: no; to lift
 * the mask may let others run, as being preempted does, and the caller stays on its worker. */
TN_API bool tn_preempt_mask(bool masked);

/* Suspend the calling fibre until `deadline`, or for `ns`. A deadline in the past is a soft yield.
 * Who: fibre. Blocks. Errors: EPERM; ECANCELED when `token` fires first; ENOMEM as tn_wait. */
TN_API int tn_sleep_until(tn_time deadline, struct tn_token *token);
TN_API int tn_sleep(uint64_t ns);

/* Move the calling fibre to another cluster of its runtime (000 §3.2). Returns on a worker of that cluster.
 * Who: fibre. Blocks. Errors: EPERM, EINVAL another runtime's cluster. */
TN_API int tn_migrate(tn_cluster *cluster);

/* Go on in a stage, counted from 0, of the scheduler of the fibre's cluster (003 §4.3.2): on a worker of the pool that the
 * module keeps for it, where there may be a queue. Each fibre begins in stage 0, and a fibre that yields or is
 * woken stays in its stage. Under a module without stages, and where the fibre is there already, nothing happens: so a
 * program that says its stages runs under every module.
 * Who: fibre. Blocks: no, but the caller may migrate. Errors: EPERM, EINVAL the module has stages, not that one. */
TN_API int tn_stage(unsigned stage);

/* ---------------------------------------------------------------------------------- fibre-local storage -- */

/* A key is an object of the program, in static memory as a rule: static tn_key mine = {free}; There is nothing to
 * create, and no limit to their number. It must stay until no fibre holds a value under it.
 *
 * At the end of a fibre the destructor of each of its values is called with it, in that fibre, the latest place first:
 * before those who join it are told. It may do whatever a fibre may, block and yield too, and set values again, which
 * are destroyed in their turn; what is still there after four times as many calls as there is room for is forgotten.
 * For a fibre that tn_stop drops no destructor is called. A fibre that sets nothing pays nothing; one that does holds
 * 112 bytes for each six values. */
typedef struct tn_key {
    void (*destructor)(void *value); /* may be NULL */
} tn_key;

/* Set the calling fibre's value (NULL: none, and no destructor). Who: fibre. Blocks: no. Errors: EPERM, ENOMEM. */
TN_API int tn_local_set(const tn_key *key, void *value);

/* The calling fibre's value, NULL if it has set none. Who: any (a plain thread gets NULL). Blocks: no. */
TN_API void *tn_local_get(const tn_key *key);

/* ---------------------------------------------------------------------------------------------- waiting -- */

/* The one wait primitive; everything that blocks is built on it (004 §3.3.6 gives the protocol).
 *
 *     tn_waiter w = tn_wait_prepare();   // 1. from here on w may be woken
 *     publish(w);                        // 2. let others find it
 *     int rc = tn_wait(deadline, token); // 3. 0 woken, ETIMEDOUT, ECANCELED
 *
 * Nothing that may block comes between 1 and 3: a fibre has one wait at a time, and another one would take its place.
 * A wake-up between 1 and 3 is not lost: tn_wait then returns at once. The outcome is decided by one
 * compare-and-exchange; a tn_wake that comes too late returns false and changes nothing. It looks at the fibre's
 * memory, which stays valid as long as the runtime does: a stale waiter is harmless until then. */
typedef struct tn_waiter {
    tn_fibre *fibre;
    uint64_t seq;
} tn_waiter;

/* Who: fibre (a plain thread gets a waiter with fibre == NULL). Blocks: no. */
TN_API tn_waiter tn_wait_prepare(void);

/* A deadline that is past (0 is) lets others run once, as a yield does, and is ETIMEDOUT unless a wake-up was first. One
 * in the future is never early; docs/architecture.md says how late it may be. Who: fibre, after tn_wait_prepare. Blocks.
 * Errors: EPERM, ETIMEDOUT, ECANCELED, ENOMEM no room for the timer (-Dtimers=heap only). */
TN_API int tn_wait(tn_time deadline, struct tn_token *token);

/* What the wait that was prepared last is for, in diagnoses: a static string as "mutex", and an address that tells it
 * from others. It holds for this wait only. Who: fibre, between tn_wait_prepare and tn_wait. Blocks: no. */
TN_API void tn_wait_note(const char *what, const void *object);

/* True if this call decided the outcome. Who: any. Blocks: no. */
TN_API bool tn_wake(tn_waiter w);

/* The three steps in one call: publish(waiter, arg) lets others find the caller, which is suspended until it is woken.
 * When publish is called, and on which stack, is the build's choice (-Dsuspension=…, 004 §3.3.6–7): before the caller
 * leaves its stack or, under `utility` and with neither deadline nor token, only after it has. So publish may wake
 * (tn_wake, this waiter too) and lock and unlock what spins; it calls nothing else of Tenter, and does not block. When
 * it has let anybody find the waiter, `arg` may be gone. Who: fibre. Blocks. Errors: as tn_wait. */
TN_API int tn_suspend(void (*publish)(tn_waiter waiter, void *arg), void *arg, tn_time deadline,
                      struct tn_token *token);

/* Cancellation token: fires once, wakes all that wait with it, and whoever waits later does not block.
 * The memory is the caller's; it must outlive the waits that use it. */
typedef struct tn_token {
    void *opaque[4];
} tn_token;

TN_API void tn_token_init(tn_token *t);        /* Who: any, before use */
TN_API void tn_token_fire(tn_token *t);        /* Who: any. Blocks: no. */
TN_API bool tn_token_fired(const tn_token *t); /* Who: any. */

/* ------------------------------------------------------------------------------- calls that block the thread -- */

/* A call that blocks in the kernel (a file, a name service, a library that knows no fibres) stops its worker. There are
 * two ways around that (003 §4.4.3), and `./tenter reproduce M4.5` measures them against each other:
 *
 * - say so: tn_blocking. The call runs on a thread of a pool, the worker goes on with other fibres.
 * - the monitor (knob monitor_us): a thread that looks at the workers now and then. For each one that has passed no
 *   scheduling point since the last look and sleeps in the kernel, it adds a worker (as long as none is idle, up to the
 *   cluster's slots), and takes it away again some time after the call has returned. Nothing need be said; until
 *   the monitor has looked twice the worker is missed. tn_workers counts replacements.
 */

/* Run fn(arg) on a thread of the runtime's pool, and wait for its value (`value` may be NULL). fn is no fibre: there
 * tn_fibre_self() is NULL, and every function here behaves as on a plain thread. errno goes with the fibre (tn_errno): fn
 * starts with the caller's, and the caller goes on with what fn has left.
 * The pool grows, thread by thread, to the knob `pool`; further calls wait for their turn, in order. So calls that wait
 * for one another may wait for ever where there are more of them than threads. A thread that has been idle for `pool_ms` ends.
 * tn_stop waits for calls that are under way, and drops those that have not begun, as it drops their fibres; fn must not
 * wait for fibres of a runtime that is being stopped.
 * Who: any; on a plain thread fn runs right there. Blocks. Errors: EAGAIN the pool is empty and no thread could be made
 * (fn has not run). */
TN_API int tn_blocking(void *(*fn)(void *), void *arg, void **value);

/* ------------------------------------------------------------------------------- time, work, statistics -- */

/* Nanoseconds of the monotonic clock. Who: any. */
TN_API tn_time tn_now(void);

/* Compute for about `ns` nanoseconds: a calibrated loop natively, a charge when simulated. The loop is
 * calibrated by the first call or by tn_work_calibrate(), which returns loop rounds a microsecond.
 * Who: any. Blocks: no. */
TN_API void tn_work(uint64_t ns);
TN_API double tn_work_calibrate(void);

/* Counters, summed over the cluster's workers since it started. The names of the core's and the module's are
 * in `name` (static strings). Under -Dobserve=off n is 0. The sums are not a snapshot: each worker's counts
 * are read while it runs. Who: any. */
struct tn_counter {
    const char *name;
    const char *help;
    uint64_t value;
};
#define TN_COUNTERS_MAX 64
TN_API size_t tn_counters(const tn_cluster *cluster, struct tn_counter out[TN_COUNTERS_MAX]);

/* Write to the descriptor `fd` what each worker of each runtime does, what its queues hold, and of each fibre its name,
 * its state, what it waits for, and its back-trace (of the first thousand). The workers are stopped by a signal (SIGURG)
 * meanwhile, so a system call of theirs may return EINTR. Functions are named from the symbols of the program; lines by
 * `addr2line -e PROGRAM OFFSET`, or by tools/gdb/tenter-gdb.py.
 * Who: any, also in a signal handler. Blocks: as long as it takes. Errors: EBUSY another dump has been
 * under way for ten seconds, or the calling thread's own, which the handler has interrupted; those of write(). */
TN_API int tn_dump(int fd);

/* What this build is: version, modules with their knobs, poller, context, compiler, as JSON. The second form
 * tells of one running cluster: its module and the value of each knob. Written as snprintf does: returns the
 * length needed. Who: any. */
TN_API size_t tn_describe(char *buffer, size_t size);
TN_API size_t tn_describe_cluster(const tn_cluster *cluster, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
