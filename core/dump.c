/* SPDX-License-Identifier: MIT
 *
 * The dump: what every worker and every fibre does. The workers are stopped while it is written. Nothing here takes a
 * lock, allocates, or calls what a signal handler may not, since the thread that writes may have been interrupted
 * anywhere, and a stopped one may hold any lock. All fibres are found by their control blocks, which are linked when
 * their stacks are mapped (stack.c); a block's join word tells whether a fibre lives there. So spawning pays nothing.
 */
#include "internal.h"

enum { FRAMES = 32, TRACES = 1000, STOP_NS = 200000000, CHAIN = 100000 };

/* ---- text ---- */

static struct {    /* under the lock of diagnoses */
    int fd, error; /* of the first write that failed */
    size_t n;
    char text[4096];
} out;

static void flush(void)
{
    int rc = tn_write_raw(out.fd, out.text, out.n);
    if (out.error == 0)
        out.error = rc;
    out.n = 0;
}

void dump_anew(void)
{
    out.n = 0;
}

static void put_char(char c)
{
    if (out.n == sizeof out.text)
        flush();
    out.text[out.n++] = c;
}

static TN_LOOKS void put(const char *s)
{
    for (; *s != '\0'; s++)
        put_char((unsigned char)*s >= ' ' || *s == '\n' ? *s : '?');
}

static void put_number(uint64_t n, unsigned base)
{
    char digits[20];
    unsigned k = 0;
    do
        digits[k++] = "0123456789abcdef"[n % base];
    while ((n /= base) != 0);
    while (k > 0)
        put_char(digits[--k]);
}

static void put_count(const char *before, uint64_t n, const char *after)
{
    put(before);
    put_number(n, 10);
    put(after);
}

static void put_address(const void *p)
{
    put("0x");
    put_number((uintptr_t)p, 16);
}

/* ---- back-traces ---- */

static void put_trace(const struct tn_where *where, uintptr_t low, uintptr_t high)
{
    uintptr_t pc[FRAMES];
    unsigned n = tn_backtrace(where, low, high, pc, FRAMES);
    for (unsigned i = 0; i < n; i++) {
        struct tn_symbol s = tn_symbol(pc[i]);
        put_count("    #", i, " ");
        if (s.function != NULL && *s.function != '\0') {
            put(s.function);
            put("+0x");
            put_number(s.function_offset, 16);
        } else {
            put_address((void *)pc[i]);
        }
        if (s.file != NULL) {
            put(" (");
            put(s.file);
            put("+0x");
            put_number(s.file_offset, 16);
            put(")");
        }
        put("\n");
    }
}

/* ---- fibres ---- */

static TN_LOOKS void put_fibre(struct fibre *f)
{
    put_address(f);
    if (*(const volatile char *)f->name == '\0')
        return;
    put(" '");
    put(f->name);
    put("'");
}

struct writing {
    const struct tn_where *here; /* of the thread that writes */
    struct worker *self;         /* if that is a worker */
    struct runtime *runtime;     /* that is written */
    size_t written;
    size_t n[DOINGS];
};

/* The worker that runs f. Its thread is this one, or is stopped, or did not let itself be stopped. */
static TN_LOOKS void put_running(struct writing *wr, struct fibre *f)
{
    struct worker *w = worker_of(f->pub.home);
    put_count("runs on worker ", w->pub.index, "\n");
    uintptr_t low = stack_low(f), high = stack_high(f);
    if (w == wr->self)
        put_trace(wr->here, low, high);
    else if (TN_SANITIZE_THREADS) /* its thread may have stopped inside the tool, from where no unwinder finds out */
        put("    (no back-trace under this sanitizer)\n");
    else if (atomic_load_explicit(&w->stopped.state, memory_order_acquire) == TN_STOPPED) /* ST0 acquire */
        put_trace(&w->stopped.where, low, high);
    else
        put("    (its thread did not stop, so there is no back-trace)\n");
}

/* Fibres that do not run stay so while their runtime's workers are stopped. One may have refused, or have begun since:
 * it may resume any of them, and change what is being read (an idle one would first have to find something). */
static TN_LOOKS bool all_stopped(struct writing *wr, struct runtime *rt)
{
    struct cluster *cl = atomic_load_explicit(&rt->clusters, memory_order_acquire); /* CL0 acquire */
    for (; cl != NULL; cl = cl->next) {
        uint32_t used = atomic_load_explicit(&cl->pub.used, memory_order_acquire); /* U0 acquire */
        for (uint32_t i = 0; i < used; i++) {
            struct worker *w = worker_of(cl->pub.workers[i]);
            if (w != wr->self && w->slot.on != TN_ON_IDLE &&
                atomic_load_explicit(&w->alive, memory_order_acquire) &&                     /* AL0 acquire */
                atomic_load_explicit(&w->stopped.state, memory_order_acquire) != TN_STOPPED) /* ST0 acquire */
                return false;
        }
    }
    return true;
}

