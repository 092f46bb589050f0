/* SPDX-License-Identifier: MIT
 *
 * The queues of core/queues by themselves: what an item costs whose owner takes it back, and one that goes to another
 * thread. No runtime runs. The answer is checked by the sum of what was taken.
 */
#include "../../core/platform.h"
#include "../../core/queues/link.h"
#include "../../core/queues/locked.h"
#include "../../core/queues/mpmc_ring.h"
#include "../../core/queues/spmc_fifo.h"
#include "../../core/queues/spmc_lifo.h"
#include "bench.h"
#include "micro_common.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { CAPACITY = 64, MOST = 8 };

struct item {
    struct tn_link link; /* first: an item's address is its link's */
    uint64_t number;
};

/* One face for all of them. */
struct queue {
    const char *name;
    size_t (*bytes)(size_t capacity);
    void (*init)(void *q, size_t capacity);
    bool (*push)(void *q, void *item);
    void *(*pop)(void *q);                            /* by who pushes */
    size_t (*take)(void *q, size_t max, void *out[]); /* by another */
};

#define FACE(t, body, s)                                     \
    static void s##_init(void *q, size_t capacity)           \
    {                                                        \
        t##_init(q, capacity);                               \
    }                                                        \
    static bool s##_push(void *q, void *item)                \
    {                                                        \
        return t##_push(q, item);                            \
    }                                                        \
    static void *s##_pop(void *q)                            \
    {                                                        \
        return t##_pop(q);                                   \
    }                                                        \
    static size_t s##_take(void *q, size_t max, void *out[]) \
    {                                                        \
        (void)max;                                           \
        return body;                                         \
    }

FACE(tn_mpmc, (out[0] = tn_mpmc_pop(q)) != NULL, ring)
FACE(tn_spmc_fifo, tn_spmc_fifo_steal(q, max, out), fifo)
FACE(tn_spmc_lifo, tn_spmc_lifo_steal(q, max, out), lifo)

static size_t locked_bytes(size_t capacity)
{
    (void)capacity;
    return sizeof(struct tn_locked_queue);
}

static void locked_init(void *q, size_t capacity)
{
    (void)capacity;
    tn_locked_queue_init(q);
}

static bool locked_push(void *q, void *item)
{
    tn_locked_queue_push_back(q, item);
    return true;
}

static void *locked_pop(void *q)
{
    return tn_locked_queue_pop_front(q);
}

static size_t locked_take(void *q, size_t max, void *out[])
{
    (void)max;
    return (out[0] = tn_locked_queue_pop_front(q)) != NULL;
}

static struct bench *bench;
static struct item items[CAPACITY];

