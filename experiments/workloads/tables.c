/* SPDX-License-Identifier: MIT */
/* See tables.h. */
#include "tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proteins.h"

/* Hull, Options, Futures and Other Derivatives: the American put of the chapter on binomial trees (50 at 50 for five
 * months; 4.283 with 500 steps), and the call of the chapter on Black, Scholes and Merton (42 at 40 for six months; 4.76),
 * which pays no dividend, so it is worth as much American as European. */
static const struct option {
    double spot, strike, rate, volatility, years, published;
} options[] = {[TABLE_PUT] = {50, 50, 0.10, 0.40, 5.0 / 12, 4.283}, [TABLE_CALL] = {42, 40, 0.10, 0.20, 0.5, 4.76}};

double table_published(enum table_problem problem)
{
    return problem == TABLE_ALIGN ? PUBLISHED_SCORE / 2.0 : options[problem].published;
}

/* ---- the lattice ---- */

static bool lattice_make(struct table *t, size_t steps)
{
    const struct option *o = &options[t->problem];
    double dt = o->years / (double)steps, u = exp(o->volatility * sqrt(dt)), discount = exp(-o->rate * dt);
    double p = (1 / discount - 1 / u) / (u - 1 / u);
    double *prices = malloc((2 * steps + 1) * sizeof(*prices));
    t->rows = steps;
    t->columns = steps + 1;
    t->up = discount * p;
    t->keep = discount * (1 - p);
    t->prices = prices;
    for (size_t k = 0; prices != NULL && k <= 2 * steps; k++)
        prices[k] = o->spot * pow(u, (double)k - (double)steps);
    return prices != NULL;
}

static double exercised(const struct table *t, double price)
{
    double gain = t->problem == TABLE_PUT ? options[TABLE_PUT].strike - price : price - options[TABLE_CALL].strike;
    return gain > 0 ? gain : 0;
}

/* Cell (row, column) from the one above, a move down later, and the one to the left of that, a move up later. */
static double node(const struct table *t, size_t row, size_t column, double above, double beside)
{
    double now = exercised(t, t->prices[2 * t->rows + row - 2 * column]);
    double later = t->up * beside + t->keep * above;
    return now > later ? now : later;
}

static void lattice_fill(struct table *t, size_t down, size_t first, size_t end)
{
    size_t top = down * t->block + 1, bottom = top + t->block <= t->rows + 1 ? top + t->block : t->rows + 1;
    double beside = t->corner[down];
    t->corner[down] = t->row[end - 1];
    for (size_t r = top; r < bottom; r++) {
        size_t c = first > r ? first : r;
        if (c > first) /* the diagonal: nothing to the left in this row */
            beside = t->row[c - 1];
        for (; c < end; c++) {
            double above = t->row[c];
            t->row[c] = node(t, r, c, above, beside);
            beside = above;
        }
        beside = t->column[r - 1];
        t->column[r - 1] = t->row[end - 1];
    }
}

static double lattice_plain(const struct table *t)
{
    double *v = malloc(t->columns * sizeof(*v));
    if (v == NULL)
        return NAN;
    for (size_t c = 0; c < t->columns; c++)
        v[c] = exercised(t, t->prices[2 * t->rows - 2 * c]);
    for (size_t r = 1; r <= t->rows; r++)
        for (size_t c = t->columns; c-- > r;)
            v[c] = node(t, r, c, v[c], v[c - 1]);
    double price = v[t->columns - 1];
    free(v);
    return price;
}

/* ---- the alignment ---- */

/* Rows and columns of blosum62, by residue. */
static unsigned char alpha[sizeof(hba_human) - 1], beta[sizeof(hbb_human) - 1];

static void encode(const char *chain, size_t n, unsigned char *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)(strchr(residues, chain[i]) - residues);
}

static void align_make(struct table *t)
{
    t->rows = sizeof(alpha);
    t->columns = sizeof(beta);
    encode(hba_human, sizeof(alpha), alpha);
    encode(hbb_human, sizeof(beta), beta);
}

static int greater(int a, int b)
{
    return a > b ? a : b;
}

/* h ends in a pair or in nothing, e in a gap of the rows' sequence, f in one of the columns'. */
static int cell(int pair, int diagonal, int *e, int left, int *f, int above)
{
    *e = greater(left - GAP_FIRST, *e - GAP_MORE);
    *f = greater(above - GAP_FIRST, *f - GAP_MORE);
    return greater(greater(0, diagonal + 2 * pair), greater(*e, *f));
}

