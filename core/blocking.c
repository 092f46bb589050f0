/* SPDX-License-Identifier: MIT
 *
 * Calls that block in the kernel, on a pool of threads of the runtime (003 §4.4.3, the annotated way). Who gets which
 * call is decided in pool.h; here are the threads, and the fibres that wait.
 */
#include "internal.h"

/* Lies on the stack of the fibre that waits: gone as soon as that has been woken. */
struct blocking {
    struct tn_call call; /* first: a call is its blocking */
    void *(*fn)(void *);
    void *value; /* argument, then result */
    int err;     /* errno, which belongs to the fibre: the thread starts with it, and hands it back */
    int rc;
    tn_waiter waiter;
};

/* BEING_MADE: the thread may have served its time before its maker knows its handle; who gets the record then waits. */
enum { THREAD_NONE, THREAD_BEING_MADE, THREAD_MADE };

/* A record is made once and kept until the pool ends. */
struct pool_thread {
    struct tn_pool_thread pub;
    struct tn_thread thread;  /* as `state` says; by whoever took the record from the list of ended ones */
    _Atomic(uint32_t) state;  /* THREAD_* */
    uint32_t number;          /* under the pool's lock: of its thread while that runs, else 0 */
    struct pool_thread *next; /* under the pool's lock */
    struct blocking_pool *pool;
};

static struct blocking *blocking_of(struct tn_call *c)
{
    return (struct blocking *)(void *)c;
}

static void set_number(struct pool_thread *t, uint32_t number)
{
    tn_spinlock_lock(&t->pool->lock);
    t->number = number;
    tn_spinlock_unlock(&t->pool->lock);
}

/* pthread_exit in a call: its fibre would wait for ever. */
static void call_lost(void)
{
    tn_die("tenter: a call in tn_blocking ended its thread: it must return");
}

static void *pool_main(void *arg)
{
    struct pool_thread *t = arg;
    tn_thread_guard(call_lost);
    set_number(t, tn_thread_number());
    int *err = tn_errno_address(); /* this thread's, all along: no fibre runs here */
    for (struct tn_call *c = t->pub.call; c != NULL; c = tn_pool_next(&t->pool->calls, &t->pub, t->pool->patience)) {
        struct blocking *b = blocking_of(c);
        *err = b->err;
        b->value = b->fn(b->value);
        b->err = *err;
        tn_wake(b->waiter);
    }
    tn_thread_guard(NULL);
    set_number(t, 0); /* the record is this thread's until that has been joined */
    return NULL;
}

static struct pool_thread *record_make(struct blocking_pool *pool)
{
    struct pool_thread *t = tn_sched_alloc(sizeof *t);
    if (t == NULL)
        return NULL;
    t->pool = pool;
    tn_spinlock_lock(&pool->lock);
    t->next = pool->all;
    pool->all = t;
    tn_spinlock_unlock(&pool->lock);
    return t;
}

/* The record has no thread after this. */
static void thread_end(struct pool_thread *t)
{
    uint32_t state;
    unsigned spins = 0;
    while ((state = atomic_load_explicit(&t->state, memory_order_acquire)) == THREAD_BEING_MADE) /* TM0 acquire */
        tn_spin_wait(&spins);
    if (state == THREAD_MADE)
        tn_thread_join(&t->thread); /* it has announced its end: this is short */
}

static int thread_make(struct blocking_pool *pool, struct pool_thread **t, struct tn_call *first)
{
    if (*t == NULL)
        *t = record_make(pool);
    else
        thread_end(*t);
    if (*t == NULL)
        return ENOMEM;
    (*t)->pub.call = first;
    atomic_store_explicit(&(*t)->state, THREAD_BEING_MADE, memory_order_relaxed); /* relaxed: goes with the thread */
    int rc = tn_thread_create(&(*t)->thread, pool_main, *t);
    atomic_store_explicit(&(*t)->state, rc == 0 ? THREAD_MADE : THREAD_NONE, memory_order_release); /* TM0 release */
    return rc;
}

static void submit(struct worker *w, struct blocking_pool *pool, struct tn_call *call)
{
    struct tn_pool_thread *spare = NULL;
    if (tn_pool_submit(&pool->calls, call, &spare) != TN_POOL_GROW)
        return;
    struct pool_thread *t = (struct pool_thread *)(void *)spare;
    if (thread_make(pool, &t, call) == 0) {
        COUNT(w, COUNT_POOL_THREAD);
        return;
    }
    for (struct tn_call *c = tn_pool_no_thread(&pool->calls, call, t != NULL ? &t->pub : NULL), *next; c != NULL;
         c = next) {
        next = c->next;
        blocking_of(c)->rc = EAGAIN;
        tn_wake(blocking_of(c)->waiter);
    }
}

TN_API int tn_blocking(void *(*fn)(void *), void *arg, void **value)
{
    struct worker *w = tn_self();
    struct blocking b = {.fn = fn, .value = arg};
    if (w == NULL) {
        b.value = fn(arg);
    } else {
        COUNT(w, COUNT_BLOCKING);
        b.err = *w->errno_at;
        b.waiter = tn_wait_prepare();
        tn_wait_note("blocking call", (const void *)(uintptr_t)fn);
        submit(w, &cluster_of(w->pub.cluster)->rt->blocking, &b.call);
        bool masked = tn_cancel_mask(true); /* the call is under way, and has its record here */
        tn_wait(TN_FOREVER, NULL);
        tn_cancel_mask(masked);
        *((struct worker *)tn_self_now())->errno_at = b.err; /* perhaps another worker's thread by now */
    }
    if (b.rc == 0 && value != NULL)
        *value = b.value;
    return b.rc;
}

void blocking_init(struct blocking_pool *pool, unsigned max, tn_time patience)
{
    pool->calls.max = max;
    pool->patience = patience;
}

/* Is the caller one of its threads? */
bool blocking_is_self(struct blocking_pool *pool)
{
    uint32_t number = tn_thread_number();
    bool is = false;
    tn_spinlock_lock(&pool->lock);
    for (struct pool_thread *t = pool->all; t != NULL && !is; t = t->next)
        is = t->number == number;
    tn_spinlock_unlock(&pool->lock);
    return is;
}

/* For diagnoses: how many of its threads are idle, and how many there are; who runs a call is not idle. False: it cannot
 * be told now. */
bool blocking_threads(struct blocking_pool *pool, unsigned *idle, unsigned *all)
{
    if (!tn_spinlock_try_lock(&pool->calls.lock))
        return false;
    for (struct tn_pool_thread *t = pool->calls.idle; t != NULL; t = t->next)
        ++*idle;
    *all += pool->calls.n;
    tn_spinlock_unlock(&pool->calls.lock);
    return true;
}

/* When no fibre of the runtime runs any more. Waits for the calls that are under way; those that wait are dropped, as
 * their fibres are. */
void blocking_fini(struct blocking_pool *pool)
{
    tn_pool_stop(&pool->calls);
    for (struct pool_thread *t; (t = pool->all) != NULL;) {
        pool->all = t->next;
        thread_end(t); /* here it may have to end its call first */
        tn_sched_free(t, sizeof *t);
    }
}