/* Where a parked fibre's context says that it is. */
static bool find_context(uintptr_t context, struct tn_where *where)
{
    const struct tn_context_layout *at = &tn_context_layout;
    where->sp = context + (uintptr_t)(intptr_t)at->sp_add;
    return at->pc >= 0 && tn_peek(context + (uintptr_t)at->pc, &where->pc, sizeof where->pc) &&
           tn_peek(context + (uintptr_t)at->fp, &where->fp, sizeof where->fp) &&
           (at->sp < 0 || tn_peek(context + (uintptr_t)at->sp, &where->sp, sizeof where->sp));
}

/* One that does not run. Its worker may have been stopped while it left: then `current` is the next one already, but the
 * context of f has not been saved yet, and what stands there is of long ago. */
static TN_LOOKS void put_parked(struct writing *wr, struct fibre *f)
{
    struct worker *w = f->pub.home != NULL ? worker_of(f->pub.home) : NULL;
    uintptr_t low = stack_low(f), high = stack_high(f);
    struct tn_where where;
    /* Under ThreadSanitizer few ever stop: better a trace that may be wrong than none. */
    if (!TN_SANITIZE_THREADS && !all_stopped(wr, wr->runtime)) {
        put("    (a worker's thread did not stop, so there is no back-trace)\n");
        return;
    }
    if (!find_context((uintptr_t)f->pub.context, &where))
        return;
    if (w != NULL && w != wr->self && w->after_fibre == f && !TN_STACKS_SPLIT && w->stopped.where.sp >= low &&
        w->stopped.where.sp <= high)
        where = w->stopped.where;
    put_trace(&where, low, high);
}

/* A blocking call's is a function. */
static void put_object(const void *object)
{
    struct tn_symbol s = object != NULL ? tn_symbol((uintptr_t)object) : (struct tn_symbol){0};
    if (s.function != NULL && *s.function != '\0' && s.function_offset == 0) {
        put(s.function);
        put(" ");
    }
    put_address(object);
}

/* By its number, as lsof and /proc have it. */
static TN_LOOKS bool put_descriptor(struct fibre *f)
{
#ifndef TN_PLATFORM_SIM
    uintptr_t at = (uintptr_t)f->note.object;
    bool writes = false;
    int fd =
        strncmp(f->note.what, "descriptor", 10) == 0
            ? tn_io_number(f->note.object, TN_STACKS_SPLIT || (at >= stack_low(f) && at < stack_high(f)), &writes)
            : -1;
    if (fd >= 0)
        put_count("descriptor ", (uint64_t)fd, writes ? ", to write" : ", to read");
    return fd >= 0;
#else
    (void)f;
    return false;
#endif
}

static TN_LOOKS void put_waiting(struct fibre *f)
{
    uint64_t seq = atomic_load_explicit(&f->wait, memory_order_relaxed) / WAIT_STATES; /* relaxed: it is blocked */
    if (f->note.what != NULL && f->note.seq == seq) {
        put("waits for ");
        if (!put_descriptor(f)) {
            put(f->note.what);
            put(" ");
            put_object(f->note.object);
        }
    } else {
        put(f->timer.at != 0 ? "sleeps, or waits to be woken" : "waits to be woken");
    }
    if (f->timer.at != 0) {
        tn_time now = tn_now();
        put_count(", at most ", f->timer.deadline > now ? (f->timer.deadline - now) / 1000000 : 0, " ms more");
    }
}

static TN_LOOKS void write_fibre(struct fibre *f, void *arg)
{
    struct writing *wr = arg;
    enum doing doing = fibre_doing(f);
    if (doing == DOING_NOTHING || wr->written++ >= TRACES)
        return;
    put("fibre ");
    put_fibre(f);
    struct tn_symbol fn = tn_symbol((uintptr_t)f->fn);
    if (fn.function != NULL && *fn.function != '\0') {
        put(" (");
        put(fn.function);
        put(")");
    }
    put(": ");
    if (doing == DOING_RUN) {
        put_running(wr, f);
        return;
    }
    if (doing == DOING_JOIN) {
        put("joins ");
        put_fibre(f->joins);
    } else if (doing == DOING_WAIT) {
        put_waiting(f);
    } else if (doing == DOING_ENDED) {
        put("has ended, nobody has joined it\n");
        return;
    } else {
        put(f->pub.home != NULL ? "ready" : "ready, has not run yet");
    }
    put("\n");
    if (doing == DOING_READY && f->pub.home == NULL)
        return;
    put_parked(wr, f);
}

static void count_fibre(struct fibre *f, void *arg)
{
    ((struct writing *)arg)->n[fibre_doing(f)]++;
}

/* ---- cycles of joins ---- */

static TN_LOOKS struct fibre *joined_by(struct fibre *f)
{
    return fibre_doing(f) == DOING_JOIN ? f->joins : NULL;
}

