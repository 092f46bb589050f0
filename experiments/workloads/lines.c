/* SPDX-License-Identifier: MIT
 *
 * A word that two processors write in turn (001 figure 2.4): what it takes for one to see what the other has
 * written. No runtime runs. The answer is checked by the last number.
 */
#include "../../core/platform.h"
#include "bench.h"
#include "micro_common.h"

#include <stdatomic.h>

static struct bench *bench;

static struct {
    _Alignas(128) _Atomic(uint64_t) word;
    _Alignas(128) _Atomic(uint64_t) there;
} line;

/* Until somebody has written n. */
static void wait_for(uint64_t n)
{
    while (atomic_load_explicit(&line.word, memory_order_acquire) != n) /* L0 */
        bench_relax();
}

static void *answer(void *last)
{
    bench_pin((unsigned)bench_int(bench, "to"));
    atomic_store_explicit(&line.there, 1, memory_order_release); /* L1 */
    for (uint64_t n = 1; n <= *(uint64_t *)last; n += 2) {
        wait_for(n);
        atomic_store_explicit(&line.word, n + 1, memory_order_release); /* L0 */
    }
    return NULL;
}

static double hand_over(uint64_t ops)
{
    struct tn_thread t;
    if (bench_int(bench, "to") >= bench_processors())
        bench_die(bench, BENCH_UNSUPPORTED, "there is no processor %d: there are %u", (int)bench_int(bench, "to"),
                  bench_processors());
    atomic_store_explicit(&line.word, 0, memory_order_relaxed);
    atomic_store_explicit(&line.there, 0, memory_order_relaxed);
    bench_confine(bench_processors()); /* the other one shall not have to wait for processor 0 */
    if (tn_thread_create(&t, answer, &ops) != 0)
        bench_die(bench, BENCH_INTERNAL, "no thread");
    bench_pin(0);
    while (atomic_load_explicit(&line.there, memory_order_acquire) == 0) /* L1 */
        bench_relax();
    uint64_t begin = bench_now();
    for (uint64_t n = 0; n < ops; n += 2) {
        atomic_store_explicit(&line.word, n + 1, memory_order_release); /* L0 */
        wait_for(n + 2);
    }
    double ns = (double)(bench_now() - begin) / (double)ops;
    tn_thread_join(&t);
    if (atomic_load_explicit(&line.word, memory_order_relaxed) != ops)
        micro_fail("line", "the last number is another one");
    return ns;
}

static const struct micro_case cases[] = {
    {"line", "a word to another processor", 2, 2, hand_over},
};

int main(int argc, char **argv)
{
    static struct bench_option own_options[] = {
        {"case", BENCH_LIST, "all", 0, 0, "all", "", "cases to run", NULL, 0, 0, false},
        {"ms", BENCH_REAL, "20", 0.01, 10000, NULL, "ms", "about how long a repetition takes", NULL, 0, 0, false},
        {"to", BENCH_INT, "1", 1, 1023, NULL, "", "the other processor; the first one is 0", NULL, 0, 0, false},
    };
    static struct bench b = {.program = "lines",
                             .about = "a line between two processors",
                             .clock = MICRO_CLOCK_OPS,
                             .own = own_options,
                             .n = sizeof own_options / sizeof *own_options};
    bench = &b;
    return micro_alone(&b, argc, argv, cases, sizeof cases / sizeof *cases);
}