static int align_fill(struct table *t, size_t down, size_t first, size_t end)
{
    size_t top = down * t->block, bottom = top + t->block < t->rows ? top + t->block : t->rows;
    int diagonal = t->corner_h[down], best = 0;
    t->corner_h[down] = t->row_h[end - 1];
    for (size_t r = top; r < bottom; r++) {
        const signed char *pairs = blosum62[alpha[r]];
        int left = t->column_h[r], beside = left, e = t->column_e[r];
        for (size_t c = first; c < end; c++) {
            int above = t->row_h[c];
            left = cell(pairs[beta[c]], diagonal, &e, left, &t->row_f[c], above);
            diagonal = above;
            t->row_h[c] = left;
            best = greater(best, left);
        }
        diagonal = beside;
        t->column_h[r] = left;
        t->column_e[r] = e;
    }
    return best;
}

static double align_plain(const struct table *t)
{
    int *h = calloc(t->columns + 1, sizeof(*h)), *f = calloc(t->columns + 1, sizeof(*f)), best = 0;
    if (h == NULL || f == NULL) {
        free(h);
        free(f);
        return NAN;
    }
    for (size_t r = 0; r < t->rows; r++) {
        int e = 0, diagonal = 0;
        for (size_t c = 1; c <= t->columns; c++) {
            int above = h[c];
            h[c] = cell(blosum62[alpha[r]][beta[c - 1]], diagonal, &e, h[c - 1], &f[c], above);
            diagonal = above;
            best = greater(best, h[c]);
        }
    }
    free(h);
    free(f);
    return best / 2.0;
}

/* ---- both ---- */

bool table_make(struct table *t, enum table_problem problem, size_t steps, size_t block)
{
    *t = (struct table){.problem = problem, .block = block};
    if (problem == TABLE_ALIGN)
        align_make(t);
    else if (!lattice_make(t, steps))
        return false;
    t->down = (t->rows + block - 1) / block;
    t->across = (t->columns + block - 1) / block;
    t->row = malloc(t->columns * sizeof(*t->row));
    t->column = malloc(t->rows * sizeof(*t->column));
    t->corner = malloc(t->down * sizeof(*t->corner));
    t->row_h = malloc(t->columns * sizeof(*t->row_h));
    t->row_f = malloc(t->columns * sizeof(*t->row_f));
    t->column_h = malloc(t->rows * sizeof(*t->column_h));
    t->column_e = malloc(t->rows * sizeof(*t->column_e));
    t->corner_h = malloc(t->down * sizeof(*t->corner_h));
    return t->row != NULL && t->column != NULL && t->corner != NULL && t->row_h != NULL && t->row_f != NULL &&
           t->column_h != NULL && t->column_e != NULL && t->corner_h != NULL;
}

void table_free(struct table *t)
{
    free((void *)t->prices);
    free(t->row);
    free(t->column);
    free(t->corner);
    free(t->row_h);
    free(t->row_f);
    free(t->column_h);
    free(t->column_e);
    free(t->corner_h);
}

void table_fresh(struct table *t)
{
    if (t->problem == TABLE_ALIGN) {
        memset(t->row_h, 0, t->columns * sizeof(*t->row_h));
        memset(t->row_f, 0, t->columns * sizeof(*t->row_f));
        memset(t->column_h, 0, t->rows * sizeof(*t->column_h));
        memset(t->column_e, 0, t->rows * sizeof(*t->column_e));
        memset(t->corner_h, 0, t->down * sizeof(*t->corner_h));
        return;
    }
    for (size_t c = 0; c < t->columns; c++)
        t->row[c] = exercised(t, t->prices[2 * t->rows - 2 * c]);
}

bool table_has(const struct table *t, size_t down, size_t across)
{
    return down < t->down && across < t->across &&
           (t->problem == TABLE_ALIGN || across + 1 == t->across || down * t->block + 1 < (across + 1) * t->block);
}

int table_fill(struct table *t, size_t down, size_t across)
{
    size_t first = across * t->block, end = first + t->block < t->columns ? first + t->block : t->columns;
    if (t->problem == TABLE_ALIGN)
        return align_fill(t, down, first, end);
    lattice_fill(t, down, first, end);
    return 0;
}

double table_price(const struct table *t)
{
    return t->row[t->columns - 1];
}

size_t table_cells(const struct table *t)
{
    return t->problem == TABLE_ALIGN ? t->rows * t->columns : t->rows * (t->rows + 1) / 2;
}

double table_plain(const struct table *t)
{
    return t->problem == TABLE_ALIGN ? align_plain(t) : lattice_plain(t);
}