/* Each cycle once, from its fibre of the lowest address. */
static void write_cycle(struct fibre *f, void *arg)
{
    (void)arg;
    unsigned steps = 0;
    struct fibre *at = joined_by(f);
    while (at != NULL && at > f && steps++ < CHAIN)
        at = joined_by(at);
    if (at != f)
        return;
    put("cycle of joins: ");
    put_fibre(f);
    for (at = joined_by(f); at != f && at != NULL; at = joined_by(at)) {
        put(" joins ");
        put_fibre(at);
    }
    put(" joins ");
    put_fibre(f);
    put("\n");
}

/* ---- workers ---- */

static TN_LOOKS void write_worker(struct writing *wr, struct cluster *cl, struct worker *w)
{
    struct fibre *current = *(struct fibre *volatile *)&w->current;
    put_count("  worker ", w->pub.index, "");
    if (!atomic_load_explicit(&w->alive, memory_order_acquire)) { /* AL0 acquire */
        put(": no thread\n");
        return;
    }
    put_count(", thread ", w->stopped.thread, ": ");
    if (current != NULL) {
        put("runs ");
        put_fibre(current);
    } else {
        put(w->slot.on == TN_ON_IDLE ? "idle" : "looks for work");
    }
    if (cl->sched->queued != NULL)
        put_count("; ", cl->sched->queued(&cl->pub, &w->pub), " ready");
    /* relaxed: only whether it has answered */
    if (w != wr->self && atomic_load_explicit(&w->stopped.state, memory_order_relaxed) != TN_STOPPED)
        put("; did not stop");
    put("\n");
}

static void write_cluster(struct writing *wr, struct cluster *cl)
{
    put("cluster ");
    put_address(cl);
    put(", ");
    put(cl->sched->name);
    if (cl->sched->queued != NULL)
        put_count(": ", cl->sched->queued(&cl->pub, NULL), " ready for any worker");
    put(tn_timers_earliest(&cl->timers) != UINT64_MAX ? "; timers run\n" : "; no timer\n");
    uint32_t used = atomic_load_explicit(&cl->pub.used, memory_order_acquire); /* U0 acquire */
    for (uint32_t i = 0; i < used; i++)
        write_worker(wr, cl, worker_of(cl->pub.workers[i]));
}

static void write_runtime(struct writing *wr, struct runtime *rt)
{
    wr->runtime = rt;
    wr->written = 0;
    memset(wr->n, 0, sizeof wr->n);
    each_block(rt, count_fibre, wr);
    put("runtime ");
    put_address(rt);
    put_count(": fibres: ", wr->n[DOING_RUN], " running, ");
    put_count("", wr->n[DOING_READY], " ready, ");
    put_count("", wr->n[DOING_WAIT], " waiting, ");
    put_count("", wr->n[DOING_JOIN], " joining, ");
    put_count("", wr->n[DOING_ENDED], " ended and not joined\n");
    struct cluster *cl = atomic_load_explicit(&rt->clusters, memory_order_acquire); /* CL0 acquire */
    for (; cl != NULL; cl = cl->next)
        write_cluster(wr, cl);
    each_block(rt, write_cycle, NULL);
    each_block(rt, write_fibre, wr);
    if (wr->written > TRACES)
        put_count("and ", wr->written - TRACES, " more\n");
}

/* ---- all of it ---- */

static struct tn_stopped *others(struct runtime *first, uint32_t self)
{
    struct tn_stopped *list = NULL;
    for (struct runtime *rt = first; rt != NULL; rt = rt->diagnosis.next) {
        struct cluster *cl = atomic_load_explicit(&rt->clusters, memory_order_acquire); /* CL0 acquire */
        for (; cl != NULL; cl = cl->next) {
            uint32_t used = atomic_load_explicit(&cl->pub.used, memory_order_acquire); /* U0 acquire */
            for (uint32_t i = 0; i < used; i++) {
                struct worker *w = worker_of(cl->pub.workers[i]);
                if (!atomic_load_explicit(&w->alive, memory_order_acquire) || w->stopped.thread == self) /* AL0 */
                    continue;
                w->stopped.next = list;
                list = &w->stopped;
            }
        }
    }
    return list;
}

int dump(int fd, struct runtime *first, const struct tn_where *here, const char *reason)
{
    struct writing wr = {.here = here, .self = tn_self()};
    struct tn_stopped *stopped = others(first, tn_thread_number());
    tn_threads_stop(stopped, STOP_NS);
    out.fd = fd;
    out.error = 0;
    put("tenter: ");
    put(reason);
    put("\n");
    for (struct runtime *rt = first; rt != NULL; rt = rt->diagnosis.next)
        write_runtime(&wr, rt);
    put("tenter: end of the dump\n");
    flush();
    tn_symbols_close();
    tn_threads_go(stopped);
    return out.error;
}
