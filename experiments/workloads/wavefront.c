/* SPDX-License-Identifier: MIT
 *
 * A wavefront of promises (003 §2.4.3): a table is filled in blocks, each by a fibre of its own, which waits for the promise
 * of the block above and for that of the block to the left, and then keeps its own. What a promise holds is the best
 * score up to there.
 *
 * Who spawns: one fibre all blocks, row by row, so that most of them wait first; or each block the one below it, and each of
 * the first row the one to its right as well, so that there is hardly ever a fibre that has nothing to do. Several equal
 * tables (--tables) may be under way at once. Check: each table's answer is that of a plain loop, and the published one.
 */
#include "bench_tenter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tenter_sync.h>

#include "tables.h"

static struct bench *bench;
static size_t tables;
static bool next_only; /* --spawn next */

struct block {
    struct work *work;
    size_t down, across;
    tn_promise done;
};

static struct work {
    struct table table;
    struct block *blocks; /* row by row */
} * works;

static double plain; /* the right answer */

static struct block *block_of(struct work *w, size_t down, size_t across)
{
    return &w->blocks[down * w->table.across + across];
}

static void *run(void *arg);

static void spawn(struct work *w, size_t down, size_t across)
{
    struct tn_attr attr = {.cluster = tn_cluster_self(), .detached = true};
    int rc;
    if (!table_has(&w->table, down, across))
        return;
    while ((rc = tn_spawn(NULL, &attr, run, block_of(w, down, across))) == EAGAIN)
        tn_yield();
    if (rc != 0)
        bench_die(bench, BENCH_INTERNAL, "tn_spawn: %s", strerror(rc));
}

static int score_of(struct work *w, size_t down, size_t across)
{
    return (int)(intptr_t)tn_promise_get(&block_of(w, down, across)->done);
}

static void *run(void *arg)
{
    struct block *b = arg;
    struct work *w = b->work;
    int best = 0, other = 0;
    if (next_only) {
        spawn(w, b->down + 1, b->across);
        if (b->down == 0)
            spawn(w, 0, b->across + 1);
    }
    if (b->down > 0)
        best = score_of(w, b->down - 1, b->across);
    if (b->across > 0 && table_has(&w->table, b->down, b->across - 1))
        other = score_of(w, b->down, b->across - 1);
    best = other > best ? other : best;
    other = table_fill(&w->table, b->down, b->across);
    tn_promise_set(&b->done, (void *)(intptr_t)(other > best ? other : best));
    return NULL;
}

static void start(struct work *w)
{
    if (next_only) {
        spawn(w, 0, 0);
        return;
    }
    for (size_t down = 0; down < w->table.down; down++)
        for (size_t across = 0; across < w->table.across; across++)
            spawn(w, down, across);
}

static double finish(struct work *w)
{
    int best = score_of(w, w->table.down - 1, w->table.across - 1);
    return w->table.problem == TABLE_ALIGN ? best / 2.0 : table_price(&w->table);
}

static void repetition(int rep)
{
    double cells = (double)table_cells(&works->table) * (double)tables;
    uint64_t begin = bench_now();
    for (size_t i = 0; i < tables; i++)
        plain = table_plain(&works->table);
    bench_sample(bench, "plain", "1/s", cells * 1e9 / (double)(bench_now() - begin), rep);
    for (size_t i = 0; i < tables; i++) {
        struct work *w = &works[i];
        table_fresh(&w->table);
        for (size_t k = 0; k < w->table.down * w->table.across; k++)
            tn_promise_init(&w->blocks[k].done);
    }
    bench_region_start(bench, rep);
    begin = bench_now();
    for (size_t i = 0; i < tables; i++)
        start(&works[i]);
    double answer = plain;
    for (size_t i = 0; i < tables; i++) {
        double got = finish(&works[i]);
        answer = got != plain ? got : answer;
    }
    uint64_t ns = bench_now() - begin;
    bench_region_stop();
    bench_sample(bench, "throughput", "1/s", cells * 1e9 / (double)ns, rep);
    bench_sample(bench, "answer", "1", answer, rep);
    double published = table_published(works->table.problem);
    if (answer != plain) /* to the last bit */
        bench_invalid(bench, "the answer is %.17g, that of a plain loop %.17g", answer, plain);
    else if (works->table.problem == TABLE_ALIGN ? answer != published
                                                 : works->table.rows >= 200 && fabs(answer - published) > 0.01)
        bench_invalid(bench, "the answer is %.17g, the published one %g", answer, published);
}

static void *all(void *arg)
{
    bench_tenter_repeat(bench, repetition);
    return arg;
}

static void make(struct work *w, enum table_problem problem, size_t steps, size_t block)
{
    bool good = table_make(&w->table, problem, steps, block);
    w->blocks = good ? calloc(w->table.down * w->table.across, sizeof(*w->blocks)) : NULL;
    if (w->blocks == NULL)
        bench_die(bench, BENCH_INTERNAL, "no memory");
    for (size_t i = 0; i < w->table.down * w->table.across; i++)
        w->blocks[i] = (struct block){.work = w, .down = i / w->table.across, .across = i % w->table.across};
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"problem", BENCH_CHOICE, "put", 0, 0, "put|call|align", "",
         "an American option on a binomial lattice, or the alignment of two haemoglobin chains", NULL, 0, 0, false},
        {"steps", BENCH_INT, "1000", 2, 20000, NULL, "", "of the lattice", NULL, 0, 0, false},
        {"side", BENCH_INT, "32", 2, 4096, NULL, "cells", "of a block, down and across", NULL, 0, 0, false},
        {"tables", BENCH_INT, "8", 1, 10000, NULL, "", "equal ones, all under way at once", NULL, 0, 0, false},
        {"spawn", BENCH_CHOICE, "all", 0, 0, "all|next", "",
         "one fibre spawns all blocks, or each block those after it", NULL, 0, 0, false},
    };
    static struct bench b = {
        .program = "wavefront",
        .about = "blocks of a table wait for each other by promises: option pricing and Smith-Waterman",
        .clock = "starts before the first block is spawned, stops when the answers of all tables are there; "
                 "plain: the same tables by a plain loop in one fibre, just before",
        .takes = BENCH_TAKES_SCHEDULER,
        .own = own,
        .n = sizeof own / sizeof *own};
    bench = &b;
    bench_start(&b, argc, argv);
    tables = (size_t)bench_int(&b, "tables");
    next_only = bench_int(&b, "spawn") == 1;
    works = calloc(tables, sizeof(*works));
    if (works == NULL)
        bench_die(&b, BENCH_INTERNAL, "no memory");
    for (size_t i = 0; i < tables; i++)
        make(&works[i], (enum table_problem)bench_int(&b, "problem"), (size_t)bench_int(&b, "steps"),
             (size_t)bench_int(&b, "side"));
    bench_tenter_run(&b, "", all, NULL);
    for (size_t i = 0; i < tables; i++) {
        table_free(&works[i].table);
        free(works[i].blocks);
    }
    free(works);
    return bench_finish(&b);
}
