/* SPDX-License-Identifier: MIT
 *
 * What `./tenter sim --calibrate` runs: one kernel for each figure of a machine file. It is run on the machine, and on the
 * simulated one; a figure is what makes the simulated kernel take the time that was measured (docs/simulating.md). The work
 * kernels are code of no workload: what is validated has not been calibrated with.
 */
#include "../../core/platform.h"
#include "bench.h"
#include "micro_common.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LINE _Alignas(128) /* and not the neighbour that some processors fetch besides */

static struct bench *bench;
static LINE _Atomic(uint64_t) word, other, stop;
static LINE _Atomic(uint32_t) bed;
static volatile uint64_t sink;

#define TIMED(...)                                          \
    do {                                                    \
        uint64_t start = bench_now();                       \
        for (uint64_t i = 0; i < ops; i++) {                \
            __VA_ARGS__;                                    \
            __asm__ volatile("" : : : "memory");            \
        }                                                   \
        return (double)(bench_now() - start) / (double)ops; \
    } while (0)

/* Relaxed counts and flags below order nothing but themselves; what a flag announces is announced by release (K0) and seen
 * by acquire (K0). */
static uint64_t get(_Atomic(uint64_t) *p)
{
    return atomic_load_explicit(p, memory_order_acquire); /* K0 */
}

static void put(_Atomic(uint64_t) *p, uint64_t v)
{
    atomic_store_explicit(p, v, memory_order_release); /* K0 */
}

/* ---- instructions: what runtimes do all day, within the first-level cache ---- */

enum { NODES = 64, TABLE = 256 };

struct node {
    struct node *next, *before;
    uint64_t key, seen;
};

/* A ring of which one node after another goes to the front. */
static double work_list(uint64_t ops)
{
    static struct node ring, nodes[NODES];
    ring.next = ring.before = &ring;
    for (uint64_t i = 0; i < NODES; i++) {
        nodes[i] = (struct node){&ring, ring.before, i * 37 % NODES, 0};
        ring.before->next = &nodes[i];
        ring.before = &nodes[i];
    }
    TIMED({
        struct node *n = ring.before;
        n->before->next = n->next;
        n->next->before = n->before;
        n->next = ring.next;
        n->before = &ring;
        ring.next->before = n;
        ring.next = n;
        n->seen += n->key;
    });
}

/* Find or put keys that come again. */
static double work_hash(uint64_t ops)
{
    static uint64_t keys[TABLE], counts[TABLE];
    uint64_t state = 1;
    TIMED({
        uint64_t key = 1 + bench_below(&state, TABLE / 2), at = key * UINT64_C(0x9e3779b97f4a7c15) >> 56;
        while (keys[at] != 0 && keys[at] != key)
            at = (at + 1) % TABLE;
        keys[at] = key;
        counts[at]++;
    });
}

/* Take the least of a heap, put a later one. */
static double work_heap(uint64_t ops)
{
    static uint64_t heap[NODES];
    uint64_t state = 1;
    for (uint64_t i = 0; i < NODES; i++)
        heap[i] = i;
    TIMED({
        uint64_t key = heap[0] + bench_below(&state, 1000), at = 0;
        for (uint64_t child = 1; child < NODES; child = 2 * at + 1) {
            child += child + 1 < NODES && heap[child + 1] < heap[child];
            if (heap[child] >= key)
                break;
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = key;
    });
}

/* Numbers out of a text. */
static double work_parse(uint64_t ops)
{
    static const char text[] = "17 4023 9 256 70000 3 81 5512 6 640 99999 1 ";
    const char *at = text;
    uint64_t sum = 0;
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < ops; i++) {
        uint64_t value = 0;
        for (; *at != ' '; at++)
            value = value * 10 + (uint64_t)(*at - '0');
        at = at[1] == '\0' ? text : at + 1;
        sum += value;
    }
    sink = sum;
    return (double)(bench_now() - start) / (double)ops;
}

/* Calls through a table, as one makes of a module. */
struct ops {
    bool (*put)(struct ops *o, uint64_t v);
    uint64_t (*take)(struct ops *o);
    uint64_t ring[16], head, tail;
};

__attribute__((noinline)) static bool ring_put(struct ops *o, uint64_t v)
{
    if (o->tail - o->head == 16)
        return false;
    o->ring[o->tail++ % 16] = v;
    return true;
}

__attribute__((noinline)) static uint64_t ring_take(struct ops *o)
{
    return o->head != o->tail ? o->ring[o->head++ % 16] : 0;
}

static double work_call(uint64_t ops)
{
    static struct ops table = {ring_put, ring_take, {0}, 0, 0};
    struct ops *volatile behind = &table;
    TIMED({
        struct ops *o = behind;
        o->put(o, i);
        sink = o->take(o);
    });
}

/* ---- single operations of one core ---- */

static double clock_read(uint64_t ops)
{
    TIMED(bench_now());
}

static double pause_spin(uint64_t ops)
{
    TIMED(bench_relax());
}

static double atomic_own(uint64_t ops)
{
    TIMED(atomic_fetch_add_explicit(&word, 1, memory_order_relaxed)); /* relaxed: one thread */
}

