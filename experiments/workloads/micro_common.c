/* SPDX-License-Identifier: MIT
 *
 * The loop over cases; see micro_common.h.
 */
#include "micro_common.h"
#include "hdr.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct bench *bench;
static const struct micro_case *groups[2];
static size_t group_n[2];
static unsigned measured, too_few;
static struct hdr *latency_now, *latency_all;
static void (*watch_start)(void), (*watch_stop)(const char *name);

void micro_start(struct bench *b, int argc, char **argv, const struct micro_case *runtime, size_t n,
                 const struct micro_case *neighbours, size_t m)
{
    static char choices[1024];
    const char *first = "all|runtime|neighbours"; /* of all peers, so that one matrix can name them */
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->own[i].name, "case") == 0 && b->own[i].choices != NULL)
            first = b->own[i].choices; /* a program that is no peer has groups of its own */
    size_t used = (size_t)snprintf(choices, sizeof choices, "%s", first);
    bench = b;
    groups[0] = runtime;
    groups[1] = neighbours;
    group_n[0] = n;
    group_n[1] = m;
    for (int g = 0; g < 2; g++)
        for (size_t i = 0; i < group_n[g]; i++)
            used += (size_t)snprintf(choices + used, sizeof choices - used, "|%s", groups[g][i].name);
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->own[i].name, "case") == 0)
            b->own[i].choices = choices;
    bench_start(b, argc, argv);
    latency_now = hdr_new();
    latency_all = hdr_new();
    if (latency_now == NULL || latency_all == NULL)
        bench_die(b, BENCH_INTERNAL, "no memory");
}

void micro_watch(void (*start)(void), void (*stop)(const char *name))
{
    watch_start = start;
    watch_stop = stop;
}

unsigned micro_workers(void)
{
    return (unsigned)bench_int(bench, "workers");
}

unsigned micro_depth(void)
{
    return (unsigned)bench_int(bench, "depth");
}

uint64_t micro_nodes(void)
{
    return (UINT64_C(2) << micro_depth()) - 1;
}

void micro_fail(const char *name, const char *why)
{
    bench_invalid(bench, "%s: %s", name, why);
}

void micro_latency(uint64_t ns)
{
    hdr_record(latency_now, ns);
}

double micro_latency_median(void)
{
    return (double)hdr_percentile(latency_now, 50);
}

static double took(const struct micro_case *c, uint64_t ops)
{
    uint64_t start = bench_now();
    c->run(ops);
    return (double)(bench_now() - start);
}

/* How many operations take about `--ms`: doubled until they take a quarter of it, each of three times (a slice that something
 * else had is as long as thousands of operations), then scaled. What a case does besides (start threads, say) is in the time
 * that is held against `--ms`, but not in its result. */
static uint64_t calibrate(const struct micro_case *c)
{
    enum { TIMES = 3 };
    double wanted = bench_real(bench, "ms") * 1e6;
    c->run(c->multiple); /* the first is slow: stacks are made and touched */
    for (uint64_t ops = c->multiple;; ops *= 2) {
        double least = took(c, ops);
        for (int again = 1; least >= wanted / 4 && again < TIMES; again++) {
            double other = took(c, ops);
            least = other < least ? other : least;
        }
        if (least < wanted / 4 && ops < UINT64_C(1) << 40)
            continue;
        double scaled = (double)ops / (double)c->multiple * (wanted / (least > 1 ? least : 1));
        return (scaled < 1 ? 1 : (uint64_t)scaled) * c->multiple;
    }
}

static void measure(const struct micro_case *c)
{
    char name[48];
    uint64_t ops = calibrate(c);
    snprintf(name, sizeof name, "%s_ops", c->name);
    bench_count(bench, name, (double)ops);
    hdr_clear(latency_now);
    for (int rep = 0; rep < bench_reps(bench) && bench->status != 1; rep++) {
        if (watch_start != NULL && rep == bench_int(bench, "warmup"))
            watch_start();
        bench_region_start(bench, rep);
        double ns = c->run(ops);
        bench_region_stop();
        bench_sample(bench, c->name, "ns", ns, rep);
        if (latency_now->total != 0 && !bench_warmup(bench, rep))
            hdr_merge(latency_all, latency_now);
        hdr_clear(latency_now);
    }
    if (watch_stop != NULL)
        watch_stop(c->name);
    measured++;
}

void micro_measure(const struct micro_case *cases, size_t n)
{
    bool group = bench_lists(bench, "case", "all") ||
                 bench_lists(bench, "case", cases == groups[0] ? "runtime" : "neighbours");
    for (size_t i = 0; i < n && bench->status != 1; i++) {
        if (!group && !bench_lists(bench, "case", cases[i].name))
            continue;
        /* Neighbours need processors, the runtime's cases workers. */
        if (cases[i].workers > (cases == groups[0] ? micro_workers() : bench_processors()))
            too_few++;
        else
            measure(&cases[i]);
    }
}

int micro_finish(void)
{
    if (measured == 0)
        bench_die(bench, BENCH_UNSUPPORTED,
                  too_few > 0 ? "none of these cases can be run with %u workers"
                              : "this program has none of these cases (%u workers)",
                  micro_workers());
    if (latency_all->total != 0)
        bench_hist(bench, "wake_2w", "ns", latency_all);
    return bench_finish(bench);
}

int micro_alone(struct bench *b, int argc, char **argv, const struct micro_case *cases, size_t n)
{
    micro_start(b, argc, argv, cases, n, NULL, 0);
    bench_binary_peer(b, MICRO_RUNTIME, BENCH_VERSION, "");
    bench_pin(0);
    micro_measure(cases, n);
    return micro_finish();
}
