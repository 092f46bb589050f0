/* SPDX-License-Identifier: MIT */
/*
 * What the cases on core/pool.h share: calls, who submits them, and threads of the pool.
 *
 * The threads are there from the start and wait to be made ("born"); one that has ended waits to be made anew. Whoever
 * gets a record from the list of ended ones waits, as core/blocking.c does by joining, until its former thread is off it.
 */
#ifndef POOL_CASE_H
#define POOL_CASE_H

#include "protocol-case.h"

#include "pool.h"

enum { CALLS = 3, MAX = 2 };
enum { UNBORN, BORN, OVER };
enum { WAITING, RUN, REFUSED, GONE };

static struct tn_pool pool;
static tn_time patience;
static bool no_threads; /* none can be made */
static struct record {
    struct tn_pool_thread pub; /* first */
    _Atomic(uint32_t) life;    /* UNBORN … OVER: what its thread waits for */
    _Atomic(bool) off;         /* its former thread does not touch it any more */
} record[MAX];
static _Atomic(int) records;
static struct call {
    struct tn_call pub; /* first */
    _Atomic(uint32_t) state;
    int runs; /* by whoever runs it */
} call[CALLS];
static _Atomic(int) submitters;

static inline void prepare_pool(int n, unsigned max, tn_time how_long)
{
    memset(&pool, 0, sizeof(pool));
    memset(record, 0, sizeof(record));
    memset(call, 0, sizeof(call));
    pool.max = max;
    patience = how_long;
    no_threads = false;
    atomic_init(&records, 0);
    atomic_init(&submitters, n);
    atomic_init(&case_clock, 0);
    for (int i = 0; i < MAX; i++)
        atomic_init(&record[i].off, true);
}

static inline void finish(struct tn_call *c, uint32_t how)
{
    struct call *mine = (struct call *)(void *)c;
    atomic_store_explicit(&mine->state, how, memory_order_release);
    tn_unpark(&mine->state, 1);
}

/* What core/blocking.c does around it. */
static inline void submit_where(struct call *c, bool no_thread)
{
    struct tn_pool_thread *spare = NULL;
    if (tn_pool_submit(&pool, &c->pub, &spare) != TN_POOL_GROW)
        return;
    struct record *r = (struct record *)(void *)spare;
    if (no_thread) {
        for (struct tn_call *refused = tn_pool_no_thread(&pool, &c->pub, spare), *next; refused != NULL;
             refused = next) {
            next = refused->next;
            finish(refused, REFUSED);
        }
        return;
    }
    if (r == NULL)
        r = &record[atomic_fetch_add_explicit(&records, 1, memory_order_relaxed)];
    assert(r < record + MAX); /* else there are more threads than allowed */
    unsigned spins = 0;
    while (!atomic_load_explicit(&r->off, memory_order_acquire))
        tn_spin_wait(&spins);
    r->pub.call = &c->pub;
    atomic_store_explicit(&r->off, false, memory_order_relaxed);
    atomic_store_explicit(&r->life, BORN, memory_order_release);
    tn_unpark(&r->life, 1);
}

static inline void submit(struct call *c)
{
    submit_where(c, no_threads);
}

/* The submitter's memory is gone once it has been told. */
static inline void await(struct call *c, uint32_t wanted)
{
    uint32_t state;
    while ((state = atomic_load_explicit(&c->state, memory_order_acquire)) == WAITING)
        tn_park(&c->state, WAITING, CASE_FOREVER);
    assert(state == wanted);
    assert(c->runs == (wanted == RUN));
    c->pub.next = (struct tn_call *)(uintptr_t)8;
    atomic_store_explicit(&c->state, GONE, memory_order_relaxed);
}

/* By each submitter, last: the last of all ends the pool. Returns what nobody has begun. */
static inline struct tn_call *stop_if_last(void)
{
    if (atomic_fetch_sub_explicit(&submitters, 1, memory_order_acq_rel) != 1)
        return NULL;
    struct tn_call *dropped = tn_pool_stop(&pool);
    for (int i = 0; i < MAX; i++) { /* a thread that runs sees it when it has ended */
        atomic_store_explicit(&record[i].life, OVER, memory_order_release);
        tn_unpark(&record[i].life, 1);
    }
    return dropped;
}

static inline void pool_thread(struct record *r)
{
    for (;;) {
        uint32_t life;
        while ((life = atomic_load_explicit(&r->life, memory_order_acquire)) == UNBORN)
            tn_park(&r->life, UNBORN, CASE_FOREVER);
        if (life == OVER && atomic_load_explicit(&r->off, memory_order_relaxed))
            return;
        for (struct tn_call *c = r->pub.call; c != NULL; c = tn_pool_next(&pool, &r->pub, patience)) {
            ((struct call *)(void *)c)->runs++;
            finish(c, RUN);
        }
        uint32_t born = BORN;
        atomic_compare_exchange_strong_explicit(&r->life, &born, UNBORN, memory_order_relaxed, memory_order_relaxed);
        atomic_store_explicit(&r->off, true, memory_order_release);
    }
}

static void *pool_thread0(void *random)
{
    case_start(random);
    pool_thread(&record[0]);
    return case_end();
}
static void *pool_thread1(void *random)
{
    case_start(random);
    pool_thread(&record[1]);
    return case_end();
}

static inline void check_pool(void)
{
    assert(pool.n == 0 && pool.idle == NULL && pool.first_call == NULL && tn_pool_valid(&pool));
    assert(atomic_load_explicit(&records, memory_order_relaxed) <= (int)pool.max);
}

#endif