static double fence_full(uint64_t ops)
{
    TIMED(atomic_thread_fence(memory_order_seq_cst));
}

static double malloc_free(uint64_t ops)
{
    TIMED({
        void *volatile p = malloc(64);
        free(p);
    });
}

static double sched_give(uint64_t ops)
{
    TIMED(sched_yield());
}

static double park_call(uint64_t ops) /* into the kernel and back: the word has changed */
{
    TIMED(tn_park(&bed, 1 + atomic_load_explicit(&bed, memory_order_relaxed), UINT64_MAX));
}

static double wake_nobody(uint64_t ops)
{
    TIMED(tn_unpark(&bed, 1));
}

static void *nothing(void *arg)
{
    return arg;
}

static void launch(struct tn_thread *t, void *(*fn)(void *))
{
    if (tn_thread_create(t, fn, NULL) != 0)
        bench_die(bench, BENCH_INTERNAL, "no thread");
}

static double thread_life(uint64_t ops)
{
    TIMED({
        struct tn_thread t;
        launch(&t, nothing);
        tn_thread_join(&t);
    });
}

/* Links of a random cycle over more than any cache; of the system's large pages, where it gives them. */
#if !defined(TENTER_SIMULATED)
#include <sys/mman.h>

static double memory_read(uint64_t ops)
{
    enum { STRIDE = 256 };
    static char *room;
    static uint32_t at;
    const size_t bytes = (size_t)bench_int(bench, "memory-mib") << 20;
    const uint32_t n = (uint32_t)(bytes / STRIDE);
    if (room == NULL) {
        uint64_t state = 1;
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            bench_die(bench, BENCH_INTERNAL, "no memory");
        (void)madvise(p, bytes, MADV_HUGEPAGE);
        room = p;
        for (uint32_t i = 0; i < n; i++)
            memcpy(room + (size_t)i * STRIDE, &i, sizeof i);
        for (uint32_t i = n - 1; i > 0; i--) { /* Sattolo: one cycle */
            uint32_t k = bench_below(&state, i), a, b;
            memcpy(&a, room + (size_t)i * STRIDE, sizeof a);
            memcpy(&b, room + (size_t)k * STRIDE, sizeof b);
            memcpy(room + (size_t)i * STRIDE, &b, sizeof b);
            memcpy(room + (size_t)k * STRIDE, &a, sizeof a);
        }
    }
    uint64_t begin = bench_now();
    for (uint64_t i = 0; i < ops; i++)
        memcpy(&at, room + (size_t)at * STRIDE, sizeof at);
    uint64_t took = bench_now() - begin;
    sink = at;
    return (double)took / (double)ops;
}
#endif

/* ---- two cores ---- */

static void start_peer(struct tn_thread *t, void *(*fn)(void *))
{
    put(&word, 0);
    put(&other, 0);
    put(&stop, 0);
    bench_confine(bench_processors()); /* who is made inherits this, and shall not have to wait for processor 0 */
    launch(t, fn);
    bench_pin(0);
}

static void pin_peer(void)
{
    bench_pin((unsigned)bench_int(bench, "peer"));
}

static void *returner(void *arg)
{
    pin_peer();
    put(&other, 1);
    for (uint64_t i = 1;; i++) {
        uint64_t spun = 0;
        while (get(&word) != 2 * i - 1)
            if (++spun % 64 == 0 && get(&stop) != 0)
                return arg;
        put(&word, 2 * i);
    }
}

/* A line goes to the other core and comes back. */
static double line_pass(uint64_t ops)
{
    struct tn_thread t;
    start_peer(&t, returner);
    while (get(&other) == 0)
        bench_relax();
    uint64_t begin = bench_now();
    for (uint64_t i = 1; i <= ops; i++) {
        put(&word, 2 * i - 1);
        while (get(&word) != 2 * i)
            ;
    }
    uint64_t took = bench_now() - begin;
    put(&stop, 1);
    tn_thread_join(&t);
    return (double)took / (double)ops;
}

static void *sleeper(void *arg)
{
    pin_peer();
    for (uint32_t i = 0; get(&stop) == 0; i++) {
        put(&other, i + 1);
        while (atomic_load_explicit(&bed, memory_order_acquire) == i) /* K0 */
            tn_park(&bed, i, UINT64_MAX);
        put(&word, tn_now());
    }
    return arg;
}

enum { FALLS_ASLEEP = 30000 };

/* Somebody who sleeps is woken: what it costs who wakes, and when the other one runs. */
static double waking(uint64_t ops, bool whole)
{
    struct tn_thread t;
    uint64_t sum = 0;
    atomic_store_explicit(&bed, 0, memory_order_relaxed);
    start_peer(&t, sleeper);
    for (uint32_t i = 0; i <= ops; i++) {
        while (get(&other) != i + 1)
            bench_relax();
        for (uint64_t since = bench_now(); bench_now() - since < FALLS_ASLEEP;)
            bench_relax();
        put(&word, 0);
        if (i == ops)
            put(&stop, 1);
        uint64_t begin = bench_now();
        atomic_store_explicit(&bed, i + 1, memory_order_release); /* K0 */
        tn_unpark(&bed, 1);
        uint64_t woke = bench_now(), runs;
        while ((runs = get(&word)) == 0)
            bench_relax();
        if (i < ops)
            sum += (whole ? runs : woke) - begin;
    }
    tn_thread_join(&t);
    return (double)sum / (double)ops;
}

