/* SPDX-License-Identifier: MIT
 *
 * Threads at one queue: some put items in, others take them out, or each does both in turn. The structures of core/queues
 * (003 §5.1, 000 §4.2), and those of libck and liburcu where the program was built with them. No runtime of fibres runs.
 *
 * An item is a line of its own, which who puts it in writes and who takes it out reads, as a fibre is. A producer has as
 * many of them as --items-each says and uses one again when it has been taken; with --producers 0 each worker pushes the
 * item that it popped last. Checked: each item was taken as often as it was put in, and carried its number.
 */
#include "../../core/platform.h"
#include "bench.h"
#include "crowd_peers.h"
#include "queue_faces.h"
#include "queue_relaxed.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 256, EACH_MAX = 64 };

struct thing {
    _Alignas(TN_CACHE_LINE) struct queue_item item;
    void *peer[8];          /* what a peer's structure, or the multiqueue, links it by */
    _Atomic(uint32_t) busy; /* it is on its way */
    uint64_t number;        /* written by who puts it in */
};

static_assert(offsetof(struct thing, peer) == sizeof(struct queue_item), "where crowd_peers.c has it");
static_assert(sizeof(struct tn_multi_node) <= 8 * sizeof(void *), "queue_relaxed.h has it there too");

static struct crowd {
    const struct queue_face *face; /* or else */
    const struct queue_relaxed *relaxed;
    void *q;
    unsigned workers, producers, each;
    uint64_t items; /* of one repetition, by each who puts in */
    _Atomic(uint32_t) waiting, producing;
} crowd;

struct member {
    _Alignas(TN_CACHE_LINE) struct tn_thread thread;
    unsigned index;
    struct thing *things;
    uint64_t put, taken, sum_put, sum_taken, refused, empty, begin, end;
};

static struct bench *bench;
static struct member members[THREADS_MAX];
static struct thing *things;

static void put(struct member *m, struct thing *t)
{
    unsigned spins = 0;
    t->number = m->put * THREADS_MAX + m->index;
    m->sum_put += t->number;
    if (crowd.relaxed != NULL)
        crowd.relaxed->push(crowd.q, m->index, t);
    else
        while (!crowd.face->push(crowd.q, t)) {
            m->refused++;
            tn_spin_wait(&spins);
        }
    m->put++;
}

static bool take(struct member *m, struct thing **t)
{
    void *out[1];
    bool got = crowd.relaxed != NULL ? (out[0] = crowd.relaxed->pop(crowd.q, m->index)) != NULL
               : crowd.face->shared  ? (out[0] = crowd.face->pop(crowd.q)) != NULL
                                     : crowd.face->take(crowd.q, 1, out) == 1;
    if (!got) {
        m->empty++;
        return false;
    }
    *t = out[0];
    m->sum_taken += (*t)->number;
    m->taken++;
    return true;
}

static void start(struct member *m)
{
    unsigned spins = 0;
    bench_pin(m->index);
    atomic_fetch_sub_explicit(&crowd.waiting, 1, memory_order_acq_rel);     /* C0 */
    while (atomic_load_explicit(&crowd.waiting, memory_order_acquire) != 0) /* C0 */
        tn_spin_wait(&spins);
    uint64_t seed =
        (uint64_t)bench_int(bench, "seed") + m->index; /* not in step, and in another way with another seed */
    bench_work(bench_below(&seed, 2000));
    m->begin = bench_now();
}

static void produce(struct member *m)
{
    for (uint64_t i = 0; i < crowd.items; i++) {
        unsigned spins = 0;
        struct thing *t = &m->things[i % crowd.each];
        while (atomic_load_explicit(&t->busy, memory_order_acquire) != 0) /* C1 */
            tn_spin_wait(&spins);
        atomic_store_explicit(&t->busy, 1, memory_order_relaxed); /* relaxed: the queue carries it over */
        put(m, t);
    }
    atomic_fetch_sub_explicit(&crowd.producing, 1, memory_order_release); /* C2 */
}

