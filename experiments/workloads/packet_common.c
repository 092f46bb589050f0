/* SPDX-License-Identifier: MIT
 *
 * What all variants of the packet workload share; see packet_common.h.
 */
#include "packet_common.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct packet_slot slots[PACKET_SLOTS];
static _Atomic(uint32_t) slots_used;
static uint64_t truth[PACKETS];

/* ---- slots ---- */

struct packet_slot *packet_slot_new(void)
{
    uint32_t i = atomic_fetch_add_explicit(&slots_used, 1, memory_order_relaxed); /* a number of its own: no more */
    if (i >= PACKET_SLOTS || (slots[i].latency = hdr_new()) == NULL) {
        fputs("packet: no slot for one more thread\n", stderr);
        exit(BENCH_INTERNAL);
    }
    return &slots[i];
}

/* A function of its own, not inlined: the address of a thread-local must not be kept where a task may move.
 */
__attribute__((noinline)) static struct packet_slot *own_slot(void)
{
    static _Thread_local struct packet_slot *own;
    if (own == NULL)
        own = packet_slot_new();
    return own;
}

static uint32_t used(void)
{
    uint32_t n = atomic_load_explicit(&slots_used, memory_order_acquire);
    return n < PACKET_SLOTS ? n : PACKET_SLOTS;
}

uint64_t packet_done(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < used(); i++)
        sum += atomic_load_explicit(&slots[i].done, memory_order_acquire); /* P0 */
    return sum;
}

/* ---- tasks ---- */

struct packet_task *packet_make(struct packet_run *run, struct packet_spawner *s)
{
    uint32_t which = bench_below(&s->random, PACKETS);
    const struct packet *p = &packets[which];
    struct packet_task *task = malloc(sizeof *task + p->size);
    if (task == NULL)
        bench_die(run->b, BENCH_INTERNAL, "no memory for a packet");
    task->size = p->size;
    task->work =
        run->long_work != 0 && bench_below(&s->random, (uint32_t)run->long_every) == 0 ? run->long_work : run->work;
    task->set = run->connections != 0
                    ? run->sets + bench_below(&s->random, (uint32_t)run->connections) * run->set_words
                    : NULL;
    memcpy(task->copy, p->data, p->size);
    /* The copy survives optimisation: its address leaves the compiler's sight here, together with the claim
     * that memory is read, so the bytes must be there; it reaches the task through a pointer to void besides.
     */
    __asm__ volatile("" : : "r"(task) : "memory");
    s->lines += truth[which];
    return task;
}

uint64_t packet_due(const struct packet_run *run, const struct packet_spawner *s, uint64_t k)
{
    return run->start + (uint64_t)(((double)k * run->spawners + s->index) * 1e9 / run->rate);
}

static uint64_t count_lines(const unsigned char *data, size_t size)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    return lines;
}

static void add(_Atomic(uint64_t) *counter, uint64_t n, memory_order order)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, order); /* one writer */
}

/* A word of each line is changed; the first counts packets. relaxed, all: another packet of the connection may be at it, and
 * the sum of the first words is read when all have ended. */
static void go_over(_Atomic(uint64_t) *set, uint64_t words)
{
    enum { LINE = 64 / sizeof(uint64_t) };
    atomic_fetch_add_explicit(set, 1, memory_order_relaxed);
    for (uint64_t i = LINE; i < words; i += LINE)
        atomic_store_explicit(&set[i], atomic_load_explicit(&set[i], memory_order_relaxed) + 1, memory_order_relaxed);
}

void packet_handle(const struct packet_run *run, struct packet_task *task, struct packet_slot *slot)
{
    uint64_t lines = count_lines(task->copy, task->size), start = task->start;
    if (task->work != 0)
        bench_work(task->work);
    if (task->set != NULL)
        go_over(task->set, run->set_words);
    free(task);
    if (slot == NULL)
        slot = own_slot();
    uint64_t end = bench_stamp(run->clock);
    if (run->clock != BENCH_CLOCK_NONE)
        hdr_record(slot->latency, end > start ? end - start : 0);
    add(&slot->lines, lines, memory_order_relaxed);                    /* published by P0 */
    atomic_store_explicit(&slot->last_end, end, memory_order_relaxed); /* published by P0 */
    add(&slot->done, 1, memory_order_release);                         /* P0 */
}

void packet_watch(const struct packet_run *run, struct packet_watch *w)
{
    uint64_t done = packet_done(), now = bench_now();
    if (w->since == 0 || done != w->done) {
        w->done = done;
        w->since = now;
    } else if (now - w->since > 30000000000u) {
        bench_invalid(run->b, "%" PRIu64 " of %" PRIu64 " tasks done, and nothing for 30 s", done, run->packets);
        _Exit(bench_finish(run->b));
    }
}

/* ---- repetitions ---- */

