/* SPDX-License-Identifier: MIT
 *
 * Part of hot.c: taking the processor from a fibre that calls nothing (004 §3.3.4; docs/preemption.md). A timer of each
 * worker interrupts whatever runs there, on its own stack. If that is the program's code, all the way down to the
 * fibre's first function, the handler switches stacks, and returns when the fibre's turn comes again.
 *
 * - There is no flag around the runtime's sections. Whether one is interrupted is read off the stack: an address that is
 *   not the program's, the runtime's, malloc's or any library's, means "not now"; the next tick tries again. So no path
 *   of the core costs anything for it, and nobody can forget to set it.
 * - Who was preempted goes on where it was, on this worker, and is kept here and not by the module. Between any two of its
 *   instructions a register may hold the address of something of this thread (&errno), and the kernel will restore this
 *   thread's signal mask and alternate stack when the handler returns: on another thread all three would be wrong. From
 *   its next scheduling point on it is as any other fibre.
 * - The signal is blocked in the handler and open again before the switch: at most two frames lie on a stack.
 */

#if TN_PREEMPTION

/* How deep a stack may be that is looked through; one that is deeper is left alone. */
enum { PREEMPT_DEPTH = 64 };
enum { PREEMPT_TRIES = 8, PREEMPT_PART_NS = 20000 };

static bool all_is_the_programs(const struct fibre *f, const struct tn_where *where)
{
    uintptr_t pc[PREEMPT_DEPTH];
    if (!tn_code_of_program(where->pc) || where->sp < stack_low(f) || where->sp > stack_high(f))
        return false;
    unsigned n = tn_backtrace(where, stack_low(f), stack_high(f), pc, PREEMPT_DEPTH), i = 0;
    while (i < n && tn_code_of_program(pc[i]))
        i++;
    if (i == n)
        return false; /* where it comes from is not known */
    while (i < n && tn_code_of_runtime(pc[i]))
        i++;
    return i == n; /* else the program was called back by who may hold a lock */
}

/* Let others have the worker, if some are ready. */
static void give_way(struct worker *w)
{
    struct cluster *cl = cluster_of(w->pub.cluster);
    struct fibre *next = NULL;
    if (!is_over(w)) { /* else who computes for ever is left where it is */
        look_up(w);
        next = chosen(w, TN_SCHED(cl)->next, true);
        if (next == NULL)
            return; /* nobody else wants it */
    }
    COUNT(w, COUNT_PREEMPT);
    tn_ticks_open();
    stop_current(w, next, AFTER_PREEMPT, TN_PREEMPTED, false);
}

/* Not now: it may be so soon. Where a library is called all the time whole periods would hardly ever hit the program; so it
 * is tried at parts of one, and then for some whole ones not, which bounds what is spent on it. */
static void try_soon(struct worker *w)
{
    tn_time part = w->ticks_of.period / PREEMPT_TRIES;
    tn_ticks_soon(&w->ticks_of, part > PREEMPT_PART_NS ? part : PREEMPT_PART_NS);
}

/* In the signal handler, on the stack of whatever runs. */
static void preempt(const struct tn_where *where)
{
    struct worker *w = tn_self();
    struct fibre *f = w != NULL ? w->current : NULL;
    if (w == NULL)
        return;
    if (f == NULL) { /* idle: no more ticks until it has run something */
        tn_ticks_pause(&w->ticks_of);
        return;
    }
    /* A fibre has one whole period at least. */
    uint64_t point = (uint64_t)w->rounds << 32 | w->ticks;
    bool fresh = w->preempt_fibre != f || w->preempt_point != point;
    w->preempt_fibre = f;
    w->preempt_point = point;
    if (fresh) {
        w->preempt_tries = 0;
        return;
    }
    if (atomic_load_explicit(&f->preempt_masked, memory_order_relaxed)) /* relaxed: of this thread */
        atomic_store_explicit(&f->preempt_due, true, memory_order_relaxed);
    else if (all_is_the_programs(f, where))
        give_way(w);
    else if (++w->preempt_tries % (2 * PREEMPT_TRIES) < PREEMPT_TRIES)
        try_soon(w);
}

int preempt_ready(size_t room)
{
    if (room == 0) {
        tn_message(
            "tenter: preempt_us of a cluster: its runtime was started without, and the stacks have no room for it");
        return EINVAL;
    }
    return tn_ticks_ready(preempt);
}

/* No more is needed to set it: the handler comes between two instructions of this thread, sees what was stored, and
 * finds that this function is not the program's. */
TN_API __attribute__((noinline)) bool tn_preempt_mask(bool masked)
{
    struct worker *w = tn_self();
    struct fibre *f = w != NULL ? w->current : NULL;
    if (f == NULL)
        return false;
    /* relaxed, all: see fibre.preempt_masked */
    bool was = atomic_load_explicit(&f->preempt_masked, memory_order_relaxed);
    atomic_store_explicit(&f->preempt_masked, masked, memory_order_relaxed);
    if (!masked && atomic_load_explicit(&f->preempt_due, memory_order_relaxed)) {
        atomic_store_explicit(&f->preempt_due, false, memory_order_relaxed);
        give_way(w);
    }
    return was;
}

#else

TN_API bool tn_preempt_mask(bool masked)
{
    (void)masked;
    return false;
}

#endif