static void consume(struct member *m)
{
    struct thing *t;
    for (unsigned spins = 0;;) {
        bool last = atomic_load_explicit(&crowd.producing, memory_order_acquire) == 0; /* C2 */
        if (take(m, &t)) {
            atomic_store_explicit(&t->busy, 0, memory_order_release); /* C1 */
            spins = 0;
        } else if (last) {
            return;
        } else {
            tn_spin_wait(&spins);
        }
    }
}

static void produce_and_consume(struct member *m)
{
    struct thing *t = &m->things[0];
    for (uint64_t i = 0; i < crowd.items; i++) {
        unsigned spins = 0;
        put(m, t);
        while (!take(m, &t))
            tn_spin_wait(&spins);
    }
}

static void *member(void *arg)
{
    struct member *m = arg;
    start(m);
    if (crowd.producers == 0)
        produce_and_consume(m);
    else if (m->index < crowd.producers)
        produce(m);
    else
        consume(m);
    m->end = bench_now();
    return NULL;
}

static void repetition(int rep)
{
    unsigned n = crowd.workers;
    uint64_t total = 0, taken = 0, refused = 0, empty = 0, check = 0, begin = UINT64_MAX, end = 0;
    if (crowd.relaxed != NULL)
        crowd.relaxed->init(crowd.q, n);
    else
        crowd.face->init(crowd.q, (size_t)bench_int(bench, "capacity"));
    atomic_store_explicit(&crowd.waiting, n, memory_order_relaxed); /* relaxed: threads start after it */
    atomic_store_explicit(&crowd.producing, crowd.producers, memory_order_relaxed); /* relaxed: as above */
    bench_region_start(bench, rep);
    for (unsigned i = 0; i < n; i++) {
        members[i] = (struct member){.index = i, .things = things + (size_t)i * crowd.each};
        if (tn_thread_create(&members[i].thread, member, &members[i]) != 0)
            bench_die(bench, BENCH_INTERNAL, "no thread");
    }
    for (unsigned i = 0; i < n; i++)
        tn_thread_join(&members[i].thread);
    bench_region_stop();
    for (unsigned i = 0; i < n; i++) {
        const struct member *m = &members[i];
        total += m->put;
        taken += m->taken;
        refused += m->refused;
        empty += m->empty;
        check += m->sum_put - m->sum_taken;
        begin = m->begin < begin ? m->begin : begin;
        end = m->end > end ? m->end : end;
    }
    if (taken != total || check != 0)
        bench_invalid(bench, "%llu items of %llu came out, or not the same ones", (unsigned long long)taken,
                      (unsigned long long)total);
    bench_sample(bench, "throughput", "items/s", (double)total / ((double)(end - begin) * 1e-9), rep);
    bench_sample(bench, "refused", "an item", (double)refused / (double)total, rep);
    bench_sample(bench, "empty", "an item", (double)empty / (double)total, rep);
}

static const struct queue_face *face_of(const char *name)
{
    for (size_t i = 0; i < QUEUE_FACES; i++)
        if (strcmp(queue_faces[i].name, name) == 0)
            return &queue_faces[i];
    for (size_t i = 0; i < crowd_peers_n; i++)
        if (strcmp(crowd_peers[i].name, name) == 0)
            return &crowd_peers[i];
    return NULL;
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"structure", BENCH_CHOICE, "mpmc-ring", 0, 0,
         "mpmc-ring|mpmc-cas|mpmc-fad|locked|locked-lifo|two-lock|treiber|mpsc-stub|mpsc-node|nemesis|"
         "spmc-fifo|spmc-lifo|spmc-deque|chase-lev|multiqueue|sharded|ck-ring|ck-stack|urcu-wfcq|urcu-wfs",
         "", "the queue", NULL, 0, 0, false},
        {"producers", BENCH_INT, "0", 0, THREADS_MAX - 1, NULL, "threads",
         "of the workers that put items in, the others take them out; 0: each does both", NULL, 0, 0, false},
        {"items", BENCH_INT, "100000", 1, 1e9, NULL, "items", "that each puts in, in a repetition", NULL, 0, 0,
         false},
        {"items-each", BENCH_INT, "32", 1, EACH_MAX, NULL, "items", "of each producer on their way at most", NULL, 0,
         0, false},
        {"capacity", BENCH_INT, "1024", 2, 1 << 20, NULL, "items", "of a bounded queue, a power of two", NULL, 0, 0,
         false},
    };
    static struct bench b = {
        .program = "crowd",
        .about = "threads at one queue",
        .clock = "starts when all threads are there, with the first of them, stops when the last has ended",
        .own = own,
        .n = sizeof own / sizeof *own};
    bench = &b;
    bench_start(&b, argc, argv);