static void *make(const struct queue *face)
{
    void *q =
        aligned_alloc(TN_CACHE_LINE, (face->bytes(CAPACITY) + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE);
    if (q == NULL)
        bench_die(bench, BENCH_INTERNAL, "no memory");
    face->init(q, CAPACITY);
    for (unsigned i = 0; i < CAPACITY; i++)
        items[i] = (struct item){.number = i};
    return q;
}

/* Four in, four out. */
static double own(const struct queue *face, uint64_t ops)
{
    void *q = make(face);
    uint64_t sum = 0, begin = bench_now();
    for (uint64_t i = 0; i < ops; i += 4) {
        for (unsigned k = 0; k < 4; k++)
            if (!face->push(q, &items[k]))
                micro_fail(face->name, "a queue of few items is full");
        for (unsigned k = 0; k < 4; k++)
            sum += ((struct item *)face->pop(q))->number;
    }
    double ns = (double)(bench_now() - begin) / (double)ops;
    if (sum != ops / 4 * 6)
        micro_fail(face->name, "items do not add up");
    free(q);
    return ns;
}

/* An item is free again when the other thread has counted it. */
struct pass {
    const struct queue *face;
    void *q;
    uint64_t ops, sum;
    _Alignas(128) _Atomic(uint64_t) taken, there;
};

static void *taker(void *arg)
{
    struct pass *p = arg;
    void *out[MOST];
    bench_pin(1);
    atomic_store_explicit(&p->there, 1, memory_order_release); /* Q1 */
    for (uint64_t done = 0; done < p->ops;) {
        size_t n = p->face->take(p->q, MOST, out);
        if (n == 0)
            bench_relax();
        for (size_t i = 0; i < n; i++)
            p->sum += ((struct item *)out[i])->number;
        done += n;
        if (n != 0)
            atomic_store_explicit(&p->taken, done, memory_order_release); /* Q0 */
    }
    return arg;
}

static double pass(const struct queue *face, uint64_t ops)
{
    struct pass p = {.face = face, .q = make(face), .ops = ops};
    struct tn_thread t;
    uint64_t seen = 0, sum = 0;
    bench_confine(bench_processors()); /* the other one shall not have to wait for processor 0 */
    if (tn_thread_create(&t, taker, &p) != 0)
        bench_die(bench, BENCH_INTERNAL, "no thread");
    bench_pin(0);
    while (atomic_load_explicit(&p.there, memory_order_acquire) == 0) /* Q1 */
        bench_relax();
    uint64_t begin = bench_now();
    for (uint64_t i = 0; i < ops; i++) {
        while (i - seen == CAPACITY / 2) {
            seen = atomic_load_explicit(&p.taken, memory_order_acquire); /* Q0 */
            if (i - seen == CAPACITY / 2)
                bench_relax();
        }
        if (!face->push(p.q, &items[i % CAPACITY]))
            micro_fail(face->name, "a queue of few items is full");
        sum += i % CAPACITY;
    }
    while (atomic_load_explicit(&p.taken, memory_order_acquire) != ops) /* Q0 */
        bench_relax();
    double ns = (double)(bench_now() - begin) / (double)ops;
    tn_thread_join(&t);
    free(p.q);
    if (p.sum != sum)
        micro_fail(face->name, "items do not add up");
    return ns;
}

#define CASES(s, b)                                                                      \
    static const struct queue s##_face = {#s, b, s##_init, s##_push, s##_pop, s##_take}; \
    static double s##_own(uint64_t ops)                                                  \
    {                                                                                    \
        return own(&s##_face, ops);                                                      \
    }                                                                                    \
    static double s##_pass(uint64_t ops)                                                 \
    {                                                                                    \
        return pass(&s##_face, ops);                                                     \
    }

CASES(ring, tn_mpmc_bytes)
CASES(fifo, tn_spmc_fifo_bytes)
CASES(lifo, tn_spmc_lifo_bytes)
CASES(locked, locked_bytes)

static const struct micro_case cases[] = {
    {"ring_own", "mpmc_ring: an item in and out", 1, 4, ring_own},
    {"fifo_own", "spmc_fifo: an item in and out", 1, 4, fifo_own},
    {"lifo_own", "spmc_lifo: an item in and out", 1, 4, lifo_own},
    {"locked_own", "a list under a spin lock: an item in and out", 1, 4, locked_own},
    {"ring_pass", "mpmc_ring: an item to another thread", 2, 1, ring_pass},
    {"fifo_pass", "spmc_fifo: an item to a thief", 2, 1, fifo_pass},
    {"lifo_pass", "spmc_lifo: an item to a thief", 2, 1, lifo_pass},
    {"locked_pass", "a list under a spin lock: an item to another thread", 2, 1, locked_pass},
};

int main(int argc, char **argv)
{
    static struct bench_option own_options[] = {
        {"case", BENCH_LIST, "all", 0, 0, "all", "", "cases to run", NULL, 0, 0, false},
        {"ms", BENCH_REAL, "20", 0.01, 10000, NULL, "ms", "about how long a repetition of a case takes", NULL, 0, 0,
         false},
    };
    static struct bench b = {.program = "queues",
                             .about = "the queues of core/queues by themselves",
                             .clock = MICRO_CLOCK_OPS,
                             .own = own_options,
                             .n = sizeof own_options / sizeof *own_options};
    bench = &b;
    return micro_alone(&b, argc, argv, cases, sizeof cases / sizeof *cases);
}