static double wake_call(uint64_t ops)
{
    return waking(ops, false);
}

static double wake_run(uint64_t ops)
{
    return waking(ops, true);
}

static LINE _Atomic(uint64_t) rounds;

static void *counter(void *arg)
{
    pin_peer();
    put(&other, 1);
    while (get(&stop) == 0) {
        for (int i = 0; i < 100; i++)
            __asm__ volatile("");
        atomic_store_explicit(&rounds, atomic_load_explicit(&rounds, memory_order_relaxed) + 1, memory_order_relaxed);
    }
    return arg;
}

/* Heavy fences: what one costs, and for how long it stops the other core. */
static double fences(uint64_t ops, bool lost)
{
    struct tn_thread t;
    start_peer(&t, counter);
    while (get(&other) == 0)
        bench_relax();
    uint64_t begin = bench_now(), first = get(&rounds);
    for (uint64_t i = 0; i < ops; i++)
        tn_fence_heavy();
    uint64_t took = bench_now() - begin, with = get(&rounds) - first;
    uint64_t again = bench_now(), second = get(&rounds);
    while (bench_now() - again < took)
        bench_relax();
    uint64_t without = get(&rounds) - second;
    put(&stop, 1);
    tn_thread_join(&t);
    if (!lost)
        return (double)took / (double)ops;
    return with < without ? (1 - (double)with / (double)without) * (double)took / (double)ops : 0;
}

static double fence_heavy(uint64_t ops)
{
    return fences(ops, false);
}

static double fence_lost(uint64_t ops)
{
    return fences(ops, true);
}

/* Two that never give way share a core: for how long one has it. Looks at the clock tell. */
static void *hog(void *arg)
{
    bench_pin(0);
    while (get(&stop) == 0)
        bench_now();
    return arg;
}

static double share(uint64_t ops)
{
    enum { GAP = 200000 };
    struct tn_thread t;
    uint64_t sum = 0, seen = 0;
    start_peer(&t, hog);
    for (uint64_t last = bench_now(), now; seen < ops; last = now) {
        now = bench_now();
        if (now - last > GAP) {
            sum += now - last;
            seen++;
        }
    }
    put(&stop, 1);
    tn_thread_join(&t);
    return (double)sum / (double)ops;
}

static const struct micro_case cases[] = {
    {"work_list", "a ring, its last node to the front", 1, 1, work_list},
    {"work_hash", "a table, find or put", 1, 1, work_hash},
    {"work_heap", "a heap, take one and put one", 1, 1, work_heap},
    {"work_parse", "a number out of a text", 1, 1, work_parse},
    {"work_call", "two calls through a table", 1, 1, work_call},
    {"clock", "a look at the clock", 1, 1, clock_read},
    {"pause", "a breath in a spin loop", 1, 1, pause_spin},
    {"atomic", "an update of an own line", 1, 1, atomic_own},
    {"fence", "a full fence", 1, 1, fence_full},
    {"malloc", "malloc and free", 1, 1, malloc_free},
    {"yield", "sched_yield without others", 1, 1, sched_give},
    {"park", "into the kernel to sleep, and back since it is not to be", 1, 1, park_call},
    {"call", "a wake that finds nobody", 1, 1, wake_nobody},
    {"create", "a thread, made and joined", 1, 1, thread_life},
    {"slice", "two hogs on one core: how long one keeps it", 1, 1, share},
#if !defined(TENTER_SIMULATED)
    {"memory", "a read from memory that the next one waits for", 1, 1, memory_read},
#endif
    {"transfer", "a line to the other core and back", 2, 1, line_pass},
    {"wake", "to wake one that sleeps", 2, 1, wake_call},
    {"start", "from before that until it runs", 2, 1, wake_run},
    {"heavy", "a heavy fence while another core runs", 2, 1, fence_heavy},
    {"interrupt", "what it costs that one", 2, 1, fence_lost},
};

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"case", BENCH_LIST, "all", 0, 0, "all", "", "kernels to run", NULL, 0, 0, false},
        {"ms", BENCH_REAL, "5", 0.01, 10000, NULL, "ms", "about how long a repetition of a kernel takes", NULL, 0, 0,
         false},
        {"peer", BENCH_INT, "1", 0, 4095, NULL, "", "the processor of the second thread; the first is on 0", NULL, 0,
         0, false},
        {"memory-mib", BENCH_INT, "256", 1, 65536, NULL, "MiB", "what `memory` goes through", NULL, 0, 0, false},
    };
    static struct bench b = {.program = "calibrate",
                             .about = "what this machine costs, for the simulator",
                             .clock = MICRO_CLOCK_OPS,
                             .own = own,
                             .n = sizeof own / sizeof *own};
    bench = &b;
    return micro_alone(&b, argc, argv, cases, sizeof cases / sizeof *cases);
}
