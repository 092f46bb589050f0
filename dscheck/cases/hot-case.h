/* SPDX-License-Identifier: MIT */
/*
 * For cases on the core's hot translation unit (core/hot.c), all of its parts as they are: a module and a poller, which an
 * including case defines, and in place of the rest of the core what does nothing, or says that no case gets there.
 */
#ifndef HOT_CASE_H
#define HOT_CASE_H

#undef __SANITIZE_THREAD__ /* core/sanitize.h: the explorer's instrumentation has no fibres to be told of */
#define TN_SUSPENSION      TN_SUSPENSION_NEXT
#define TN_DEAD            TN_DEAD_NEXT
#define TN_TIMERS          TN_TIMERS_HEAP
#define TN_OBSERVE         0
#define TN_PREEMPTION      0
#define TN_FORCE_MIGRATION 0
#define TN_STACKS_POOLED   1
#define TN_STACKS_SPLIT    0

#include "protocol-case.h"

#include "internal.h"
#include "preempted.h"

static const struct tn_scheduler case_sched;
static const struct tn_poller case_poller;
#define TN_SCHED(cl) ((void)(cl), &case_sched)
#define POLLER       (&case_poller)

#include "core/switch.c"
#include "core/suspend.c"
#include "core/keeper.c"
#include "core/worker.c"
#include "core/preempt.c"
#include "core/wait.c"
#include "core/self.c"
#include "core/fibre.c"
#include "core/join.c"

/* ---- the platform ---- */

static _Thread_local void *case_self;
static _Thread_local int case_errno;

void *tn_self(void)
{
    return case_self;
}

void *tn_self_now(void)
{
    return case_self;
}

void tn_self_set(void *self)
{
    case_self = self;
}

int *tn_errno_address(void)
{
    return &case_errno;
}

struct tn_exceptions *tn_exceptions_address(void)
{
    return NULL;
}

unsigned tn_process(void)
{
    return 1;
}

void tn_thread_here(struct tn_thread *t, void *(*fn)(void *), void *arg)
{
    (void)t;
    fn(arg);
}

void tn_thread_guard(void (*lost)(void))
{
    (void)lost;
}

void *tn_fault_stack(void)
{
    return NULL;
}

void tn_fault_stack_free(void *stack)
{
    (void)stack;
}

/* ---- diagnoses: who is counted as blocked; one nap, and then none ---- */

static _Atomic(int) blocked;

void diagnose_blocks(void)
{
    atomic_fetch_add_explicit(&blocked, 1, memory_order_relaxed);
}

void diagnose_unblocks(void)
{
    atomic_fetch_sub_explicit(&blocked, 1, memory_order_relaxed);
}

tn_time diagnose_until(struct runtime *rt, struct naps *n)
{
    (void)rt;
    return n->nap++ == 0 ? tn_now() + 1 : CASE_FOREVER;
}

void diagnose_await(struct runtime *rt, _Atomic(uint32_t) *word)
{
    (void)rt;
    while (atomic_load_explicit(word, memory_order_relaxed) == 0)
        tn_park(word, 0, CASE_FOREVER);
}

void diagnose_worker_begins(struct worker *w)
{
    (void)w;
}

void diagnose_worker_ends(struct worker *w)
{
    (void)w;
}

/* ---- runtimes, slots, stacks ---- */

bool left_behind_in_parent(struct runtime *rt)
{
    (void)rt;
    return false;
}

bool joiner_begins(struct runtime *rt, struct tn_joiner *t)
{
    (void)rt, (void)t;
    return true;
}

void joiner_ends(struct runtime *rt, struct tn_joiner *t)
{
    (void)rt, (void)t;
}

void worker_ended(struct worker *w)
{
    w->until = NULL;
}

static struct fibre *given; /* to the pool, once */

void stacks_give(struct tn_stacks *s, struct fibre *chain, unsigned n)
{
    (void)s;
    assert(given == NULL && n == 1);
    given = chain;
}

/* ---- where no case gets ---- */

#define NOBODY(result, name, ...)             \
    result name(__VA_ARGS__)                  \
    {                                         \
        assert(!"a case has come to " #name); \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
NOBODY(void *, tn_context_make, void *top, size_t bytes, void (*entry)(void *arg))
NOBODY(void *, tn_context_switch, void **from, void *to, void *arg)
NOBODY(void, tn_message, const char *format, ...)
NOBODY(void, tn_die, const char *format, ...)
NOBODY(int, tn_pin, unsigned n)
NOBODY(size_t, tn_page, void)
NOBODY(struct fibre *, stacks_take, struct tn_stacks *s, unsigned *n)
NOBODY(struct fibre *, stacks_take_odd, struct tn_stacks *s, size_t usable)
NOBODY(void, stacks_give_odd, struct tn_stacks *s, struct fibre *f)
NOBODY(int, worker_start, struct worker *w)
NOBODY(void, keeper_start, struct cluster *cl)
NOBODY(struct worker *, locals_end, struct fibre *f)
NOBODY(void, module_misplaced, const struct tn_scheduler *s, int answer)
NOBODY(void, diagnose_misuse, struct fibre *self, const char *what)
NOBODY(void, diagnose_own_begins, void)
NOBODY(void, diagnose_own_ends, void)
NOBODY(int, tn_scope_enter, struct tn_scope *s, tn_group *g)
NOBODY(void, tn_scope_leave, struct tn_scope *s, int error)
NOBODY(int, tn_room_wait, struct tn_room *r, int (*again)(void *), void *arg, tn_time deadline)
NOBODY(void, tn_room_tell, struct tn_room *r)
NOBODY(int, tn_sem_trywait, tn_sem *s)
NOBODY(int, tn_sem_post, tn_sem *s)
NOBODY(int, tn_sem_wait_until, tn_sem *s, unsigned units, tn_time deadline, tn_token *token)
#pragma GCC diagnostic pop

#endif