#if defined(TENTER_SIMULATED)
    bench_binary_peer(&b, "simulate", BENCH_VERSION, "");
#else
    bench_binary_peer(&b, "native", BENCH_VERSION, "");
#endif
    bench_work_calibrate();
    const char *name = bench_text(&b, "structure");
    size_t capacity = (size_t)bench_int(&b, "capacity");
    crowd.face = face_of(name);
    for (size_t i = 0; i < QUEUE_RELAXED; i++)
        if (strcmp(queue_relaxed[i].name, name) == 0)
            crowd.relaxed = &queue_relaxed[i];
    crowd.workers = (unsigned)bench_int(&b, "workers") != 0 ? (unsigned)bench_int(&b, "workers") : bench_processors();
    crowd.producers = (unsigned)bench_int(&b, "producers");
    bench_set_int(&b, "workers", crowd.workers);
    crowd.each = crowd.producers == 0 ? 1 : (unsigned)bench_int(&b, "items-each");
    crowd.items = (uint64_t)bench_int(&b, "items");
    if (crowd.face == NULL && crowd.relaxed == NULL)
        bench_die(&b, BENCH_UNSUPPORTED, "this program was built without the library of %s", name);
    if ((capacity & (capacity - 1)) != 0)
        bench_die(&b, BENCH_USAGE, "--capacity %zu: a power of two, please", capacity);
    if (crowd.workers > THREADS_MAX)
        bench_die(&b, BENCH_USAGE, "--workers %u: %d at most", crowd.workers, THREADS_MAX);
    if (crowd.producers != 0 && crowd.producers >= crowd.workers)
        bench_die(&b, BENCH_USAGE, "--producers %u of --workers %u leaves nobody to take items out", crowd.producers,
                  crowd.workers);
    if (crowd.relaxed == NULL && crowd.face->single && crowd.workers != crowd.producers + 1)
        bench_die(&b, BENCH_USAGE, "%s has one consumer: give --workers N + 1 --producers N", name);
    if (crowd.relaxed == NULL && !crowd.face->shared && crowd.producers != 1)
        bench_die(&b, BENCH_USAGE, "%s has one owner: give --workers N + 1 --producers 1", name);
    size_t bytes = crowd.relaxed != NULL ? crowd.relaxed->bytes(crowd.workers) : crowd.face->bytes(capacity);
    bytes = (bytes + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE;
    size_t n = (size_t)(crowd.producers == 0 ? crowd.workers : crowd.producers) * crowd.each;
    crowd.q = aligned_alloc(TN_CACHE_LINE, bytes);
    things = aligned_alloc(TN_CACHE_LINE, n * sizeof *things);
    if (crowd.q == NULL || things == NULL)
        bench_die(&b, BENCH_INTERNAL, "no memory");
    memset(crowd.q, 0, bytes);
    for (int rep = 0; rep < bench_reps(&b) && b.status != 1; rep++) {
        memset(things, 0, n * sizeof *things);
        repetition(rep);
    }
    free(crowd.q);
    free(things);
    return bench_finish(&b);
}
