/* SPDX-License-Identifier: MIT
 *
 * The two tables that `wavefront` fills, each cell from those above it, to its left and above those: blocks of them, or
 * the whole at once by a plain loop.
 *
 * The value of an option on a binomial lattice (Cox, Ross, Rubinstein, 1979), of American style: row t is t steps before
 * the end, column c is c moves down, and cells with c < t do not exist. The best local alignment of two sequences with
 * affine gaps (Smith and Waterman, 1981; Gotoh, 1982): a row for each residue of one, a column for each of the other.
 */
#ifndef TABLES_H
#define TABLES_H

#include <stdbool.h>
#include <stddef.h>

enum table_problem { TABLE_PUT, TABLE_CALL, TABLE_ALIGN };

/* Of a table only the edges between blocks are kept: for each column the cell above the next block, for each row the one
 * to its left, for each row of blocks the one above and to the left. A block takes its part and leaves the next one's. */
struct table {
    enum table_problem problem;
    size_t rows, columns; /* from 1 and from 0 (lattice), from 0 both (alignment) */
    size_t block;
    size_t down, across; /* blocks */
    double *row, *column, *corner;
    int *row_h, *row_f, *column_h, *column_e, *corner_h;
    const double *prices; /* the lattice's, by moves up less moves down, from -rows on */
    double up, keep;      /* discounted probabilities of a move up and of one down */
};

/* `steps` of the lattice; the alignment has its own sizes. A block has two rows at least. False: no memory. */
bool table_make(struct table *t, enum table_problem problem, size_t steps, size_t block);
void table_free(struct table *t);
/* The edges as they are before the first block. */
void table_fresh(struct table *t);

/* Is there such a block? Those of the lattice below the diagonal are not. */
bool table_has(const struct table *t, size_t down, size_t across);
/* Fill it. The best score in it, in halves; 0 of a lattice. */
int table_fill(struct table *t, size_t down, size_t across);
/* When the last block has been filled: the price. */
double table_price(const struct table *t);
size_t table_cells(const struct table *t);

/* The price, or the score, by a plain loop over whole rows, and what was published. */
double table_plain(const struct table *t);
double table_published(enum table_problem problem);

#endif
