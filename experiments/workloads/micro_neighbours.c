/* SPDX-License-Identifier: MIT
 *
 * The physical neighbours: what the processor and the kernel charge for the steps that a runtime is built of.
 * They run before any runtime is started, on threads of their own.
 */
#include "micro_common.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static _Alignas(128) _Atomic(uint64_t) word;
static _Alignas(128) _Atomic(uint64_t) ping;
static _Alignas(128) _Atomic(uint64_t) pong;

/* A loop of `ops` rounds around a statement, timed; the compiler may not merge rounds. */
#define TIMED(statement)                                    \
    do {                                                    \
        uint64_t start = bench_now();                       \
        for (uint64_t i = 0; i < ops; i++) {                \
            statement;                                      \
            __asm__ volatile("" : : : "memory");            \
        }                                                   \
        return (double)(bench_now() - start) / (double)ops; \
    } while (0)

__attribute__((noinline)) static void nothing(void)
{
    __asm__ volatile("");
}
static void (*volatile indirect)(void) = nothing;

static double call(uint64_t ops)
{
    TIMED(indirect());
}

static double rmw(uint64_t ops)
{
    TIMED(atomic_fetch_add_explicit(&word, 1, memory_order_acq_rel));
}

static double cas_xchg(uint64_t ops) /* lock and unlock of the plainest kind that may have waiters */
{
    atomic_store_explicit(&word, 0, memory_order_relaxed);
    TIMED({
        uint64_t expected = 0;
        if (!atomic_compare_exchange_strong_explicit(&word, &expected, 1, memory_order_acquire, memory_order_relaxed))
            micro_fail("phys_cas_xchg", "the compare-and-exchange failed");
        atomic_exchange_explicit(&word, 0, memory_order_release);
    });
}

static double cas_store(uint64_t ops)
{
    atomic_store_explicit(&word, 0, memory_order_relaxed);
    TIMED({
        uint64_t expected = 0;
        if (!atomic_compare_exchange_strong_explicit(&word, &expected, 1, memory_order_acquire, memory_order_relaxed))
            micro_fail("phys_cas_store", "the compare-and-exchange failed");
        atomic_store_explicit(&word, 0, memory_order_release);
    });
}

static double store(uint64_t ops)
{
    TIMED(atomic_store_explicit(&word, i, memory_order_release));
}

static double fence(uint64_t ops)
{
    TIMED(atomic_thread_fence(memory_order_seq_cst));
}

static double membarrier(uint64_t ops)
{
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0)
        return 0.0 / 0.0; /* not here: null in the record */
    TIMED(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
}

static double clock_read(uint64_t ops)
{
    TIMED(bench_now());
}

#if defined(__x86_64__)
static double tsc(uint64_t ops)
{
    TIMED(__rdtsc());
}
#endif

static double system_call(uint64_t ops)
{
    TIMED(syscall(SYS_getppid));
}

static double futex_wake(uint64_t ops)
{
    static _Atomic(uint32_t) nobody;
    TIMED(syscall(SYS_futex, &nobody, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
}

/* ---- two threads, each pinned to a processor ---- */

struct pair {
    uint64_t ops;
    void *(*first)(void *), *(*second)(void *);
    _Atomic(int) there;
    uint64_t start[2], stop[2];
    _Atomic(bool) over;
};

static void meet(struct pair *p, unsigned me)
{
    bench_pin(me);
    atomic_fetch_add_explicit(&p->there, 1, memory_order_acq_rel);
    while (atomic_load_explicit(&p->there, memory_order_acquire) != 2)
        bench_relax();
    p->start[me] = bench_now();
}

static double two(struct pair *p)
{
    pthread_t a, b;
    if (pthread_create(&a, NULL, p->first, p) != 0 || pthread_create(&b, NULL, p->second, p) != 0)
        return 0.0 / 0.0;
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    uint64_t start = p->start[0] < p->start[1] ? p->start[0] : p->start[1];
    uint64_t stop = p->stop[0] > p->stop[1] ? p->stop[0] : p->stop[1];
    return (double)(stop - start) / (double)p->ops;
}

static void *line_first(void *arg)
{
    struct pair *p = arg;
    meet(p, 0);
    for (uint64_t i = 1; i <= p->ops; i++) {
        atomic_store_explicit(&ping, i, memory_order_release);
        while (atomic_load_explicit(&pong, memory_order_acquire) != i)
            bench_relax();
    }
    p->stop[0] = bench_now();
    return NULL;
}

static void *line_second(void *arg)
{
    struct pair *p = arg;
    meet(p, 1);
    for (uint64_t i = 1; i <= p->ops; i++) {
        while (atomic_load_explicit(&ping, memory_order_acquire) != i)
            bench_relax();
        atomic_store_explicit(&pong, i, memory_order_release);
    }
    p->stop[1] = bench_now();
    return NULL;
}

static double line(uint64_t ops)
{
    struct pair p = {.ops = ops, .first = line_first, .second = line_second};
    atomic_store_explicit(&ping, 0, memory_order_relaxed);
    atomic_store_explicit(&pong, 0, memory_order_relaxed);
    return two(&p);
}

static void add_half(struct pair *p, unsigned me)
{
    meet(p, me);
    for (uint64_t i = 0; i < p->ops / 2; i++)
        atomic_fetch_add_explicit(&word, 1, memory_order_acq_rel);
    p->stop[me] = bench_now();
}

static void *add_first(void *arg)
{
    add_half(arg, 0);
    return NULL;
}

static void *add_second(void *arg)
{
    add_half(arg, 1);
    return NULL;
}

static double xadd_2(uint64_t ops)
{
    struct pair p = {.ops = ops, .first = add_first, .second = add_second};
    atomic_store_explicit(&word, 0, memory_order_relaxed);
    double ns = two(&p);
    if (atomic_load_explicit(&word, memory_order_relaxed) != ops / 2 * 2)
        micro_fail("phys_xadd_2", "an addition was lost");
    return ns;
}

const struct micro_case micro_neighbours[] = {
    {"phys_call", "indirect call and return, predicted", 1, 1, call},
    {"phys_rmw", "atomic fetch-and-add, uncontended", 1, 1, rmw},
    {"phys_cas_xchg", "compare-and-exchange, then exchange, uncontended", 1, 1, cas_xchg},
    {"phys_cas_store", "compare-and-exchange, then release store, uncontended", 1, 1, cas_store},
    {"phys_store", "release store", 1, 1, store},
    {"phys_fence", "sequentially consistent fence", 1, 1, fence},
    {"phys_membarrier", "expedited private membarrier", 1, 1, membarrier},
    {"phys_clock", "clock_gettime of the monotonic clock", 1, 1, clock_read},
#if defined(__x86_64__)
    {"phys_tsc", "rdtsc", 1, 1, tsc},
#endif
    {"phys_syscall", "the least system call", 1, 1, system_call},
    {"phys_futex_wake", "futex wake with nobody waiting", 1, 1, futex_wake},
    {"phys_line", "round trip of a cache line between two processors", 2, 1000, line},
    {"phys_xadd_2", "fetch-and-add by two processors on one word, for each", 2, 10000, xadd_2},
};
const size_t micro_neighbours_n = sizeof micro_neighbours / sizeof *micro_neighbours;
