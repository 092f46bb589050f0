/* SPDX-License-Identifier: MIT */
/*
 * The bodies of the cases on scheduler modules; a case includes this, then a module's .c file, then says which one it
 * wants, with which knobs:
 *
 *     PARTS_STEAL(fifo, { "private", 2 })
 *
 * Small ones, which are explored whole, of two workers:
 *
 * TAKE      One takes what it has made ready and makes more ready; the other steals from it, as from a hog or not.
 * NEED      One makes a fibre ready and is busy for ever; the other, which looks or sleeps, needs it.
 * JOIN      The same, where the other one is only just about to become a worker.
 * LEAVE     One that has made two fibres ready leaves the cluster; the other needs both.
 * HOME      Fibres are woken for a worker that is busy for ever; another one needs them.
 * CHILD     A fibre spawns another one, which the module may run first; the other worker needs whoever is left.
 * YIELDERS  A worker has three fibres, a fourth one comes in: all wait by yielding until the first one has run.
 * PASS      Three fibres take turns by yielding softly on one worker; the other one takes what it can get of them.
 * FETCH     One has made a fibre ready, makes another one ready and is busy for ever; the other one, who sleeps, needs both.
 * FORCED    One is made to steal two of three fibres, and is busy for ever with the first; a third worker needs two.
 * OWNER     A fibre is woken for the worker that it was spawned on, who is busy for ever; another one needs it.
 * REVERSE   One takes what it has made ready from a stack that is turned upside down meanwhile; two others steal from it.
 * PREFER    A worker's two fibres wait by yielding for one that lies with another worker, who is busy for ever.
 *
 * Large ones, for stress and for random walks (large/):
 *
 * STEAL  One worker makes fibres ready in all ways and runs some, another steals from it; the clock jumps, so that the
 *        first may be taken for a hog.  Whatever is left is drained.  Bounded, without parking.
 * SHARE  Three fibres on one worker, who runs two and then is busy for ever; another one needs the third.
 * HOG    A worker makes three fibres ready (privately, softly, hard) and is busy for ever; two others need them.
 *
 * In all but TAKE, REVERSE and STEAL, a fibre that nobody can get, or is woken for, ends in an assertion: see tn_park.
 */
#ifndef PARTS_CASE_H
#define PARTS_CASE_H

#include "protocol-case.h"

#include "dscheck/stub_core.h"

/* After the join. */
static inline void check_idle(struct tn_idle *idle)
{
    assert(idle->idle.head == NULL && idle->watcher == NULL);
    assert(atomic_load_explicit(idle->hungry, memory_order_relaxed) == 0);
}

/* Invariant 2 of parts/local.h, where that is what the module is made of. */
#define PARTS_HELD(w)                                                                \
    assert(atomic_load_explicit(&local_of(&(w)->pub)->held, memory_order_relaxed) == \
           local_of(&(w)->pub)->tail - local_of(&(w)->pub)->head + (uint32_t)local_of(&(w)->pub)->soft.count)

/* From here on whoever has not moved is a hog. */
static inline void hours(unsigned n)
{
    atomic_fetch_add_explicit(&case_clock, n * 100000, memory_order_seq_cst);
}

static inline void steal_owner(struct stub_worker *me)
{
    stub_ready(me, &stub_fibre[2], TN_YIELDED);
    stub_ready(me, &stub_fibre[4], TN_YIELDED);
    stub_ready(me, &stub_fibre[0], TN_SPAWNED);
    stub_ready(me, &stub_fibre[1], TN_WOKEN);
    struct stub_fibre *f = stub_next(me, false);
    stub_ready(me, &stub_fibre[3], TN_SPAWNED);
    if (f != NULL)
        stub_ready(me, f, TN_YIELDED_HARD);
    stub_next(me, false);
    stub_next(me, true);
    stub_next(me, false);
}

static inline void steal_thief(struct stub_worker *me, struct stub_worker *victim)
{
    for (int i = 0; i < 2; i++) {
        stub_steal(me, victim);
        stub_next(me, false);
        hours(1);
    }
}

