/* SPDX-License-Identifier: MIT
 *
 * The queues of core/queues by themselves: what an item costs whose owner takes it back, and one that goes to another
 * thread. No runtime runs. The answer is checked by the sum of what was taken.
 */
#include "../../core/platform.h"
#include "bench.h"
#include "micro_common.h"
#include "queue_faces.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { CAPACITY = 64, MOST = 8 };

static struct bench *bench;
static struct queue_item items[CAPACITY];

static void *make(const struct queue_face *face)
{
    void *q =
        aligned_alloc(TN_CACHE_LINE, (face->bytes(CAPACITY) + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE);
    if (q == NULL)
        bench_die(bench, BENCH_INTERNAL, "no memory");
    face->init(q, CAPACITY);
    for (unsigned i = 0; i < CAPACITY; i++)
        items[i] = (struct queue_item){.id = i};
    return q;
}

/* Four in, four out. */
static double own(const struct queue_face *face, uint64_t ops)
{
    void *q = make(face);
    uint64_t sum = 0, begin = bench_now();
    for (uint64_t i = 0; i < ops; i += 4) {
        for (unsigned k = 0; k < 4; k++)
            if (!face->push(q, &items[k]))
                micro_fail(face->name, "a queue of few items is full");
        for (unsigned k = 0; k < 4; k++)
            sum += ((struct queue_item *)face->pop(q))->id;
    }
    double ns = (double)(bench_now() - begin) / (double)ops;
    if (sum != ops / 4 * 6)
        micro_fail(face->name, "items do not add up");
    free(q);
    return ns;
}

/* An item is free again when the other thread has counted it. */
struct pass {
    const struct queue_face *face;
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
        size_t n = p->face->take(p->q, p->face->shared ? 1 : MOST, out);
        if (n == 0)
            bench_relax();
        for (size_t i = 0; i < n; i++)
            p->sum += ((struct queue_item *)out[i])->id;
        done += n;
        if (n != 0)
            atomic_store_explicit(&p->taken, done, memory_order_release); /* Q0 */
    }
    return arg;
}

static double pass(const struct queue_face *face, uint64_t ops)
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

#define CASES(s, i)                        \
    static double s##_own(uint64_t ops)    \
    {                                      \
        return own(&queue_faces[i], ops);  \
    }                                      \
    static double s##_pass(uint64_t ops)   \
    {                                      \
        return pass(&queue_faces[i], ops); \
    }

CASES(ring, RING)
CASES(fifo, FIFO)
CASES(lifo, LIFO)
CASES(locked, LOCKED)

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