void packet_setup(struct packet_run *run, struct bench *b)
{
#if defined(__GLIBC__)
    /* Copies are allocated on one thread and freed on another, up to a third of a megabyte at a time. By
     * default glibc gives the top of its heap back to the kernel above 128 KiB, and the page faults that
     * follow, not the runtime, were what was measured (a factor of ten and more). All variants keep what they
     * have once had. */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
    run->b = b;
    run->packets = (uint64_t)bench_int(b, "packets");
    run->work = (uint64_t)bench_int(b, "work");
    run->long_work = (uint64_t)bench_int(b, "long");
    run->long_every = (uint64_t)bench_int(b, "long-every");
    run->connections = (uint64_t)bench_int(b, "connections");
    run->set_words = (uint64_t)bench_int(b, "set") / 64 * (64 / sizeof(uint64_t));
    run->spawners = (unsigned)bench_int(b, "spawners");
    run->clock = (enum bench_clock)bench_int(b, "clock");
    run->rate = bench_text(b, "rate") != NULL ? bench_real(b, "rate") : 0;
    run->spawner = calloc(run->spawners, sizeof *run->spawner);
    run->latency = hdr_new();
    if (run->connections != 0)
        run->sets = aligned_alloc(64, run->connections * run->set_words * sizeof(uint64_t));
    if (run->spawner == NULL || run->latency == NULL || (run->connections != 0 && run->sets == NULL))
        bench_die(b, BENCH_INTERNAL, "no memory");
    for (unsigned i = 0; i < PACKETS; i++) {
        const unsigned char *at = packets[i].data, *end = at + packets[i].size;
        for (; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
            truth[i]++;
    }
    if (run->work != 0 || run->long_work != 0)
        bench_work_calibrate();
    bench_clock_start(b, run->clock);
}

void packet_begin(struct packet_run *run, int rep)
{
    for (uint32_t i = 0; i < used(); i++) {
        atomic_store_explicit(&slots[i].done, 0, memory_order_relaxed);  /* nobody else is about */
        atomic_store_explicit(&slots[i].lines, 0, memory_order_relaxed); /* the same */
        hdr_clear(slots[i].latency);
    }
    for (unsigned i = 0; i < run->spawners; i++) {
        struct packet_spawner *s = &run->spawner[i];
        uint64_t seed = (uint64_t)bench_int(run->b, "seed") + i * UINT64_C(0x632be59bd9b4e019);
        *s = (struct packet_spawner){.index = i, .share = run->packets / run->spawners};
        s->random = bench_random(&seed);
        s->share += i < run->packets % run->spawners;
    }
    for (uint64_t i = 0; i < run->connections * run->set_words; i++)
        atomic_store_explicit(&run->sets[i], 0, memory_order_relaxed); /* nobody else is about */
    bench_region_start(run->b, rep);
    run->start = bench_now();
}

void packet_end(struct packet_run *run, int rep)
{
    bench_region_stop();
    uint64_t lines = 0, wanted = 0, retries = 0, stop = run->start, done = packet_done(); /* P0 */
    for (uint32_t i = 0; i < used(); i++) {
        uint64_t end = atomic_load_explicit(&slots[i].last_end, memory_order_relaxed); /* after P0 */
        lines += atomic_load_explicit(&slots[i].lines, memory_order_relaxed);          /* after P0 */
        stop = end > stop ? end : stop;
        if (!bench_warmup(run->b, rep))
            hdr_merge(run->latency, slots[i].latency);
    }
    for (unsigned i = 0; i < run->spawners; i++) {
        wanted += run->spawner[i].lines;
        retries += run->spawner[i].retries;
    }
    if (run->clock == BENCH_CLOCK_NONE)
        stop = bench_now();
    double seconds = (double)(stop - run->start) / 1e9, rate = (double)run->packets / seconds;
    bench_sample(run->b, "throughput", "1/s", rate, rep);
    bench_sample(run->b, "time", "s", seconds, rep);
    bench_sample(run->b, "retries", "1", (double)retries, rep);
    if (done != run->packets || lines != wanted)
        bench_invalid(run->b,
                      "repetition %d: %" PRIu64 " tasks counted %" PRIu64 " line ends; %" PRIu64
                      " packets hold %" PRIu64,
                      rep, done, lines, run->packets, wanted);
    uint64_t counted = 0;
    for (uint64_t i = 0; i < run->connections; i++)
        counted += atomic_load_explicit(&run->sets[i * run->set_words], memory_order_relaxed); /* after P0 */
    if (run->connections != 0 && counted != run->packets)
        bench_invalid(run->b, "repetition %d: the connections have counted %" PRIu64 " of %" PRIu64 " packets", rep,
                      counted, run->packets);
    if (run->rate != 0 && !bench_warmup(run->b, rep) && rate < 0.95 * run->rate)
        bench_saturated(run->b, "repetition %d went at %.4g/s where %.4g/s were due", rep, rate, run->rate);
}

void packet_finish(struct packet_run *run)
{
    if (run->work != 0 || run->long_work != 0)
        bench_work_check(run->b);
    if (run->latency->clamped != 0)
        bench_count(run->b, "latency_clamped", (double)run->latency->clamped);
    bench_hist(run->b, "latency", "ns", run->latency);
}