/* PARTS_MAIN(module, workers, knobs, before, check, body of thread 0, body of thread 1, body of thread 2) */
#define PARTS_MAIN(id, n, settings, before, after, body0, body1, body2) \
    static void prepare(void)                                           \
    {                                                                   \
        static const struct stub_setting set[] = {settings{NULL, 0}};   \
        atomic_init(&case_clock, 1);                                    \
        stub_init(&tn_scheduler_##id, n, set);                          \
        before;                                                         \
    }                                                                   \
    static void *thread0(void *random)                                  \
    {                                                                   \
        case_start(random);                                             \
        body0;                                                          \
        return case_end();                                              \
    }                                                                   \
    static void *thread1(void *random)                                  \
    {                                                                   \
        case_start(random);                                             \
        body1;                                                          \
        return case_end();                                              \
    }                                                                   \
    static inline void *thread2(void *random)                           \
    {                                                                   \
        case_start(random);                                             \
        body2;                                                          \
        return case_end();                                              \
    }                                                                   \
    static void check(void)                                             \
    {                                                                   \
        check_idle(&stub_idle);                                         \
        after;                                                          \
        stub_fini();                                                    \
    }

#define PARTS_KNOBS(...) __VA_ARGS__

#define W0   (&stub_worker[0])
#define W1   (&stub_worker[1])
#define W2   (&stub_worker[2])
#define F(i) (&stub_fibre[i])

#define PARTS_STEAL(id, settings, after)                                                      \
    PARTS_MAIN(id, 2, PARTS_KNOBS(settings), , after, steal_owner(W0), steal_thief(W1, W0), ) \
    CASE_MAIN(prepare, check, thread0, thread1)

static inline void ran(unsigned fibres)
{
    for (unsigned i = 0; i < STUB_FIBRES; i++)
        assert(stub_fibre[i].runs == (i < fibres)); /* and nothing is left to drain */
}

/* One of the two ran where it was spawned. */
static inline void child_ran(void)
{
    assert(stub_fibre[0].runs + stub_fibre[1].runs == (stub_fibre[0].made != 0 ? 2 : 1));
}

/* One worker, until the fibre 0 has run. */
static inline void yielders(struct stub_worker *me)
{
    struct stub_fibre *f = stub_get(me);
    while (f != &stub_fibre[0])
        f = stub_yield(me, f);
}

#define PARTS_SHARE(id, settings)                                                   \
    PARTS_MAIN(id, 2, PARTS_KNOBS(settings), , ran(3),                              \
               (stub_ready(W0, F(0), TN_SPAWNED), stub_ready(W0, F(1), TN_SPAWNED), \
                stub_ready(W0, F(2), TN_YIELDED), stub_get(W0), stub_get(W0)),      \
               stub_get(W1), )                                                      \
    CASE_MAIN(prepare, check, thread0, thread1)

#define PARTS_HOG(id, settings)                                                                                      \
    PARTS_MAIN(                                                                                                      \
        id, 3, PARTS_KNOBS(settings), , ran(3),                                                                      \
        (stub_ready(W0, F(0), TN_SPAWNED), stub_ready(W0, F(1), TN_YIELDED), stub_ready(W0, F(2), TN_YIELDED_HARD)), \
        (stub_get(W1), stub_get(W1)), stub_get(W2))                                                                  \
    CASE_MAIN(prepare, check, thread0, thread1, thread2)

#define PARTS_TAKE(id, settings, after)                                                                            \
    PARTS_MAIN(id, 2, PARTS_KNOBS(settings),                                                                       \
               (stub_ready(W0, F(0), TN_SPAWNED), stub_ready(W0, F(1), TN_YIELDED), stub_steal(W1, W0), hours(1)), \
               after,                                                                                              \
               (stub_next(W0, false), stub_ready(W0, F(2), TN_YIELDED), stub_ready(W0, F(3), TN_SPAWNED),          \
                stub_next(W0, false)),                                                                             \
               (stub_steal(W1, W0), stub_next(W1, false), stub_steal(W1, W0), stub_next(W1, false)), )             \
    CASE_MAIN(prepare, check, thread0, thread1)

#define PARTS_REVERSE(id, settings, after)                                                                      \
    PARTS_MAIN(id, 3, PARTS_KNOBS(settings),                                                                    \
               (stub_ready(W0, F(0), TN_SPAWNED), stub_ready(W0, F(1), TN_SPAWNED),                             \
                stub_ready(W0, F(2), TN_SPAWNED), stub_ready(W0, F(3), TN_SPAWNED), stub_next(W0, false)),      \
               after, (stub_next(W0, false), stub_next(W0, false)), (stub_steal(W1, W0), stub_next(W1, false)), \
               (stub_steal(W2, W0), stub_next(W2, false)))                                                      \
    CASE_MAIN(prepare, check, thread0, thread1, thread2)

#define PARTS_NEED(id, settings, begin, why)                                                           \
    PARTS_MAIN(id, 2, PARTS_KNOBS(settings), begin, ran(1), stub_ready(W0, F(0), why), stub_get(W1), ) \
    CASE_MAIN(prepare, check, thread0, thread1)

#define PARTS_JOIN(id, settings)                                                                        \
    PARTS_MAIN(id, 2, PARTS_KNOBS(settings), stub_absent(W1), ran(1), stub_ready(W0, F(0), TN_SPAWNED), \
               (stub_join(W1), stub_get(W1)), )                                                         \
    CASE_MAIN(prepare, check, thread0, thread1)

#define PARTS_CHILD(id, settings)                                                                       \
    PARTS_MAIN(id, 2, PARTS_KNOBS(settings), , child_ran(), stub_spawn(W0, F(0), F(1)), stub_get(W1), ) \
    CASE_MAIN(prepare, check, thread0, thread1)

#define PARTS_YIELDERS(id, settings)                                                                              \
    PARTS_MAIN(                                                                                                   \
        id, 1, PARTS_KNOBS(settings),                                                                             \
        (stub_ready(W0, F(0), TN_SPAWNED), stub_ready(W0, F(1), TN_SPAWNED), stub_ready(W0, F(2), TN_SPAWNED)), , \
        yielders(W0), stub_ready(NULL, F(3), TN_WOKEN), )                                                         \
    CASE_MAIN(prepare, check, thread0, thread1)

#define PARTS_PASS(id, settings, after)                                                                            \
    PARTS_MAIN(id, 2, PARTS_KNOBS(settings),                                                                       \
               (stub_ready(W0, F(1), TN_YIELDED), stub_ready(W0, F(2), TN_YIELDED), stub_steal(W1, W0), hours(1)), \
               after, stub_yield(W0, stub_yield(W0, F(0))),                                                        \
               (stub_steal(W1, W0), stub_next(W1, false), hours(1), stub_steal(W1, W0), stub_next(W1, false)), )   \
    CASE_MAIN(prepare, check, thread0, thread1)

#define PARTS_PREFER(id, settings)                                                                                \
    PARTS_MAIN(                                                                                                   \
        id, 2, PARTS_KNOBS(settings),                                                                             \
        (stub_ready(W0, F(1), TN_SPAWNED), stub_ready(W0, F(2), TN_SPAWNED), stub_ready(W1, F(0), TN_SPAWNED)), , \
        yielders(W0), stub_ready(W1, F(3), TN_SPAWNED), )                                                         \
    CASE_MAIN(prepare, check, thread0, thread1)

#define PARTS_LEAVE(id, settings, after)                                                                      \
    PARTS_MAIN(id, 2, PARTS_KNOBS(settings),                                                                  \
               (stub_ready(W0, F(0), TN_SPAWNED), stub_ready(W0, F(1), TN_YIELDED), stub_asleep(W1)), ran(2); \
               after, stub_leave(W0), (stub_get(W1), stub_get(W1)), )                                         \
    CASE_MAIN(prepare, check, thread0, thread1)

#define PARTS_HOME(id, settings)                                                            \
    PARTS_MAIN(id, 3, PARTS_KNOBS(settings), , ran(2),                                      \
               (F(0)->pub.home = F(1)->pub.home = &W1->pub, stub_ready(W0, F(0), TN_WOKEN), \
                stub_ready(NULL, F(1), TN_WOKEN)),                                          \
               (stub_get(W2), stub_get(W2)), )                                              \
    CASE_MAIN(prepare, check, thread0, thread1)

#define PARTS_FETCH(id, settings, after)                                                                  \
    PARTS_MAIN(id, 2, PARTS_KNOBS(settings), (stub_ready(W0, F(0), TN_SPAWNED), stub_asleep(W1)), ran(2); \
               after, stub_ready(W0, F(1), TN_SPAWNED), (stub_get(W1), stub_get(W1)), )                   \
    CASE_MAIN(prepare, check, thread0, thread1)

#define PARTS_FORCED(id, settings)                                                                            \
    PARTS_MAIN(id, 3, PARTS_KNOBS(settings),                                                                  \
               (stub_ready(W0, F(0), TN_SPAWNED), stub_ready(W0, F(1), TN_SPAWNED),                           \
                stub_ready(W0, F(2), TN_SPAWNED), atomic_init(&local_of(&W1->pub)->target, REQUEST_NEW | 1)), \
               , stub_next(W1, false), (stub_get(W2), stub_get(W2)), )                                        \
    CASE_MAIN(prepare, check, thread0, thread1)

#define PARTS_OWNER(id, settings)                                                            \
    PARTS_MAIN(id, 3, PARTS_KNOBS(settings),                                                 \
               (stub_ready(W0, F(0), TN_SPAWNED), stub_steal(W1, W0), stub_next(W1, false)), \
               assert(F(0)->runs == 2), stub_ready(W1, F(0), TN_WOKEN), stub_get(W2), )      \
    CASE_MAIN(prepare, check, thread0, thread1)

/* request=ticket: those that are left name each worker once at the most, and exactly if its flag says so. */
#define PARTS_TICKETS()                                                                                              \
    do {                                                                                                             \
        struct tn_mpmc_ring *ring_ = ((struct local_cluster *)stub_cluster.sched)->tickets;                          \
        unsigned out_[STUB_WORKERS] = {0};                                                                           \
        struct tn_worker *w_;                                                                                        \
        assert(tn_mpmc_valid(ring_));                                                                                \
        while ((w_ = tn_mpmc_pop(ring_)) != NULL)                                                                    \
            out_[w_->index]++;                                                                                       \
        for (uint32_t i_ = 0; i_ < stub_cluster.slots; i_++)                                                         \
            assert(out_[i_] == atomic_load_explicit(&local_of(&stub_worker[i_].pub)->ticket, memory_order_relaxed)); \
    } while (0)

#endif
