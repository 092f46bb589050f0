/* SPDX-License-Identifier: MIT
 *
 * What a flag around each action of the scheduler costs, which says "not now" to a handler that preempts (004 §3.3.8, row
 * H7): none, as Tenter has it, whose handler reads that off the stack; one that only the compiler is kept from moving; one
 * behind a full barrier.
 */
#include "bench_tenter.h"
#include "micro_common.h"

#include <stdatomic.h>

static struct bench *bench;

/* Of the one worker; relaxed: its own thread's, and the handler's that would interrupt it. */
static _Alignas(128) _Atomic(bool) inside;

enum flag { NONE, COMPILER, FULL };

static inline __attribute__((always_inline)) void barrier(enum flag how)
{
    if (how == FULL)
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
}

static inline __attribute__((always_inline)) void yields(uint64_t n, enum flag how)
{
    for (; n > 0; n--) {
        if (how != NONE) {
            atomic_store_explicit(&inside, true, memory_order_relaxed);
            barrier(how);
        }
        tn_yield();
        if (how != NONE) {
            barrier(how);
            atomic_store_explicit(&inside, false, memory_order_relaxed);
        }
    }
}

/* A loop for each, without a choice in it. */
static void *without(void *n)
{
    yields(*(const uint64_t *)n, NONE);
    return NULL;
}
static void *behind_compiler(void *n)
{
    yields(*(const uint64_t *)n, COMPILER);
    return NULL;
}
static void *behind_full(void *n)
{
    yields(*(const uint64_t *)n, FULL);
    return NULL;
}

static double among_two(uint64_t ops, void *(*fn)(void *))
{
    uint64_t each = ops / 2, begin = bench_now();
    tn_fibre *f[2];
    for (int i = 0; i < 2; i++)
        if (tn_spawn(&f[i], NULL, fn, &each) != 0)
            bench_die(bench, BENCH_INTERNAL, "no fibre");
    for (int i = 0; i < 2; i++)
        tn_join(f[i], NULL);
    double ns = (double)(bench_now() - begin) / (double)ops;
    if (atomic_load_explicit(&inside, memory_order_relaxed))
        micro_fail("flag", "it is set when all have ended");
    return ns;
}

static double flag_none(uint64_t ops)
{
    return among_two(ops, without);
}
static double flag_compiler(uint64_t ops)
{
    return among_two(ops, behind_compiler);
}
static double flag_full(uint64_t ops)
{
    return among_two(ops, behind_full);
}

static const struct micro_case cases[] = {
    {"flag_none", "yield among two fibres, no flag", 1, 2, flag_none},
    {"flag_compiler", "the same, a flag set and cleared behind compiler barriers", 1, 2, flag_compiler},
    {"flag_full", "the same behind full barriers", 1, 2, flag_full},
};

static void *fibres(void *arg)
{
    micro_measure(cases, sizeof cases / sizeof *cases);
    return arg;
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"case", BENCH_LIST, "all", 0, 0, "all", "", "cases to run", NULL, 0, 0, false},
        {"ms", BENCH_REAL, "40", 0.01, 10000, NULL, "ms", "about how long a repetition of a case takes", NULL, 0, 0,
         false},
    };
    static struct bench b = {.program = "flag",
                             .about = "what a flag around each action of the scheduler costs, by its barrier",
                             .clock = MICRO_CLOCK_OPS,
                             .takes = BENCH_TAKES_SCHEDULER,
                             .own = own,
                             .n = sizeof own / sizeof *own};
    bench = &b;
    micro_start(&b, argc, argv, cases, sizeof cases / sizeof *cases, NULL, 0);
    if (bench_int(&b, "workers") != 1)
        bench_die(&b, BENCH_USAGE, "--workers %s: 1, whose flag it is", bench_text(&b, "workers"));
    bench_tenter_run(&b, "", fibres, NULL);
    return micro_finish();
}
